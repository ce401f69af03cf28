//! How large the caches of a core are.

use std::fs;

/// What Linux says of the first core's caches: a directory for each.
const CACHES: &str = "/sys/devices/system/cpu/cpu0/cache";

/// Bytes of a core's second cache where nobody says how large it is: servers have half a MiB to two.
pub const USUAL_SECOND_CACHE: usize = 1 << 20;

/// Bytes of a core's second cache.
pub fn second_cache() -> usize {
    let caches = fs::read_dir(CACHES).into_iter().flatten().flatten();
    let mut second = caches.filter_map(|cache| {
        let told = |what: &str| fs::read_to_string(cache.path().join(what)).ok();
        bytes_of_second(&told("level")?, &told("type")?, &told("size")?)
    });
    second.next().unwrap_or(USUAL_SECOND_CACHE)
}

/// The bytes of a cache that is described so, if it is a second one that keeps data.
fn bytes_of_second(level: &str, kind: &str, size: &str) -> Option<usize> {
    match (level.trim(), kind.trim()) {
        ("2", "Data" | "Unified") => bytes(size.trim()),
        _ => None,
    }
}

/// `1024K` in bytes; nothing where it is no size, or none.
fn bytes(size: &str) -> Option<usize> {
    let (digits, unit) = size.split_at(size.find(|c: char| !c.is_ascii_digit())?);
    let unit = match unit {
        "K" => 1 << 10,
        "M" => 1 << 20,
        _ => return None,
    };
    digits.parse::<usize>().ok()?.checked_mul(unit).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_cache_is_told_from_the_others() {
        assert_eq!(bytes_of_second("2\n", "Unified\n", "2048K\n"), Some(2 << 20));
        assert_eq!(bytes_of_second("2\n", "Data\n", "1M\n"), Some(1 << 20));
        assert_eq!(bytes_of_second("1\n", "Data\n", "32K\n"), None);
        assert_eq!(bytes_of_second("2\n", "Instruction\n", "512K\n"), None);
        assert_eq!(bytes_of_second("3\n", "Unified\n", "32768K\n"), None);
    }

    #[test]
    fn what_is_no_size_is_not_believed() {
        for size in ["", "K", "0K", "1024", "12Q", "-1K", "99999999999999999999K"] {
            assert_eq!(bytes_of_second("2", "Unified", size), None, "{size}");
        }
    }
}
