//! Whether a setting may be kept for sessions to come, without changing any session's.

use engine::types::{Error, Result, SqlState};

use super::{Kind, Settings, find, unrecognized};

/// What comes before the dot in this server's own settings: nobody else may have names that begin so.
const RESERVED_PREFIX: &str = "shareddb";

impl Settings {
    /// The canonical name of a setting that may have this value, or any where none is given; `None` for a setting of the
    /// clients' own (`my.setting`). 22023 for a wrong value, 55P02 for what nobody changes, 42704 for an unknown name.
    pub fn check(name: &str, value: Option<&str>) -> Result<Option<&'static str>> {
        let Some(definition) = find(name) else { return check_custom(name).map(|()| None) };
        match value {
            Some(value) => drop(definition.check(value)?),
            None if matches!(definition.kind, Kind::Fixed) => return Err(definition.fixed()),
            None => {}
        }
        Ok(Some(definition.name))
    }
}

/// `my.setting`: anybody may have some, but under this server's own prefix it is a slip of the pen.
pub fn check_custom(name: &str) -> Result<()> {
    match name.split_once('.') {
        None => Err(unrecognized(name)),
        Some((prefix, _)) if prefix.eq_ignore_ascii_case(RESERVED_PREFIX) => Err(reserved(name)),
        Some(_) => Ok(()),
    }
}

fn reserved(name: &str) -> Error {
    let message = format!("invalid configuration parameter name \"{name}\"");
    let detail = format!("\"{RESERVED_PREFIX}\" is a reserved prefix.");
    Error::new(SqlState::InvalidName, message).detail(detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_checked_before() {
        assert_eq!(Settings::check("TIMEZONE", Some("UTC")), Ok(Some("TimeZone")));
        assert_eq!(Settings::check("work_mem", None), Ok(Some("work_mem")));
        assert_eq!(Settings::check("my.setting", Some("x")), Ok(None));
        for (name, value, state) in [
            ("nonsense", Some("1"), "42704"),
            ("shareddb.nonsense", None, "42602"),
            ("extra_float_digits", Some("9"), "22023"),
            ("server_version", Some("16"), "55P02"),
            ("server_version", None, "55P02"),
        ] {
            let fault = Settings::check(name, value).expect_err(name);
            assert_eq!(fault.state.code(), state, "{name}");
        }
    }
}
