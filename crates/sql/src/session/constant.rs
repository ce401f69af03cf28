//! SELECT without FROM on a session: read by its settings, computed on its thread, or on a planning thread where that may take long.
//!
//! Called by `prepared` with a text that may be one, and by `execute`.

use std::sync::Arc;

use engine::heartbeat::{Answer, AnswerPart};
use engine::plan::OutputColumn;
use engine::types::{DataType, Result, Value};
use values::kernel::Context;

use super::prepared::{Plan, Prepared};
use super::{Outcome, Rows, Session, Statement};
use crate::catalog::{Catalog, Sources};
use crate::statement::constant::{self, ConstantQuery};
use crate::statement::write::output_column;
use crate::template::SHORT_TEXT;
use crate::text::{micros_since_2000, present};

/// Bytes of a text that is analysed where it was received: what is nested in it takes a small part of the stack.
const AT_ONCE: usize = 512;

impl Session {
    /// What a text computes, if it is expressions alone.
    pub(super) async fn constant(
        &mut self,
        text: &str,
        types: &[u32],
    ) -> Result<Option<Arc<Prepared>>> {
        if text.len() > SHORT_TEXT {
            return Ok(None);
        }
        let context = self.context();
        let query = if text.len() <= AT_ONCE {
            constant::read(text, &context, types)?
        } else {
            let (own, types) = (Arc::<str>::from(text), Box::<[u32]>::from(types));
            let read = move || constant::read(&own, &context, &types);
            self.on_planning_thread(text.len(), read).await?
        };
        Ok(query.map(|mut query| {
            query.is_long |= text.len() > AT_ONCE;
            Arc::new(Prepared::constant(&self.catalog(), query))
        }))
    }

    /// Its answer.
    pub(super) async fn run_constant(
        &mut self,
        statement: &Arc<Statement>,
        parameters: &[Value],
    ) -> Result<Outcome> {
        // It has run in its transaction like any other query.
        drop(self.transaction_snapshot());
        let context = self.context();
        let Plan::Constant(query) = &statement.prepared.plan else {
            unreachable!("the caller has looked")
        };
        let rows = if query.is_long {
            let (own, parameters) = (statement.clone(), parameters.to_vec());
            let rows = move || match &own.prepared.plan {
                Plan::Constant(query) => query.rows(&context, &parameters),
                _ => unreachable!("it is the same statement"),
            };
            self.on_planning_thread(statement.text.len(), rows).await?
        } else {
            query.rows(&context, parameters)?
        };
        Ok(Outcome::Rows(answered(query, rows)))
    }

    /// What computations depend on now.
    fn context(&mut self) -> Context {
        let started = micros_since_2000(self.started());
        let present = self.in_zone(present);
        let statement_time = if self.in_block() { present.statement_time } else { started };
        Context { transaction_time: started, statement_time, ..present }
    }
}

impl Prepared {
    fn constant(catalog: &Catalog, query: ConstantQuery) -> Prepared {
        let columns = Some(query.columns.clone());
        let parameters = query.parameters.clone();
        // The types' own input functions read them.
        let parameter_types = vec![DataType::Text; parameters.len()];
        // Analysis has asked for nothing that could be defined anew.
        let sources = Sources::Relations(Box::default());
        let plan = Plan::Constant(Box::new(query));
        let described = Prepared::utility(catalog, plan, columns);
        Prepared { parameters, parameter_types, sources, ..described }
    }
}

fn answered(query: &ConstantQuery, rows: Vec<Vec<Value>>) -> Rows {
    let columns = query.columns.iter();
    let output: Arc<[OutputColumn]> =
        columns.map(|column| output_column(&column.name, DataType::Text)).collect();
    let answer = Answer::new(output, vec![AnswerPart::Own(rows)]);
    Rows::complete(query.columns.clone(), answer, "SELECT")
}
