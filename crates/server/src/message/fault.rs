//! ErrorResponse and NoticeResponse.

use engine::types::{Error, SqlState};

use super::backend;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The statement failed; the connection goes on.
    Error,
    /// The connection ends.
    Fatal,
    /// Nothing failed.
    Notice,
}

impl Severity {
    /// As written in the message. A notice whose state is an error's is a warning in PostgreSQL; the session
    /// gives warnings and notices as one kind, so the state decides.
    fn word(self, state: SqlState) -> &'static str {
        match self {
            Severity::Error => "ERROR",
            Severity::Fatal => "FATAL",
            Severity::Notice if is_warning(state) => "WARNING",
            Severity::Notice => "NOTICE",
        }
    }
}

/// BEGIN inside a block, COMMIT outside of one.
fn is_warning(state: SqlState) -> bool {
    matches!(state, SqlState::ActiveTransaction | SqlState::NoActiveTransaction)
}

/// Appends the message that tells the client of `fault`.
pub fn write(out: &mut Vec<u8>, severity: Severity, fault: &Error) {
    let tag = if severity == Severity::Notice { b'N' } else { b'E' };
    let word = severity.word(fault.state);
    backend::message(out, tag, |out| {
        field(out, b'S', word);
        field(out, b'V', word);
        field(out, b'C', fault.state.code());
        field(out, b'M', &fault.message);
        optional(out, b'D', &fault.detail);
        optional(out, b'H', &fault.hint);
        if let Some(position) = fault.position {
            field(out, b'P', &position.to_string());
        }
        if fault.table.is_some() {
            field(out, b's', "public");
        }
        optional(out, b't', &fault.table);
        optional(out, b'c', &fault.column);
        optional(out, b'n', &fault.constraint);
        optional(out, b'W', &fault.context);
        if fault.state == SqlState::FeatureNotSupported && fault.message == CHANGED_RESULT {
            field(out, b'R', "RevalidateCachedQuery");
        }
        out.push(0);
    });
}

/// Drivers prepare again when they see this fault, and pgjdbc knows it by the name of PostgreSQL's routine.
const CHANGED_RESULT: &str = "cached plan must not change result type";

fn optional(out: &mut Vec<u8>, code: u8, text: &Option<String>) {
    if let Some(text) = text {
        field(out, code, text);
    }
}

/// A zero byte inside a field would end it early and shift all that follows.
fn field(out: &mut Vec<u8>, code: u8, text: &str) {
    out.push(code);
    out.extend(text.bytes().filter(|byte| *byte != 0));
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_carries_its_fields_in_order() {
        let fault = Error::new(SqlState::UniqueViolation, "duplicate\0 key")
            .detail("Key (a)=(1) already exists.")
            .constraint("t", "t_pkey");
        let mut out = Vec::new();
        write(&mut out, Severity::Error, &fault);
        let body = b"SERROR\0VERROR\0C23505\0Mduplicate key\0DKey (a)=(1) already exists.\0\
                     spublic\0tt\0nt_pkey\0\0";
        assert_eq!(out[0], b'E');
        assert_eq!(&out[1..5], ((body.len() + 4) as u32).to_be_bytes());
        assert_eq!(&out[5..], body);
    }
}
