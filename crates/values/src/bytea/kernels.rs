//! The computations of strings of bytes by their names in the catalog.

use super::part::{of_bytes, overlaid, position, without_end, without_start};
use super::{bits, digest, encoding};
use crate::argument::kernels;
use crate::kernel::Kernel;
use crate::text::{is_like_bytes, like_escape_bytes, span};

pub(crate) const KERNELS: &[&[Kernel]] = &[ORDER, PARTS, OTHERS];

const ORDER: &[Kernel] = kernels! {
    "byteaeq" => |a: &[u8], b: &[u8]| a == b;
    "byteane" => |a: &[u8], b: &[u8]| a != b;
    "bytealt" => |a: &[u8], b: &[u8]| a < b;
    "byteale" => |a: &[u8], b: &[u8]| a <= b;
    "byteagt" => |a: &[u8], b: &[u8]| a > b;
    "byteage" => |a: &[u8], b: &[u8]| a >= b;
    "byteacmp" => |a: &[u8], b: &[u8]| a.cmp(b) as i32;
    "bytealike" => |a: &[u8], pattern: &[u8]| is_like_bytes(a, pattern);
    "like_escape_bytea" => |pattern: &[u8], escape: &[u8]| like_escape_bytes(pattern, escape);
    "byteanlike" => |a: &[u8], pattern: &[u8]| is_like_bytes(a, pattern).map(|is| !is);
};

const PARTS: &[Kernel] = kernels! {
    "byteaoctetlen" => |a: &[u8]| a.len() as i32;
    "bit_length(bytea)" => |a: &[u8]| a.len() as i32 * 8;
    "bytea_substr" => |a: &[u8], start: i32, length: i32|
        span(start, Some(length)).map(|span| of_bytes(a, span));
    "bytea_substr_no_len" => |a: &[u8], start: i32| span(start, None).map(|span| of_bytes(a, span));
    "byteaoverlay" => |a: &[u8], b: &[u8], start: i32, length: i32| overlaid(a, b, start, length);
    "byteaoverlay_no_len" => |a: &[u8], b: &[u8], start: i32| overlaid(a, b, start, b.len() as i32);
    "byteapos" => |a: &[u8], b: &[u8]| position(a, b);
    "byteatrim" => |a: &[u8], set: &[u8]| without_end(without_start(a, set), set);
    "bytealtrim" => |a: &[u8], set: &[u8]| without_start(a, set);
    "byteartrim" => |a: &[u8], set: &[u8]| without_end(a, set);
    "byteaGetByte" => |a: &[u8], index: i32| bits::byte(a, index);
    "byteaSetByte" => |a: &[u8], index: i32, value: i32| bits::with_byte(a, index, value);
    "byteaGetBit" => |a: &[u8], index: i64| bits::bit(a, index);
    "byteaSetBit" => |a: &[u8], index: i64, value: i32| bits::with_bit(a, index, value);
    "bytea_bit_count" => |a: &[u8]| bits::ones(a);
};

const OTHERS: &[Kernel] = kernels! {
    "byteacat" => |a: &[u8], b: &[u8]| [a, b].concat();
    "binary_encode" => |a: &[u8], encoding: &str| encoding::encode(a, encoding);
    "binary_decode" => |a: &str, encoding: &str| encoding::decode(a, encoding);
    "md5_bytea" => |a: &[u8]| digest::hex_digest(a);
    "sha224_bytea" => |a: &[u8]| digest::sha224(a);
    "sha256_bytea" => |a: &[u8]| digest::sha256(a);
    "sha384_bytea" => |a: &[u8]| digest::sha384(a);
    "sha512_bytea" => |a: &[u8]| digest::sha512(a);
    "byteasend" => |a: &[u8]| a;
};
