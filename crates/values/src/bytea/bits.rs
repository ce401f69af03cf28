//! Single bytes and bits. Bits are counted from the lowest one of the first byte.

use crate::error::{Result, ValueError};

fn place(index: i64, count: usize) -> Result<usize> {
    usize::try_from(index).ok().filter(|index| *index < count).ok_or_else(|| {
        let last = count as i64 - 1;
        ValueError::new("2202E", format!("index {index} out of valid range, 0..{last}"))
    })
}

/// # Errors
/// 2202E beyond the bytes.
pub(super) fn byte(bytes: &[u8], index: i32) -> Result<i32> {
    Ok(i32::from(bytes[place(index.into(), bytes.len())?]))
}

/// # Errors
/// 2202E beyond the bytes.
pub(super) fn bit(bytes: &[u8], index: i64) -> Result<i32> {
    let index = place(index, bytes.len() * 8)?;
    Ok(i32::from(bytes[index / 8] >> (index % 8) & 1))
}

/// With the low 8 bits of `value` as one of its bytes.
///
/// # Errors
/// 2202E beyond the bytes.
pub(super) fn with_byte(bytes: &[u8], index: i32, value: i32) -> Result<Vec<u8>> {
    let index = place(index.into(), bytes.len())?;
    let mut changed = bytes.to_vec();
    changed[index] = value as u8;
    Ok(changed)
}

/// With one of its bits set to 0 or 1.
///
/// # Errors
/// 2202E beyond the bytes; 22023 for another value.
pub(super) fn with_bit(bytes: &[u8], index: i64, value: i32) -> Result<Vec<u8>> {
    let index = place(index, bytes.len() * 8)?;
    if value != 0 && value != 1 {
        return Err(ValueError::new("22023", "new bit must be 0 or 1"));
    }
    let mut changed = bytes.to_vec();
    let byte = &mut changed[index / 8];
    *byte = *byte & !(1 << (index % 8)) | (value as u8) << (index % 8);
    Ok(changed)
}

/// How many bits are 1.
pub(super) fn ones(bytes: &[u8]) -> i64 {
    bytes.iter().map(|byte| i64::from(byte.count_ones())).sum()
}
