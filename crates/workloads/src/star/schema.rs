//! The five tables with all their columns.

use crate::dataset::ColumnType::{Integer, Text};
use crate::dataset::TableDefinition;

/// The tables in loading order.
pub const TABLES: [TableDefinition; 5] = [DATE, CUSTOMER, SUPPLIER, PART, LINEORDER];

const DATE: TableDefinition = TableDefinition {
    name: "date",
    columns: &[
        ("d_datekey", Integer),
        ("d_date", Text(18)),
        ("d_dayofweek", Text(9)),
        ("d_month", Text(9)),
        ("d_year", Integer),
        ("d_yearmonthnum", Integer),
        ("d_yearmonth", Text(7)),
        ("d_daynuminweek", Integer),
        ("d_daynuminmonth", Integer),
        ("d_daynuminyear", Integer),
        ("d_monthnuminyear", Integer),
        ("d_weeknuminyear", Integer),
        ("d_sellingseason", Text(12)),
        ("d_lastdayinweekfl", Integer),
        ("d_lastdayinmonthfl", Integer),
        ("d_holidayfl", Integer),
        ("d_weekdayfl", Integer),
    ],
    primary_key: &["d_datekey"],
    foreign_keys: &[],
};

const CUSTOMER: TableDefinition = TableDefinition {
    name: "customer",
    columns: &[
        ("c_custkey", Integer),
        ("c_name", Text(25)),
        ("c_address", Text(25)),
        ("c_city", Text(10)),
        ("c_nation", Text(15)),
        ("c_region", Text(12)),
        ("c_phone", Text(15)),
        ("c_mktsegment", Text(10)),
    ],
    primary_key: &["c_custkey"],
    foreign_keys: &[],
};

const SUPPLIER: TableDefinition = TableDefinition {
    name: "supplier",
    columns: &[
        ("s_suppkey", Integer),
        ("s_name", Text(25)),
        ("s_address", Text(25)),
        ("s_city", Text(10)),
        ("s_nation", Text(15)),
        ("s_region", Text(12)),
        ("s_phone", Text(15)),
    ],
    primary_key: &["s_suppkey"],
    foreign_keys: &[],
};

const PART: TableDefinition = TableDefinition {
    name: "part",
    columns: &[
        ("p_partkey", Integer),
        ("p_name", Text(22)),
        ("p_mfgr", Text(6)),
        ("p_category", Text(7)),
        ("p_brand1", Text(9)),
        ("p_color", Text(11)),
        ("p_type", Text(25)),
        ("p_size", Integer),
        ("p_container", Text(10)),
    ],
    primary_key: &["p_partkey"],
    foreign_keys: &[],
};

/// Without declared foreign keys: every system loads faster, and no query needs them.
const LINEORDER: TableDefinition = TableDefinition {
    name: "lineorder",
    columns: &[
        ("lo_orderkey", Integer),
        ("lo_linenumber", Integer),
        ("lo_custkey", Integer),
        ("lo_partkey", Integer),
        ("lo_suppkey", Integer),
        ("lo_orderdate", Integer),
        ("lo_orderpriority", Text(15)),
        ("lo_shippriority", Text(1)),
        ("lo_quantity", Integer),
        ("lo_extendedprice", Integer),
        ("lo_ordtotalprice", Integer),
        ("lo_discount", Integer),
        ("lo_revenue", Integer),
        ("lo_supplycost", Integer),
        ("lo_tax", Integer),
        ("lo_commitdate", Integer),
        ("lo_shipmode", Text(10)),
    ],
    primary_key: &["lo_orderkey", "lo_linenumber"],
    foreign_keys: &[],
};
