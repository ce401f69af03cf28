//! Answers of a query that runs query at a time though the global plan has it: what it takes is measured while it computes,
//! not while its client reads.

use std::sync::Arc;

use engine::heartbeat::{Answer, LoneRun};
use engine::types::{Result, SqlState};
use futures::StreamExt;

use crate::alone::{Answers, Report};

/// Answers under measurement.
struct Measured {
    answers: Answers,
    run: LoneRun,
    report: Option<Arc<Report>>,
}

impl Measured {
    async fn next(&mut self) -> Option<Result<Answer>> {
        self.run.resume();
        let answer = self.answers.next().await;
        match &answer {
            Some(Err(error)) if error.state == SqlState::OutOfMemory => self.run.refuse(),
            Some(_) => self.run.pause(),
            None => self.complete(),
        }
        answer
    }

    fn complete(&mut self) {
        let took = self.run.complete();
        self.report.iter().for_each(|report| report.set_lone(took));
    }
}

/// Begins to run; gives back answers once the first one is there, or what went wrong before.
pub async fn begin(
    answers: impl Future<Output = Result<Answers>>,
    run: LoneRun,
    report: Option<Arc<Report>>,
) -> Result<Answers> {
    let mut measured = Measured { answers: answers.await?, run, report };
    let first = measured.next().await.transpose()?;
    let rest = futures::stream::unfold(measured, |mut measured| async move {
        let answer = measured.next().await?;
        Some((answer, measured))
    });
    // After its end a stream is not asked again: an empty answer has no rest.
    Ok(match first {
        None => Box::pin(futures::stream::empty()),
        Some(first) => Box::pin(futures::stream::iter([Ok(first)]).chain(rest)),
    })
}
