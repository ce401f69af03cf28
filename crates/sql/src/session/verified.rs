//! Answers on their way to the client, verified where their activation was drawn.
//!
//! In comes what [`super::read`] has computed and where; out goes the same, or XX001 where verification is strict and
//! another path gives something else. Absent here: how an answer is verified (`verification`).

use std::sync::{Arc, OnceLock};

use engine::heartbeat::{Answer, Receiver, Witness};
use engine::storage::Snapshot;
use engine::types::{Result, Value};
use futures::StreamExt;
use tokio::sync::oneshot;

use super::limited::reached;
use super::{Database, Session};
use crate::alone::{Answers, Limits};
use crate::template::QueryTemplate;
use crate::text::session_zone;
use crate::verification::{Given, Question, Share, Taken};

/// An activation that is to be verified.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    share: Share,
    /// The newest version when it was drawn.
    newest: Snapshot,
    witness: Arc<OnceLock<Witness>>,
}

/// Hands an answer over, and before it what it was computed from.
pub(super) struct Witnessing {
    send: oneshot::Sender<Result<Answer>>,
    witness: Arc<OnceLock<Witness>>,
}

impl Receiver for Witnessing {
    fn receive(self: Box<Self>, answer: Result<Answer>) {
        // Nobody waits any more where the client has gone.
        let _ = self.send.send(answer);
    }

    fn is_witnessed(&self) -> bool {
        true
    }

    fn witness(&mut self, witness: &Witness) {
        // Told once: what failed beside others and ran again is told of its last run.
        let _ = self.witness.set(witness.clone());
    }
}

impl Drawn {
    /// The newest version when it was drawn.
    pub fn newest(&self) -> &Snapshot {
        &self.newest
    }

    /// Where the answer of a batch goes.
    pub fn receiver(&self, send: oneshot::Sender<Result<Answer>>) -> Box<dyn Receiver> {
        Box::new(Witnessing { send, witness: self.witness.clone() })
    }
}

/// What a statement asks, and what ends the wait for its verdict.
struct Asked {
    database: Arc<Database>,
    limits: Limits,
    drawn: Drawn,
    question: Question,
    taken: Taken,
}

impl Asked {
    /// Has an answer verified; an error in place of it.
    async fn check(self, answer: Result<Answer>) -> Result<()> {
        let Asked { database, limits, drawn, question, taken } = self;
        let witness = drawn.witness.get().cloned();
        let given = Given { question, answer, taken, witness };
        database.verification.check(given, drawn.share, reached(&limits)).await
    }
}

/// An answer that is read while it is computed, as far as it has come.
struct Reading {
    answers: Answers,
    asked: Option<Asked>,
    read: Answer,
}

impl Reading {
    async fn next(&mut self) -> Option<Result<Answer>> {
        let piece = self.answers.next().await;
        let whole = match &piece {
            Some(Ok(piece)) => {
                self.keep(piece);
                return Some(Ok(piece.clone()));
            }
            Some(Err(error)) => Err(error.clone()),
            None => Ok(self.read.clone()),
        };
        if let Some(asked) = self.asked.take()
            && let Err(error) = asked.check(whole).await
        {
            return Some(Err(error));
        }
        piece
    }

    fn keep(&mut self, piece: &Answer) {
        let Some(asked) = &self.asked else { return };
        self.read.parts.extend(piece.parts.iter().cloned());
        if crate::verification::is_too_large(&self.read) {
            asked.database.verification.skip("size");
            (self.asked, self.read.parts) = (None, Vec::new());
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        if let Some(asked) = &self.asked {
            asked.database.verification.skip("not read");
        }
    }
}

impl Session {
    /// An activation: whether it is to be verified. Usually nothing is, and this a look at a number.
    pub(super) fn draw(&self) -> Option<Drawn> {
        let verification = &self.database.verification;
        let share = self.settings.verify().unwrap_or_else(|| verification.share());
        // Another path would see what the statement itself has changed.
        let is_drawn = verification.is_drawn(share) && self.own_before().is_none();
        let newest = || self.database.engine.store().snapshot();
        is_drawn.then(|| Drawn { share, newest: newest(), witness: Arc::default() })
    }

    /// Counts a statement that has nothing to verify, if it is drawn.
    pub(super) fn skip_verification(&self, reason: &'static str) {
        if self.draw().is_some() {
            self.database.verification.skip(reason);
        }
    }

    /// The answer of a batch, verified on the activation's own snapshot, else on the batch's. A batch that began before the
    /// activation was drawn has answered it since nothing had changed that it reads: then that is verified, too.
    pub(super) async fn verify_shared(
        &self,
        drawn: Option<Drawn>,
        template: &Arc<QueryTemplate>,
        values: &Arc<[Value]>,
        own: Option<Snapshot>,
        answer: Result<Answer>,
    ) -> Result<Answer> {
        let Some(drawn) = drawn else { return answer };
        let Some(batch) = drawn.witness.get().map(|witness| witness.snapshot.clone()) else {
            // It was refused before it got into a batch.
            self.database.verification.skip("no batch");
            return answer;
        };
        let is_newer = batch.version() >= drawn.newest.version();
        let found = || if is_newer { batch } else { drawn.newest.clone() };
        let snapshot = own.unwrap_or_else(found);
        let asked = self.asked(drawn, template, values, snapshot, Taken::Global);
        asked.check(answer.clone()).await?;
        answer
    }

    /// What was found row by row, or by a query for a write.
    pub(super) async fn verify_found(
        &self,
        drawn: Drawn,
        question: Question,
        taken: Taken,
        answer: Answer,
    ) -> Result<()> {
        self.asked_of(drawn, question, taken).check(Ok(answer)).await
    }

    /// The answer of a query that runs alone, verified once it has been read; where that is strict, before.
    pub(super) async fn verify_alone(
        &self,
        drawn: Option<Drawn>,
        template: &Arc<QueryTemplate>,
        values: &Arc<[Value]>,
        snapshot: &Snapshot,
        answers: Result<Answers>,
    ) -> Result<Answers> {
        let Some(drawn) = drawn else { return answers };
        let asked = self.asked(drawn, template, values, snapshot.clone(), Taken::Alone);
        let answers = match answers {
            Ok(answers) => answers,
            Err(error) => {
                asked.check(Err(error.clone())).await?;
                return Err(error);
            }
        };
        let read = Answer::new(template.output.clone(), Vec::new());
        let mut reading = Reading { answers, asked: Some(asked), read };
        if !self.database.verification.is_strict() {
            return Ok(Box::pin(pieces(reading)));
        }
        let mut first = Vec::new();
        while reading.asked.is_some() {
            match reading.next().await {
                Some(piece) => first.push(Ok(piece?)),
                None => return Ok(Box::pin(futures::stream::iter(first))),
            }
        }
        Ok(Box::pin(futures::stream::iter(first).chain(pieces(reading))))
    }

    fn asked(
        &self,
        drawn: Drawn,
        template: &Arc<QueryTemplate>,
        values: &Arc<[Value]>,
        snapshot: Snapshot,
        taken: Taken,
    ) -> Asked {
        let (template, values) = (template.clone(), values.clone());
        let question = Question {
            template,
            values,
            snapshot,
            overlay: None,
            is_uncut: false,
            zone: session_zone(),
        };
        self.asked_of(drawn, question, taken)
    }

    fn asked_of(&self, drawn: Drawn, question: Question, taken: Taken) -> Asked {
        let limits = self.limits.clone();
        Asked { database: self.database.clone(), limits, drawn, question, taken }
    }
}

/// The pieces that are left.
fn pieces(reading: Reading) -> impl futures::Stream<Item = Result<Answer>> + Send {
    futures::stream::unfold(Some(reading), |reading| async move {
        let mut reading = reading?;
        let piece = reading.next().await?;
        let rest = piece.is_ok().then_some(reading);
        Some((piece, rest))
    })
}
