//! Digests.

use md5::{Digest, Md5};
use sha2::{Sha224, Sha256, Sha384, Sha512};

use super::hex;

/// MD5 in hexadecimal digits.
pub(crate) fn hex_digest(bytes: &[u8]) -> String {
    hex::encode(&Md5::digest(bytes))
}

pub(super) fn sha224(bytes: &[u8]) -> Vec<u8> {
    Sha224::digest(bytes).to_vec()
}

pub(super) fn sha256(bytes: &[u8]) -> Vec<u8> {
    Sha256::digest(bytes).to_vec()
}

pub(super) fn sha384(bytes: &[u8]) -> Vec<u8> {
    Sha384::digest(bytes).to_vec()
}

pub(super) fn sha512(bytes: &[u8]) -> Vec<u8> {
    Sha512::digest(bytes).to_vec()
}
