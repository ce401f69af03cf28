//! The statements of the 14 interactions, prepared once per connection.

use crate::client::{Client, Prepared, Result};

macro_rules! statements {
    ($($name:ident $text:literal;)*) => {
        /// A statement of the bookstore.
        #[allow(missing_docs, reason = "the text says it")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Statement { $($name,)* }

        /// All statements with their texts.
        pub const ALL: &[(Statement, &str)] = &[$((Statement::$name, $text),)*];
    };
}

statements! {
    Promotion "SELECT j.i_id, j.i_thumbnail FROM item i, item j WHERE i.i_id = $1 AND \
        j.i_id IN (i.i_related1, i.i_related2, i.i_related3, i.i_related4, i.i_related5)";
    CustomerName "SELECT c_fname, c_lname FROM customer WHERE c_id = $1";
    NewProducts "SELECT i_id, i_title, a_fname, a_lname FROM item JOIN author ON i_a_id = a_id \
        WHERE i_subject = $1 ORDER BY i_pub_date DESC, i_title LIMIT 50";
    BestSellers "SELECT i_id, i_title, a_fname, a_lname, SUM(ol_qty) AS val FROM order_line \
        JOIN item ON ol_i_id = i_id JOIN author ON i_a_id = a_id \
        WHERE ol_o_id > (SELECT MAX(o_id) - 3333 FROM orders) AND i_subject = $1 \
        GROUP BY i_id, i_title, a_fname, a_lname ORDER BY val DESC, i_id LIMIT 50";
    ProductDetail "SELECT * FROM item JOIN author ON i_a_id = a_id WHERE i_id = $1";
    SearchSubject "SELECT i_id, i_title, a_fname, a_lname FROM item JOIN author ON i_a_id = a_id \
        WHERE i_subject = $1 ORDER BY i_title LIMIT 50";
    SearchTitle "SELECT i_id, i_title, a_fname, a_lname FROM item JOIN author ON i_a_id = a_id \
        WHERE i_title LIKE $1 ORDER BY i_title LIMIT 50";
    SearchAuthor "SELECT i_id, i_title, a_fname, a_lname FROM item JOIN author ON i_a_id = a_id \
        WHERE a_lname LIKE $1 ORDER BY i_title LIMIT 50";
    NewCart "INSERT INTO shopping_cart (sc_time) VALUES ($1) RETURNING sc_id";
    CartLine "SELECT scl_qty FROM shopping_cart_line WHERE scl_sc_id = $1 AND scl_i_id = $2";
    SetCartLine "UPDATE shopping_cart_line SET scl_qty = $1 WHERE scl_sc_id = $2 AND scl_i_id = $3";
    AddCartLine "INSERT INTO shopping_cart_line (scl_sc_id, scl_i_id, scl_qty) VALUES ($1, $2, $3)";
    DropCartLine "DELETE FROM shopping_cart_line WHERE scl_sc_id = $1 AND scl_i_id = $2";
    CountCartLines "SELECT COUNT(*) FROM shopping_cart_line WHERE scl_sc_id = $1";
    RelatedItem "SELECT i_related1 FROM item WHERE i_id = $1";
    TouchCart "UPDATE shopping_cart SET sc_time = $1 WHERE sc_id = $2";
    Cart "SELECT * FROM shopping_cart_line JOIN item ON scl_i_id = i_id WHERE scl_sc_id = $1";
    UserName "SELECT c_uname FROM customer WHERE c_id = $1";
    CustomerByName "SELECT * FROM customer, address, country \
        WHERE c_addr_id = addr_id AND addr_co_id = co_id AND c_uname = $1";
    Login "UPDATE customer SET c_login = $1, c_expiration = $2 WHERE c_id = $3";
    CountryByName "SELECT co_id FROM country WHERE co_name = $1";
    FindAddress "SELECT addr_id FROM address WHERE addr_street1 = $1 AND addr_street2 = $2 \
        AND addr_city = $3 AND addr_state = $4 AND addr_zip = $5 AND addr_co_id = $6";
    NewAddress "INSERT INTO address (addr_street1, addr_street2, addr_city, addr_state, addr_zip, \
        addr_co_id) VALUES ($1, $2, $3, $4, $5, $6) RETURNING addr_id";
    NewCustomer "INSERT INTO customer (c_uname, c_passwd, c_fname, c_lname, c_addr_id, c_phone, \
        c_email, c_since, c_last_login, c_login, c_expiration, c_discount, c_balance, c_ytd_pmt, \
        c_birthdate, c_data) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, \
        $15, $16) RETURNING c_id";
    NameCustomer "UPDATE customer SET c_uname = $1, c_passwd = $2 WHERE c_id = $3";
    Discount "SELECT c_discount FROM customer WHERE c_id = $1";
    CustomerAddress "SELECT c_addr_id FROM customer WHERE c_id = $1";
    NewOrder "INSERT INTO orders (o_c_id, o_date, o_sub_total, o_tax, o_total, o_ship_type, \
        o_ship_date, o_bill_addr_id, o_ship_addr_id, o_status) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'PENDING') RETURNING o_id";
    NewOrderLine "INSERT INTO order_line (ol_id, ol_o_id, ol_i_id, ol_qty, ol_discount, \
        ol_comments) VALUES ($1, $2, $3, $4, $5, $6)";
    Stock "SELECT i_stock FROM item WHERE i_id = $1";
    SetStock "UPDATE item SET i_stock = $1 WHERE i_id = $2";
    NewCard "INSERT INTO cc_xacts (cx_o_id, cx_type, cx_num, cx_name, cx_expire, cx_xact_amt, \
        cx_xact_date, cx_co_id) VALUES ($1, $2, $3, $4, $5, $6, $7, \
        (SELECT co_id FROM address, country WHERE addr_id = $8 AND addr_co_id = co_id))";
    ClearCart "DELETE FROM shopping_cart_line WHERE scl_sc_id = $1";
    Password "SELECT c_passwd FROM customer WHERE c_uname = $1";
    NewestOrder "SELECT o_id FROM customer, orders WHERE c_id = o_c_id AND c_uname = $1 \
        ORDER BY o_date DESC, o_id DESC LIMIT 1";
    OrderHeader "SELECT orders.*, customer.*, cc_xacts.cx_type, ship.addr_street1 AS ship_street1, \
        ship.addr_street2 AS ship_street2, ship.addr_state AS ship_state, \
        ship.addr_zip AS ship_zip, ship_co.co_name AS ship_country, \
        bill.addr_street1 AS bill_street1, bill.addr_street2 AS bill_street2, \
        bill.addr_state AS bill_state, bill.addr_zip AS bill_zip, \
        bill_co.co_name AS bill_country \
        FROM customer, orders, cc_xacts, address ship, country ship_co, address bill, \
        country bill_co WHERE orders.o_id = $1 AND cx_o_id = orders.o_id \
        AND customer.c_id = orders.o_c_id AND orders.o_bill_addr_id = bill.addr_id \
        AND bill.addr_co_id = bill_co.co_id AND orders.o_ship_addr_id = ship.addr_id \
        AND ship.addr_co_id = ship_co.co_id";
    OrderLines "SELECT * FROM order_line JOIN item ON ol_i_id = i_id WHERE ol_o_id = $1";
    ChangeItem "UPDATE item SET i_cost = $1, i_image = $2, i_thumbnail = $3, i_pub_date = $4 \
        WHERE i_id = $5";
    BoughtTogether "SELECT ol_i_id FROM orders JOIN order_line ON o_id = ol_o_id \
        WHERE ol_i_id <> $1 AND o_c_id IN (SELECT o_c_id FROM orders JOIN order_line \
        ON o_id = ol_o_id WHERE o_id > (SELECT MAX(o_id) - 10000 FROM orders) AND ol_i_id = $1) \
        GROUP BY ol_i_id ORDER BY SUM(ol_qty) DESC, ol_i_id LIMIT 5";
    SetRelated "UPDATE item SET i_related1 = $1, i_related2 = $2, i_related3 = $3, \
        i_related4 = $4, i_related5 = $5 WHERE i_id = $6";
    BestSellersWindow "SELECT i_id, i_title, a_fname, a_lname, SUM(ol_qty) AS val FROM order_line \
        JOIN item ON ol_i_id = i_id JOIN author ON i_a_id = a_id \
        WHERE ol_o_id > (SELECT MAX(o_id) FROM orders) - $1 AND i_subject = $2 \
        GROUP BY i_id, i_title, a_fname, a_lname ORDER BY val DESC, i_id LIMIT 50";
}

/// All statements prepared on one connection.
pub struct PreparedStatements(Vec<Prepared>);

impl PreparedStatements {
    /// Prepares all.
    pub fn prepare(client: &mut dyn Client) -> Result<PreparedStatements> {
        let all = ALL.iter().map(|(_, text)| client.prepare(text));
        Ok(PreparedStatements(all.collect::<Result<_>>()?))
    }

    /// The prepared form of a statement.
    pub fn get(&self, statement: Statement) -> Prepared {
        self.0[statement as usize]
    }
}
