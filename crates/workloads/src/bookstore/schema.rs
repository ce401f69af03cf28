//! Tables, sequences and indexes, in each system's dialect.

use super::Scale;

/// Whose SQL to speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// PostgreSQL and SharedDB.
    Postgres,
    /// MariaDB.
    Mariadb,
}

/// The tables in loading order.
pub const TABLES: [&str; 10] = [
    "country",
    "address",
    "customer",
    "author",
    "item",
    "orders",
    "order_line",
    "cc_xacts",
    "shopping_cart",
    "shopping_cart_line",
];

const COLUMNS: [&str; 10] = [
    "co_id integer NOT NULL, co_name varchar(50), co_exchange double precision, \
     co_currency varchar(18), PRIMARY KEY (co_id)",
    "addr_id integer NOT NULL {address_id}, addr_street1 varchar(40), addr_street2 varchar(40), \
     addr_city varchar(30), addr_state varchar(20), addr_zip varchar(10), addr_co_id integer, \
     PRIMARY KEY (addr_id)",
    "c_id integer NOT NULL {customer_id}, c_uname varchar(20), c_passwd varchar(20), \
     c_fname varchar(17), c_lname varchar(17), c_addr_id integer, c_phone varchar(18), \
     c_email varchar(50), c_since date, c_last_login date, c_login {timestamp}, \
     c_expiration {timestamp}, c_discount double precision, c_balance double precision, \
     c_ytd_pmt double precision, c_birthdate date, c_data varchar(500), PRIMARY KEY (c_id)",
    "a_id integer NOT NULL, a_fname varchar(20), a_lname varchar(26), a_mname varchar(20), \
     a_dob date, a_bio varchar(500), PRIMARY KEY (a_id)",
    "i_id integer NOT NULL, i_title varchar(80), i_a_id integer, i_pub_date date, \
     i_publisher varchar(60), i_subject varchar(60), i_desc varchar(500), i_related1 integer, \
     i_related2 integer, i_related3 integer, i_related4 integer, i_related5 integer, \
     i_thumbnail varchar(40), i_image varchar(40), i_srp double precision, \
     i_cost double precision, i_avail date, i_stock integer, i_isbn char(13), i_page integer, \
     i_backing varchar(15), i_dimensions varchar(25), PRIMARY KEY (i_id)",
    "o_id integer NOT NULL {order_id}, o_c_id integer, o_date {timestamp}, \
     o_sub_total double precision, o_tax double precision, o_total double precision, \
     o_ship_type varchar(10), o_ship_date {timestamp}, o_bill_addr_id integer, \
     o_ship_addr_id integer, o_status varchar(15), PRIMARY KEY (o_id)",
    "ol_id integer NOT NULL, ol_o_id integer NOT NULL, ol_i_id integer, ol_qty integer, \
     ol_discount double precision, ol_comments varchar(110), PRIMARY KEY (ol_o_id, ol_id)",
    "cx_o_id integer NOT NULL, cx_type varchar(10), cx_num varchar(20), cx_name varchar(30), \
     cx_expire date, cx_auth_id char(15), cx_xact_amt double precision, \
     cx_xact_date {timestamp}, cx_co_id integer, PRIMARY KEY (cx_o_id)",
    "sc_id integer NOT NULL {cart_id}, sc_time {timestamp}, PRIMARY KEY (sc_id)",
    "scl_sc_id integer NOT NULL, scl_i_id integer NOT NULL, scl_qty integer, \
     PRIMARY KEY (scl_sc_id, scl_i_id)",
];

/// Secondary indexes as the kits define them; the six-column one serves the address match.
const INDEXES: [(&str, &str); 14] = [
    ("author", "a_lname"),
    ("address", "addr_co_id"),
    ("address", "addr_zip"),
    ("address", "addr_street1, addr_street2, addr_city, addr_state, addr_zip, addr_co_id"),
    ("customer", "c_addr_id"),
    ("customer", "c_uname"),
    ("item", "i_title"),
    ("item", "i_subject"),
    ("item", "i_a_id"),
    ("order_line", "ol_i_id"),
    ("order_line", "ol_o_id"),
    ("country", "co_name"),
    ("orders", "o_c_id"),
    ("shopping_cart_line", "scl_i_id"),
];

/// Statements that drop what an earlier run left.
pub fn drop_statements() -> Vec<String> {
    let tables = TABLES.iter().map(|table| format!("DROP TABLE IF EXISTS {table}"));
    let sequences = ["address_id", "customer_id", "order_id", "cart_id"];
    let sequences = sequences.iter().map(|name| format!("DROP SEQUENCE IF EXISTS {name}"));
    tables.chain(sequences).collect()
}

/// Statements that create sequences and tables. New ids start above the population's. MariaDB numbers columns itself:
/// prepared inserts whose default is a sequence's next value end its server with signal 11 (10.11.19).
pub fn create_statements(dialect: Dialect, scale: Scale) -> Vec<String> {
    let starts = [
        ("address_id", scale.addresses()),
        ("customer_id", scale.customers()),
        ("order_id", scale.orders()),
        ("cart_id", 0),
    ];
    let sequences = starts.iter().filter(|_| dialect == Dialect::Postgres);
    let sequences =
        sequences.map(|(name, last)| format!("CREATE SEQUENCE {name} START WITH {}", last + 1));
    let tables = TABLES.iter().zip(COLUMNS).map(|(table, columns)| {
        let mut columns = columns.to_owned();
        for (name, _) in starts {
            let default = match dialect {
                Dialect::Postgres => format!("DEFAULT nextval('{name}')"),
                Dialect::Mariadb => "AUTO_INCREMENT".to_owned(),
            };
            columns = columns.replace(&format!("{{{name}}}"), &default);
        }
        let timestamp = match dialect {
            Dialect::Postgres => "timestamp",
            Dialect::Mariadb => "datetime(6)",
        };
        format!("CREATE TABLE {table} ({})", columns.replace("{timestamp}", timestamp))
    });
    sequences.chain(tables).collect()
}

/// Statements that create the secondary indexes.
pub fn index_statements() -> Vec<String> {
    INDEXES
        .iter()
        .map(|(table, columns)| {
            let first = columns.split(',').next().expect("at least one column");
            let name = if columns.contains(',') { "address_match" } else { first };
            format!("CREATE INDEX {name}_index ON {table} ({columns})")
        })
        .collect()
}
