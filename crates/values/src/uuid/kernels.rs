//! The computations of uuids by their names in the catalog.

use super::Uuid;
use crate::argument::{kernels, relations};
use crate::hash;
use crate::kernel::Kernel;

pub(crate) const KERNELS: &[&[Kernel]] =
    &[relations!("uuid_", "uuid_cmp", Uuid, Uuid, |a: Uuid, b: Uuid| a.cmp(&b)), OTHERS];

const OTHERS: &[Kernel] = kernels! {
    "uuid_send" => |a: Uuid| a.to_vec();
    "uuid_hash" => |a: Uuid| hash::of_bytes(&a) as i32;
    "uuid_hash_extended" => |a: Uuid, seed: i64| hash::of_bytes_extended(&a, seed as u64) as i64;
};
