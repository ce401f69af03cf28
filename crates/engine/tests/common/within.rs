//! Futures in tests end.

use super::waiting::HANG;

/// What a future gives; one that hangs panics with what was waited for.
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let given = tokio::time::timeout(HANG, future).await;
    given.unwrap_or_else(|_| panic!("waited {HANG:?} in vain: {what}"))
}
