//! The eight tables with their keys.

use crate::dataset::ColumnType::{Date, Decimal, Integer, Text};
use crate::dataset::{ColumnType, TableDefinition};

/// Money and quantities.
const AMOUNT: ColumnType = Decimal(15, 2);

/// The tables in loading order.
pub const TABLES: [TableDefinition; 8] =
    [REGION, NATION, SUPPLIER, PART, PARTSUPP, CUSTOMER, ORDERS, LINEITEM];

const REGION: TableDefinition = TableDefinition {
    name: "region",
    columns: &[("r_regionkey", Integer), ("r_name", Text(25)), ("r_comment", Text(152))],
    primary_key: &["r_regionkey"],
    foreign_keys: &[],
};

const NATION: TableDefinition = TableDefinition {
    name: "nation",
    columns: &[
        ("n_nationkey", Integer),
        ("n_name", Text(25)),
        ("n_regionkey", Integer),
        ("n_comment", Text(152)),
    ],
    primary_key: &["n_nationkey"],
    foreign_keys: &[(&["n_regionkey"], "region")],
};

const SUPPLIER: TableDefinition = TableDefinition {
    name: "supplier",
    columns: &[
        ("s_suppkey", Integer),
        ("s_name", Text(25)),
        ("s_address", Text(40)),
        ("s_nationkey", Integer),
        ("s_phone", Text(15)),
        ("s_acctbal", AMOUNT),
        ("s_comment", Text(101)),
    ],
    primary_key: &["s_suppkey"],
    foreign_keys: &[(&["s_nationkey"], "nation")],
};

const PART: TableDefinition = TableDefinition {
    name: "part",
    columns: &[
        ("p_partkey", Integer),
        ("p_name", Text(55)),
        ("p_mfgr", Text(25)),
        ("p_brand", Text(10)),
        ("p_type", Text(25)),
        ("p_size", Integer),
        ("p_container", Text(10)),
        ("p_retailprice", AMOUNT),
        ("p_comment", Text(23)),
    ],
    primary_key: &["p_partkey"],
    foreign_keys: &[],
};

const PARTSUPP: TableDefinition = TableDefinition {
    name: "partsupp",
    columns: &[
        ("ps_partkey", Integer),
        ("ps_suppkey", Integer),
        ("ps_availqty", Integer),
        ("ps_supplycost", AMOUNT),
        ("ps_comment", Text(199)),
    ],
    primary_key: &["ps_partkey", "ps_suppkey"],
    foreign_keys: &[(&["ps_partkey"], "part"), (&["ps_suppkey"], "supplier")],
};

const CUSTOMER: TableDefinition = TableDefinition {
    name: "customer",
    columns: &[
        ("c_custkey", Integer),
        ("c_name", Text(25)),
        ("c_address", Text(40)),
        ("c_nationkey", Integer),
        ("c_phone", Text(15)),
        ("c_acctbal", AMOUNT),
        ("c_mktsegment", Text(10)),
        ("c_comment", Text(117)),
    ],
    primary_key: &["c_custkey"],
    foreign_keys: &[(&["c_nationkey"], "nation")],
};

const ORDERS: TableDefinition = TableDefinition {
    name: "orders",
    columns: &[
        ("o_orderkey", Integer),
        ("o_custkey", Integer),
        ("o_orderstatus", Text(1)),
        ("o_totalprice", AMOUNT),
        ("o_orderdate", Date),
        ("o_orderpriority", Text(15)),
        ("o_clerk", Text(15)),
        ("o_shippriority", Integer),
        ("o_comment", Text(79)),
    ],
    primary_key: &["o_orderkey"],
    foreign_keys: &[(&["o_custkey"], "customer")],
};

const LINEITEM: TableDefinition = TableDefinition {
    name: "lineitem",
    columns: &[
        ("l_orderkey", Integer),
        ("l_partkey", Integer),
        ("l_suppkey", Integer),
        ("l_linenumber", Integer),
        ("l_quantity", AMOUNT),
        ("l_extendedprice", AMOUNT),
        ("l_discount", AMOUNT),
        ("l_tax", AMOUNT),
        ("l_returnflag", Text(1)),
        ("l_linestatus", Text(1)),
        ("l_shipdate", Date),
        ("l_commitdate", Date),
        ("l_receiptdate", Date),
        ("l_shipinstruct", Text(25)),
        ("l_shipmode", Text(10)),
        ("l_comment", Text(44)),
    ],
    primary_key: &["l_orderkey", "l_linenumber"],
    foreign_keys: &[
        (&["l_orderkey"], "orders"),
        (&["l_partkey", "l_suppkey"], "partsupp"),
        (&["l_partkey"], "part"),
        (&["l_suppkey"], "supplier"),
    ],
};
