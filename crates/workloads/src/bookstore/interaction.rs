//! The 14 web interactions as sequences of statements.

use std::time::{SystemTime, UNIX_EPOCH};

use rand::RngExt;

use super::Browser;
use super::population::{CARD_TYPES, SHIP_TYPES};
use super::statements::Statement::*;
use super::statements::{PreparedStatements, Statement};
use super::text::digit_syllables;
use crate::client::{Client, Parameter, Result, Rows};

/// A page that a browser asks for.
#[allow(missing_docs, reason = "the pages of the specification")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
pub enum Interaction {
    Home,
    NewProducts,
    BestSellers,
    ProductDetail,
    SearchRequest,
    SearchResults,
    ShoppingCart,
    CustomerRegistration,
    BuyRequest,
    BuyConfirm,
    OrderInquiry,
    OrderDisplay,
    AdminRequest,
    AdminConfirm,
}

impl Interaction {
    /// All, in the specification's order.
    pub const ALL: [Interaction; 14] = [
        Interaction::Home,
        Interaction::NewProducts,
        Interaction::BestSellers,
        Interaction::ProductDetail,
        Interaction::SearchRequest,
        Interaction::SearchResults,
        Interaction::ShoppingCart,
        Interaction::CustomerRegistration,
        Interaction::BuyRequest,
        Interaction::BuyConfirm,
        Interaction::OrderInquiry,
        Interaction::OrderDisplay,
        Interaction::AdminRequest,
        Interaction::AdminConfirm,
    ];

    /// Seconds within which nine in ten must answer; a later one does not count.
    pub fn limit_seconds(self) -> u64 {
        match self {
            Interaction::NewProducts | Interaction::BestSellers | Interaction::BuyConfirm => 5,
            Interaction::SearchResults => 10,
            Interaction::AdminConfirm => 20,
            _ => 3,
        }
    }
}

/// What interactions did to the data, for the check afterwards.
#[derive(Clone, Copy, Debug, Default)]
pub struct Effects {
    /// Orders whose commit was acknowledged.
    pub orders: u64,
    /// Their lines.
    pub order_lines: u64,
    /// Customers registered.
    pub customers: u64,
    /// Transactions run again after a serialization failure.
    pub retries: u64,
}

impl std::ops::AddAssign for Effects {
    fn add_assign(&mut self, other: Effects) {
        self.orders += other.orders;
        self.order_lines += other.order_lines;
        self.customers += other.customers;
        self.retries += other.retries;
    }
}

/// One connection with its prepared statements.
pub struct Shop {
    client: Box<dyn Client>,
    statements: PreparedStatements,
    /// What was done through this connection.
    pub effects: Effects,
}

/// Times a transaction is run again before its failure counts.
const RETRY_LIMIT: usize = 20;

impl Shop {
    /// Prepares all statements.
    pub fn open(mut client: Box<dyn Client>) -> Result<Shop> {
        let statements = PreparedStatements::prepare(&mut *client)?;
        Ok(Shop { client, statements, effects: Effects::default() })
    }

    /// Runs one statement.
    pub fn execute(&mut self, statement: Statement, parameters: &[Parameter]) -> Result<&Rows> {
        self.client.execute(self.statements.get(statement), parameters)
    }

    /// Serves one page.
    pub fn serve(&mut self, interaction: Interaction, browser: &mut Browser) -> Result<()> {
        match interaction {
            Interaction::Home => self.home(browser),
            Interaction::NewProducts => self.list(browser, NewProducts),
            Interaction::BestSellers => self.list(browser, BestSellers),
            Interaction::ProductDetail => self.product_detail(browser),
            Interaction::SearchRequest => self.promotion(browser),
            Interaction::SearchResults => self.search_results(browser),
            Interaction::ShoppingCart => self.shopping_cart(browser),
            Interaction::CustomerRegistration => self.customer_registration(browser),
            Interaction::BuyRequest => self.buy_request(browser),
            Interaction::BuyConfirm => self.buy_confirm(browser),
            Interaction::OrderInquiry => Ok(()),
            Interaction::OrderDisplay => self.order_display(browser),
            Interaction::AdminRequest => self.product_detail(browser),
            Interaction::AdminConfirm => self.admin_confirm(browser),
        }
    }

    /// Runs `body` as one transaction, again where it could not be serialized.
    fn transaction<T>(&mut self, mut body: impl FnMut(&mut Shop) -> Result<T>) -> Result<T> {
        for attempt in 0.. {
            let result = self.attempt(&mut body);
            match result {
                Err(failure) if failure.is_conflict() && attempt < RETRY_LIMIT => {
                    self.effects.retries += 1;
                }
                result => return result,
            }
        }
        unreachable!("the limit ends the loop")
    }

    fn attempt<T>(&mut self, body: &mut impl FnMut(&mut Shop) -> Result<T>) -> Result<T> {
        self.client.run("BEGIN")?;
        let result = body(self);
        match result {
            Ok(value) => self.client.run("COMMIT").map(|()| value),
            Err(failure) => {
                self.client.run("ROLLBACK")?;
                Err(failure)
            }
        }
    }

    fn promotion(&mut self, browser: &mut Browser) -> Result<()> {
        let item = browser.any_item();
        let rows = self.execute(Promotion, &[item.into()])?;
        browser.shown.clear();
        browser.shown.extend((0..rows.len()).map(|row| rows.integer(row, 0)));
        Ok(())
    }

    fn home(&mut self, browser: &mut Browser) -> Result<()> {
        if browser.rng.random_range(0..40) == 0 {
            browser.restart();
        }
        if let Some(customer) = browser.customer {
            self.execute(CustomerName, &[(customer as i64).into()])?;
        }
        self.promotion(browser)
    }

    fn list(&mut self, browser: &mut Browser, statement: Statement) -> Result<()> {
        self.promotion(browser)?;
        let subject = browser.subject();
        let rows = self.execute(statement, &[subject.into()])?;
        show(browser, rows);
        Ok(())
    }

    fn product_detail(&mut self, browser: &mut Browser) -> Result<()> {
        let item = browser.shown_item();
        self.execute(ProductDetail, &[item.into()])?;
        Ok(())
    }

    fn search_results(&mut self, browser: &mut Browser) -> Result<()> {
        self.promotion(browser)?;
        let (statement, parameter) = match browser.rng.random_range(0..3) {
            0 => (SearchSubject, browser.subject().to_owned()),
            1 => (SearchTitle, browser.title_pattern()),
            _ => (SearchAuthor, browser.author_pattern()),
        };
        let rows = self.execute(statement, &[parameter.into()])?;
        show(browser, rows);
        Ok(())
    }

    fn shopping_cart(&mut self, browser: &mut Browser) -> Result<()> {
        self.promotion(browser)?;
        self.change_cart(browser)
    }

    /// Adds an item or refreshes quantities, then reads the cart.
    fn change_cart(&mut self, browser: &mut Browser) -> Result<()> {
        let (cart, item, fallback) = (browser.cart, browser.shown_item(), browser.any_item());
        let refresh = cart.is_some() && browser.rng.random_range(0..2) == 0;
        let quantity: i64 = browser.rng.random_range(0..10);
        let cart = self.transaction(|shop| {
            let cart = match cart {
                Some(cart) => cart,
                None => shop.execute(NewCart, &[now()])?.integer(0, 0),
            };
            if refresh {
                shop.refresh_cart(cart, quantity)?;
            } else {
                shop.add_to_cart(cart, item)?;
            }
            if shop.execute(CountCartLines, &[cart.into()])?.integer(0, 0) == 0 {
                let related = shop.execute(RelatedItem, &[fallback.into()])?.integer(0, 0);
                shop.add_to_cart(cart, related)?;
            }
            shop.execute(TouchCart, &[now(), cart.into()])?;
            shop.execute(Cart, &[cart.into()])?;
            Ok(cart)
        })?;
        browser.cart = Some(cart);
        Ok(())
    }

    fn add_to_cart(&mut self, cart: i64, item: i64) -> Result<()> {
        let line = self.execute(CartLine, &[cart.into(), item.into()])?;
        if line.is_empty() {
            self.execute(AddCartLine, &[cart.into(), item.into(), 1.into()])?;
        } else {
            let quantity = line.integer(0, 0) + 1;
            self.execute(SetCartLine, &[quantity.into(), cart.into(), item.into()])?;
        }
        Ok(())
    }

    /// The first line gets a new quantity; 0 removes it.
    fn refresh_cart(&mut self, cart: i64, quantity: i64) -> Result<()> {
        let lines = self.execute(Cart, &[cart.into()])?;
        if lines.is_empty() {
            return Ok(());
        }
        let item = lines.integer(0, 1);
        if quantity == 0 {
            self.execute(DropCartLine, &[cart.into(), item.into()])?;
        } else {
            self.execute(SetCartLine, &[quantity.into(), cart.into(), item.into()])?;
        }
        Ok(())
    }

    fn customer_registration(&mut self, browser: &mut Browser) -> Result<()> {
        self.promotion(browser)?;
        if let Some(customer) = browser.customer {
            self.execute(UserName, &[(customer as i64).into()])?;
        }
        Ok(())
    }

    fn buy_request(&mut self, browser: &mut Browser) -> Result<()> {
        if browser.customer.is_none() && browser.rng.random_range(0..5) == 0 {
            self.register(browser)?;
        } else {
            let name = digit_syllables(browser.known_customer(), 0);
            let customer = self.execute(CustomerByName, &[name.into()])?;
            if !customer.is_empty() {
                let id = customer.integer(0, 0);
                let login = now_microseconds();
                let expiration = Parameter::Timestamp(login + 7_200_000_000);
                self.execute(Login, &[Parameter::Timestamp(login), expiration, id.into()])?;
            }
        }
        match browser.cart {
            Some(cart) => self.execute(Cart, &[cart.into()]).map(|_| ()),
            None => self.change_cart(browser),
        }
    }

    fn register(&mut self, browser: &mut Browser) -> Result<()> {
        let address = new_address(browser);
        let person = new_customer(browser);
        let id = self.transaction(|shop| {
            let address = shop.enter_address(&address)?;
            let mut parameters = person.clone();
            parameters[4] = address.into();
            let id = shop.execute(NewCustomer, &parameters)?.integer(0, 0);
            let name = digit_syllables(id as u64, 0);
            let password = name.to_lowercase();
            shop.execute(NameCustomer, &[name.into(), password.into(), id.into()])?;
            Ok(id)
        })?;
        self.effects.customers += 1;
        browser.customer = Some(id as u64);
        Ok(())
    }

    fn enter_address(&mut self, (country, lines): &(String, [String; 5])) -> Result<i64> {
        let country = self.execute(CountryByName, &[country.as_str().into()])?.integer(0, 0);
        let mut parameters: Vec<Parameter> =
            lines.iter().map(|line| line.as_str().into()).collect();
        parameters.push(country.into());
        let found = self.execute(FindAddress, &parameters)?;
        if !found.is_empty() {
            return Ok(found.integer(0, 0));
        }
        Ok(self.execute(NewAddress, &parameters)?.integer(0, 0))
    }

    fn buy_confirm(&mut self, browser: &mut Browser) -> Result<()> {
        if browser.cart.is_none() {
            self.change_cart(browser)?;
        }
        let cart = browser.cart.expect("change_cart gave one");
        let purchase = Purchase::draw(browser);
        let lines = self.transaction(|shop| shop.buy(cart, &purchase))?;
        if lines > 0 {
            self.effects.orders += 1;
            self.effects.order_lines += lines;
        }
        Ok(())
    }

    /// Turns the cart into an order; returns the number of lines (0: another browser emptied the cart).
    fn buy(&mut self, cart: i64, purchase: &Purchase) -> Result<u64> {
        let customer: Parameter = purchase.customer.into();
        let discount = self.execute(Discount, std::slice::from_ref(&customer))?.float(0, 0);
        let lines = cart_lines(self.execute(Cart, &[cart.into()])?);
        if lines.is_empty() {
            return Ok(0);
        }
        let billing = self.execute(CustomerAddress, &[customer])?.integer(0, 0);
        let shipping = match &purchase.address {
            Some(address) => self.enter_address(address)?,
            None => billing,
        };
        let order = self.insert_order(&lines, discount, billing, shipping, purchase)?;
        for (number, line) in lines.iter().enumerate() {
            self.buy_line(number as i64 + 1, order.id, line, discount, purchase)?;
        }
        self.pay(&order, shipping, purchase)?;
        self.execute(ClearCart, &[cart.into()])?;
        Ok(lines.len() as u64)
    }

    fn insert_order(
        &mut self,
        lines: &[CartRow],
        discount: f64,
        billing: i64,
        shipping: i64,
        purchase: &Purchase,
    ) -> Result<NewOrderRow> {
        let quantity: i64 = lines.iter().map(|line| line.quantity).sum();
        let price: f64 = lines.iter().map(|line| line.cost * line.quantity as f64).sum();
        let sub_total = price * (1.0 - discount);
        let tax = sub_total * 0.0825;
        let total = sub_total + tax + 3.0 + quantity as f64;
        let date = now_microseconds();
        let ship_date = Parameter::Timestamp(date + purchase.ship_days * 86_400_000_000);
        let id = self.execute(
            NewOrder,
            &[
                purchase.customer.into(),
                Parameter::Timestamp(date),
                sub_total.into(),
                tax.into(),
                total.into(),
                purchase.ship_type.into(),
                ship_date,
                billing.into(),
                shipping.into(),
            ],
        )?;
        Ok(NewOrderRow { id: id.integer(0, 0), total, date })
    }

    fn buy_line(
        &mut self,
        number: i64,
        order: i64,
        line: &CartRow,
        discount: f64,
        purchase: &Purchase,
    ) -> Result<()> {
        let item: Parameter = line.item.into();
        let comment: Parameter = purchase.comment.as_str().into();
        let quantity = line.quantity.into();
        let row = [number.into(), order.into(), item.clone(), quantity, discount.into(), comment];
        self.execute(NewOrderLine, &row)?;
        let stock = self.execute(Stock, std::slice::from_ref(&item))?.integer(0, 0) - line.quantity;
        let stock = if stock < 10 { stock + 21 } else { stock };
        self.execute(SetStock, &[stock.into(), item])?;
        Ok(())
    }

    fn pay(&mut self, order: &NewOrderRow, shipping: i64, purchase: &Purchase) -> Result<()> {
        let expires = Parameter::Date((order.date / 86_400_000_000) as i32 + 365);
        self.execute(
            NewCard,
            &[
                order.id.into(),
                purchase.card_type.into(),
                purchase.card_number.as_str().into(),
                purchase.card_name.as_str().into(),
                expires,
                order.total.into(),
                Parameter::Timestamp(order.date),
                shipping.into(),
            ],
        )?;
        Ok(())
    }

    fn order_display(&mut self, browser: &mut Browser) -> Result<()> {
        let name: Parameter = digit_syllables(browser.known_customer(), 0).into();
        self.execute(Password, std::slice::from_ref(&name))?;
        let newest = self.execute(NewestOrder, &[name])?;
        if newest.is_empty() {
            return Ok(());
        }
        let order: Parameter = newest.integer(0, 0).into();
        self.execute(OrderHeader, std::slice::from_ref(&order))?;
        self.execute(OrderLines, &[order])?;
        Ok(())
    }

    fn admin_confirm(&mut self, browser: &mut Browser) -> Result<()> {
        let item = browser.shown_item();
        self.execute(ProductDetail, &[item.into()])?;
        let cost = browser.rng.random_range(1.0..1_000.0f64);
        let number = browser.rng.random_range(1..=browser.scale.items);
        let folder = number % 100;
        let image = format!("img{folder}/image_{number}.gif");
        let thumbnail = format!("img{folder}/thumb_{number}.gif");
        let today = Parameter::Date((now_microseconds() / 86_400_000_000) as i32);
        let related: [i64; 5] = std::array::from_fn(|_| browser.any_item());
        self.transaction(|shop| {
            let (image, thumbnail) = (image.as_str().into(), thumbnail.as_str().into());
            let change = [cost.into(), image, thumbnail, today.clone(), item.into()];
            shop.execute(ChangeItem, &change)?;
            let rows = shop.execute(BoughtTogether, &[item.into()])?;
            let mut related = related;
            for (row, slot) in related.iter_mut().enumerate().take(rows.len()) {
                *slot = rows.integer(row, 0);
            }
            let mut parameters: Vec<Parameter> = related.map(Parameter::from).to_vec();
            parameters.push(item.into());
            shop.execute(SetRelated, &parameters)?;
            Ok(())
        })
    }
}

/// A line of the cart, as Buy Confirm needs it.
struct CartRow {
    item: i64,
    quantity: i64,
    cost: f64,
}

/// The order just inserted.
struct NewOrderRow {
    id: i64,
    total: f64,
    date: i64,
}

/// All that is drawn for one purchase before its transaction starts, so that a retry does the same.
struct Purchase {
    customer: i64,
    /// One in twenty ships elsewhere.
    address: Option<(String, [String; 5])>,
    ship_days: i64,
    ship_type: &'static str,
    comment: String,
    card_type: &'static str,
    card_number: String,
    card_name: String,
}

impl Purchase {
    fn draw(browser: &mut Browser) -> Purchase {
        let elsewhere = browser.rng.random_range(0..20) == 0;
        Purchase {
            customer: browser.known_customer() as i64,
            address: elsewhere.then(|| new_address(browser)),
            ship_days: browser.rng.random_range(1..=7),
            ship_type: SHIP_TYPES[browser.rng.random_range(0..SHIP_TYPES.len())],
            comment: browser.letters(20, 100),
            card_type: CARD_TYPES[browser.rng.random_range(0..CARD_TYPES.len())],
            card_number: browser.digits(16, 16),
            card_name: browser.letters(14, 30),
        }
    }
}

fn new_address(browser: &mut Browser) -> (String, [String; 5]) {
    let lines = [(15, 40), (15, 40), (4, 30), (2, 20), (5, 10)];
    (browser.country(), lines.map(|(low, high)| browser.letters(low, high)))
}

/// The parameters of [`Statement::NewCustomer`]; name, password and address follow later.
fn new_customer(browser: &mut Browser) -> Vec<Parameter> {
    let micros = now_microseconds();
    let today = Parameter::Date((micros / 86_400_000_000) as i32);
    let discount = browser.rng.random_range(0..=50) as f64 / 100.0;
    vec![
        "new".into(),
        "new".into(),
        browser.letters(8, 15).into(),
        browser.letters(8, 15).into(),
        0.into(),
        browser.digits(9, 16).into(),
        format!("{}@example.com", browser.letters(2, 9)).into(),
        today.clone(),
        today,
        Parameter::Timestamp(micros),
        Parameter::Timestamp(micros + 7_200_000_000),
        discount.into(),
        0.0.into(),
        0.0.into(),
        Parameter::Date(browser.rng.random_range(-30_000..10_000)),
        browser.letters(100, 500).into(),
    ]
}

/// `SELECT *` of cart line and item: sc_id, i_id, qty, then the item's columns with i_cost as the 16th.
fn cart_lines(rows: &Rows) -> Vec<CartRow> {
    let line = |row| CartRow {
        item: rows.integer(row, 1),
        quantity: rows.integer(row, 2),
        cost: rows.float(row, 3 + 15),
    };
    (0..rows.len()).map(line).collect()
}

fn show(browser: &mut Browser, rows: &Rows) {
    if !rows.is_empty() {
        browser.shown.clear();
        browser.shown.extend((0..rows.len()).map(|row| rows.integer(row, 0)));
    }
}

fn now_microseconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as i64)
}

fn now() -> Parameter {
    Parameter::Timestamp(now_microseconds())
}
