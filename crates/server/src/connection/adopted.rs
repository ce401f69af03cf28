//! Portals of Bind that FETCH, MOVE and CLOSE name: to PostgreSQL, portals and cursors are the same.
//!
//! Comes in what a statement of the simple protocol does with a cursor. A portal of that name becomes a cursor of the session, which
//! goes on behind the rows that Execute has sent; Execute fetches from the cursor from then on. Called by `simple`.

use std::pin::pin;

use engine::heartbeat::Answer;
use engine::types::Result;
use sql::{CursorUse, ImplicitTransaction, Outcome, Rows, Sent, TransactionStatus};

use super::portal::{Portal, PortalState};
use super::{Connection, Stop};

impl Connection {
    /// Makes a cursor of the portal that a statement names; what names none, or runs in a failed block, finds that out itself.
    pub(super) async fn share_portal(&mut self, used: CursorUse<'_>) -> Result<(), Stop> {
        if self.session.transaction_status() == TransactionStatus::Failed {
            return Ok(());
        }
        match used {
            CursorUse::Move(name) => self.adopt(name).await,
            CursorUse::Close(name) => {
                // What is closed needs no rows.
                if self.portals.take(name).is_some() && !self.session.has_cursor(name) {
                    self.session.adopt_portal(name, no_rows(), Sent::default())?;
                }
                Ok(())
            }
            CursorUse::CloseAll => {
                self.portals.clear();
                Ok(())
            }
        }
    }

    async fn adopt(&mut self, name: &str) -> Result<(), Stop> {
        if name.is_empty() || self.session.has_cursor(name) {
            return Ok(());
        }
        let Some((name, mut portal)) = self.portals.take(name) else { return Ok(()) };
        let opened = self.open(&mut portal).await;
        let adopted = opened.and_then(|(rows, sent)| {
            portal.state = PortalState::Adopted;
            Ok(self.session.adopt_portal(&name, rows, sent)?)
        });
        self.portals.put_back((name, portal));
        adopted
    }

    /// The rows that a portal has still.
    async fn open(&mut self, portal: &mut Portal) -> Result<(Rows, Sent), Stop> {
        match std::mem::replace(&mut portal.state, PortalState::Done) {
            PortalState::Ready(parameters) => {
                let implicit = ImplicitTransaction::Pipeline;
                let run = pin!(self.session.execute(&portal.statement, parameters, implicit));
                match self.socket.attend(run).await?? {
                    Outcome::Rows(rows) => Ok((rows, Sent::default())),
                    _ => Ok((no_rows(), Sent::default())),
                }
            }
            PortalState::Suspended(cursor) => Ok(cursor.into_rest()),
            PortalState::Exhausted(_) | PortalState::Adopted | PortalState::Done => {
                Ok((no_rows(), Sent::default()))
            }
        }
    }
}

fn no_rows() -> Rows {
    Rows::complete([].into(), Answer::new([].into(), Vec::new()), "FETCH")
}
