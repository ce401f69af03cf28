//! Waiting for what other transactions have locked.
//!
//! A statement that must wait is told so by the engine ([`Step`]), gives the session's task back, and is asked again when it has
//! the lock. What ends the wait: the lock, `lock_timeout`, a cycle that is found after `deadlock_timeout`, and whatever ends
//! statements. Called by `write`, `locking` and `copy`.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use engine::heartbeat::Step;
use engine::transaction::Waiting;
use engine::types::limit::Limit;
use engine::types::{Error, Result, SqlState};

use super::Session;
use super::limited::reached;

pub(super) fn lock_timeout() -> Error {
    Error::new(SqlState::LockNotAvailable, "canceling statement due to lock timeout")
}

fn deadlock() -> Error {
    Error::new(SqlState::DeadlockDetected, "deadlock detected")
        .hint("Two or more transactions wait for each other's locks; this one was ended.")
}

impl Session {
    /// What a statement has come to; `None` when it is to be asked again.
    pub(super) async fn settled<T>(&self, step: Step<T>) -> Result<Option<T>> {
        match step {
            Step::Done(done) => return Ok(Some(done)),
            Step::Wait(waiting) => Box::pin(self.wait_for(waiting)).await?,
            Step::Pause(pause) => Box::pin(self.pause(pause)).await?,
        }
        Ok(None)
    }

    /// Waits a moment.
    pub(super) async fn pause(&self, pause: Duration) -> Result<()> {
        tokio::time::sleep(pause).await;
        self.limits.fault().map_or(Ok(()), Err)
    }

    /// Waits for a lock.
    pub(super) async fn wait_for(&self, waiting: Waiting) -> Result<()> {
        self.limits.waits_for_lock.store(true, Ordering::Relaxed);
        let given = self.given(waiting).await;
        self.limits.waits_for_lock.store(false, Ordering::Relaxed);
        given
    }

    async fn given(&self, mut waiting: Waiting) -> Result<()> {
        let (patience, suspicion) =
            (self.settings.lock_timeout(), self.settings.deadlock_timeout());
        let began = Instant::now();
        let mut looks_at = began + suspicion;
        loop {
            let ends = async {
                match patience {
                    Some(patience) => tokio::time::sleep_until((began + patience).into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                given = &mut waiting => return given,
                () = ends => return Err(lock_timeout()),
                fault = reached(&self.limits) => return Err(fault),
                () = tokio::time::sleep_until(looks_at.into()) => {
                    if waiting.gives_way() {
                        return Err(deadlock());
                    }
                    looks_at = Instant::now() + suspicion;
                }
            }
        }
    }
}
