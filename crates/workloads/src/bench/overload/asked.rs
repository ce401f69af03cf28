//! What is asked for: what each errand of a stream is, and what runs beside it.

use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::bookstore::interaction::Shop;
use crate::bookstore::statements::{ALL, Statement as ShopStatement};
use crate::bookstore::{self, Browser, Mix};
use crate::client::{self, Client, Parameter};
use crate::driver::Session;
use crate::driver::open::Errand;
use crate::query::{Query, QueryMix, Statement};
use crate::star::{AllTemplates, Scale, update};

/// Browsers that share a connection.
const BROWSERS_PER_CONNECTION: u64 = 16;

/// The bookstore's size.
pub const SHOP: bookstore::Scale = bookstore::Scale { items: 10_000, browsers: 100 };

/// A line of an order, by its key.
const LOOK_UP: &str =
    "SELECT lo_quantity, lo_revenue FROM lineorder WHERE lo_orderkey = $1 AND lo_linenumber = 1";

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Asked {
    /// Queries of the star schema's 13 templates
    Star,
    /// Pages of the bookstore, most of them to read
    Browsing,
    /// Pages, some of them to buy
    Shopping,
    /// Pages, half of them to buy
    Ordering,
    /// Rows of the fact table by key, beside star queries
    Lookups,
    /// Changes of a book's stock, beside best sellers
    Updates,
}

/// What the errands of one stream are.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Queries of the star schema.
    Star,
    /// Pages of a mix.
    Pages(Mix),
    /// One statement, again and again.
    One(One),
}

/// A statement by itself.
#[derive(Clone, Copy, Debug)]
pub enum One {
    /// A row of the fact table.
    Lookup(Scale),
    /// A change of a book's stock.
    Stock,
    /// Best sellers of a subject among the latest orders.
    BestSellers,
}

impl Asked {
    /// As reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Asked::Star => "star",
            Asked::Browsing => "browsing",
            Asked::Shopping => "shopping",
            Asked::Ordering => "ordering",
            Asked::Lookups => "lookups",
            Asked::Updates => "updates",
        }
    }

    /// Whether its data is the star schema's, not the bookstore's.
    pub fn is_of_star(self) -> bool {
        matches!(self, Asked::Star | Asked::Lookups)
    }

    /// What the stream that is measured asks for.
    pub fn measured(self, scale: Scale) -> Kind {
        match self {
            Asked::Star => Kind::Star,
            Asked::Browsing => Kind::Pages(Mix::Browsing),
            Asked::Shopping => Kind::Pages(Mix::Shopping),
            Asked::Ordering => Kind::Pages(Mix::Ordering),
            Asked::Lookups => Kind::One(One::Lookup(scale)),
            Asked::Updates => Kind::One(One::Stock),
        }
    }

    /// What the stream beside it asks for.
    pub fn beside(self) -> Option<Kind> {
        match self {
            Asked::Lookups => Some(Kind::Star),
            Asked::Updates => Some(Kind::One(One::BestSellers)),
            _ => None,
        }
    }
}

impl Kind {
    /// Opens a connection for errands, each of which is worth something within `limit`, a page within the specification's.
    pub fn open<'a>(
        self,
        client: Box<dyn Client>,
        star: &'a AllTemplates,
        seed: u64,
        limit: Duration,
    ) -> client::Result<Box<dyn Errand + 'a>> {
        Ok(match self {
            Kind::Star => {
                let session = Session::open(client, star.statements());
                let mut rng = SmallRng::seed_from_u64(seed);
                Box::new(Ask { session, draw: move || star.draw(&mut rng), limit })
            }
            Kind::One(one) => {
                let session = Session::open(client, &[one.statement()]);
                let mut browser = Browser::new(SHOP, seed);
                Box::new(Ask { session, draw: move || one.query(&mut browser), limit })
            }
            Kind::Pages(mix) => {
                let browser = |i: u64| Browser::new(SHOP, seed ^ (i << 16));
                let browsers = (0..BROWSERS_PER_CONNECTION).map(browser).collect();
                Box::new(Page { shop: Shop::open(client)?, mix, browsers, turn: 0 })
            }
        })
    }
}

impl One {
    fn statement(self) -> Statement {
        let of_shop = |statement: ShopStatement| ALL[statement as usize].1;
        let (name, text) = match self {
            One::Lookup(_) => ("look-up", LOOK_UP),
            One::Stock => ("stock", of_shop(ShopStatement::SetStock)),
            One::BestSellers => ("best sellers", of_shop(ShopStatement::BestSellers)),
        };
        Statement { name: name.to_owned(), text: text.to_owned() }
    }

    fn query(self, browser: &mut Browser) -> Query {
        let parameters: Vec<Parameter> = match self {
            One::Lookup(scale) => vec![update::order(scale, &mut browser.rng).into()],
            One::Stock => {
                let stock: i64 = browser.rng.random_range(10..=30);
                vec![stock.into(), browser.any_item().into()]
            }
            One::BestSellers => vec![browser.subject().into()],
        };
        Query { statement: 0, parameters }
    }
}

/// A query at a time.
struct Ask<D> {
    session: Session<dyn Client>,
    draw: D,
    limit: Duration,
}

impl<D: FnMut() -> Query + Send> Errand for Ask<D> {
    fn run(&mut self) -> client::Result<Duration> {
        let query = (self.draw)();
        self.session.fetch(&query).map(|_| self.limit)
    }
}

/// A page of the bookstore.
struct Page {
    shop: Shop,
    mix: Mix,
    browsers: Vec<Browser>,
    turn: usize,
}

impl Errand for Page {
    fn run(&mut self) -> client::Result<Duration> {
        self.turn += 1;
        let next = self.turn % self.browsers.len();
        let browser = &mut self.browsers[next];
        let interaction = self.mix.draw(&mut browser.rng);
        self.shop.serve(interaction, browser)?;
        Ok(Duration::from_secs(interaction.limit_seconds()))
    }
}
