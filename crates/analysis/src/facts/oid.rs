//! OIDs of types that rules name.

#![allow(missing_docs, reason = "the names are PostgreSQL's")]

use super::Oid;

pub const BOOL: Oid = 16;
pub const BYTEA: Oid = 17;
pub const CHAR: Oid = 18;
pub const NAME: Oid = 19;
pub const INT8: Oid = 20;
pub const INT2: Oid = 21;
pub const INT2VECTOR: Oid = 22;
pub const INT4: Oid = 23;
pub const TEXT: Oid = 25;
pub const OID: Oid = 26;
pub const TID: Oid = 27;
pub const XID: Oid = 28;
pub const CID: Oid = 29;
pub const OIDVECTOR: Oid = 30;
pub const XML: Oid = 142;
pub const FLOAT4: Oid = 700;
pub const FLOAT8: Oid = 701;
pub const UNKNOWN: Oid = 705;
pub const BPCHAR: Oid = 1042;
pub const VARCHAR: Oid = 1043;
pub const DATE: Oid = 1082;
pub const TIME: Oid = 1083;
pub const TIMESTAMP: Oid = 1114;
pub const TIMESTAMPTZ: Oid = 1184;
pub const INTERVAL: Oid = 1186;
pub const TIMETZ: Oid = 1266;
pub const BIT: Oid = 1560;
pub const VARBIT: Oid = 1562;
pub const NUMERIC: Oid = 1700;
pub const RECORD: Oid = 2249;
pub const ANY: Oid = 2276;
pub const ANYARRAY: Oid = 2277;
pub const VOID: Oid = 2278;
pub const TRIGGER: Oid = 2279;
pub const ANYELEMENT: Oid = 2283;
pub const RECORD_ARRAY: Oid = 2287;
pub const ANYNONARRAY: Oid = 2776;
pub const ANYENUM: Oid = 3500;
pub const ANYRANGE: Oid = 3831;
pub const ANYMULTIRANGE: Oid = 4537;
pub const ANYCOMPATIBLEMULTIRANGE: Oid = 4538;
pub const ANYCOMPATIBLE: Oid = 5077;
pub const ANYCOMPATIBLEARRAY: Oid = 5078;
pub const ANYCOMPATIBLENONARRAY: Oid = 5079;
pub const ANYCOMPATIBLERANGE: Oid = 5080;
pub const JSONB: Oid = 3802;
pub const REFCURSOR: Oid = 1790;
pub const REGCLASS: Oid = 2205;

/// The collation of a database.
pub const DEFAULT_COLLATION: Oid = 100;
/// By bytes.
pub const C_COLLATION: Oid = 950;
/// The same.
pub const POSIX_COLLATION: Oid = 951;
