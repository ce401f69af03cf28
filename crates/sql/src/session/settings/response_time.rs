//! `shareddb.response_time`, in which an answer is wanted, and `shareddb.late`, what becomes of one that takes longer.

use std::time::Duration;

use super::Settings;
use super::durations::{microseconds, microseconds_text};

const NAME: &str = "shareddb.response_time";

/// `shareddb.late`: what becomes of a statement whose response time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// It is given up.
    Drop,
    /// It goes on.
    Finish,
}

/// A response time as the setting's text says it: zero is none. Without a unit it counts milliseconds.
pub fn response_time(text: &str) -> Option<Duration> {
    microseconds(text).map(Duration::from_micros)
}

impl Settings {
    /// The same with this response time where nobody says otherwise: RESET returns to it.
    pub fn with_response_time(mut self, usual: Duration) -> Settings {
        if !usual.is_zero() {
            let microseconds = u64::try_from(usual.as_micros()).unwrap_or(u64::MAX);
            self.put(NAME, Some(microseconds_text(microseconds)));
            self.settle();
        }
        self
    }

    /// In what time a statement is wanted to be answered; `None`: in whatever it takes.
    pub fn response_time(&self) -> Option<Duration> {
        self.response_time
    }

    /// What becomes of a statement whose response time is over.
    pub fn late(&self) -> Late {
        match self.is_changed_to("shareddb.late", "finish") {
            true => Late::Finish,
            false => Late::Drop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_times_are_kept_to_the_microsecond() {
        let mut settings = Settings::new("me");
        assert_eq!((settings.response_time(), settings.show(NAME)), (None, Ok("0".into())));
        settings.set(NAME, Some("0.25")).expect("valid");
        assert_eq!(settings.response_time(), Some(Duration::from_micros(250)));
        assert_eq!(settings.show("SharedDB.Response_Time"), Ok("250us".into()));
        for wrong in ["-1", "soon", "1.5 days"] {
            let fault = settings.set(NAME, Some(wrong)).expect_err(wrong);
            assert_eq!(fault.state.code(), "22023");
        }
        settings.set(NAME, Some("0")).expect("valid");
        assert_eq!(settings.response_time(), None);
    }

    #[test]
    fn the_usual_response_time_is_what_reset_returns_to() {
        let usual = Duration::from_millis(50);
        let mut settings = Settings::new("me").with_response_time(usual);
        assert_eq!(settings.response_time(), Some(usual));
        let before = settings.set(NAME, Some("2s")).expect("valid");
        assert_eq!(settings.response_time(), Some(Duration::from_secs(2)));
        settings.restore(before);
        assert_eq!(settings.show(NAME), Ok("50ms".into()));
        settings.set(NAME, Some("0")).expect("valid");
        settings.set(NAME, None).expect("known");
        assert_eq!(settings.response_time(), Some(usual));
    }

    #[test]
    fn the_late_are_dropped_unless_said_otherwise() {
        let mut settings = Settings::new("me");
        assert_eq!(settings.late(), Late::Drop);
        settings.set("shareddb.late", Some("FINISH")).expect("valid");
        assert_eq!(
            (settings.late(), settings.show("shareddb.late")),
            (Late::Finish, Ok("finish".into()))
        );
        let fault = settings.set("shareddb.late", Some("never")).expect_err("unknown");
        assert_eq!(fault.state.code(), "22023");
    }
}
