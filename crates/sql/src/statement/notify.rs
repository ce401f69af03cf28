//! LISTEN, NOTIFY and UNLISTEN.

use datafusion::sql::sqlparser::ast::{Ident, Statement};
use engine::types::Result;

use super::naming::fold;
use crate::session::Session;

/// Runs one of them; `None` for any other statement.
pub fn run(session: &mut Session, statement: &Statement) -> Option<Result<String>> {
    let (outcome, tag) = match statement {
        Statement::LISTEN { channel } => (session.listen(&fold(channel)), "LISTEN"),
        Statement::UNLISTEN { channel } if is_all(channel) => (session.unlisten(None), "UNLISTEN"),
        Statement::UNLISTEN { channel } => (session.unlisten(Some(&fold(channel))), "UNLISTEN"),
        Statement::NOTIFY { channel, payload } => {
            (session.notify(&fold(channel), payload.as_deref().unwrap_or_default()), "NOTIFY")
        }
        _ => return None,
    };
    Some(outcome.map(|()| tag.to_owned()))
}

fn is_all(channel: &Ident) -> bool {
    channel.quote_style.is_none() && channel.value == "*"
}
