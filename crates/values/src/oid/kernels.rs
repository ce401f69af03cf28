//! The computations of OIDs by their names in the catalog.

use super::Oid;
use crate::argument::{kernels, relations};
use crate::hash;
use crate::kernel::Kernel;

pub(crate) const KERNELS: &[&[Kernel]] =
    &[relations!("oid", "btoidcmp", Oid, Oid, |a: Oid, b: Oid| a.cmp(&b)), OTHERS, SENT];

const OTHERS: &[Kernel] = kernels! {
    "oidlarger" => |a: Oid, b: Oid| a.max(b);
    "oidsmaller" => |a: Oid, b: Oid| a.min(b);
    "i8tooid" => |a: i64| super::from_i64(a);
    "oidtoi8" => |a: Oid| i64::from(a.0);
    "hashoid" => |a: Oid| hash::of_u32(a.0) as i32;
    "hashoidextended" => |a: Oid, seed: i64| hash::of_u32_extended(a.0, seed as u64) as i64;
};

const SENT: &[Kernel] = kernels! {
    "oidsend" => |a: Oid| sent(a);
    "regprocsend" => |a: Oid| sent(a);
    "regproceduresend" => |a: Oid| sent(a);
    "regopersend" => |a: Oid| sent(a);
    "regoperatorsend" => |a: Oid| sent(a);
    "regclasssend" => |a: Oid| sent(a);
    "regtypesend" => |a: Oid| sent(a);
    "regconfigsend" => |a: Oid| sent(a);
    "regdictionarysend" => |a: Oid| sent(a);
    "regnamespacesend" => |a: Oid| sent(a);
    "regrolesend" => |a: Oid| sent(a);
    "regcollationsend" => |a: Oid| sent(a);
};

fn sent(oid: Oid) -> Vec<u8> {
    oid.0.to_be_bytes().to_vec()
}
