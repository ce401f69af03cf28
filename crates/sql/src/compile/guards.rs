//! Conjuncts in an order in which none is asked before what guards it.
//!
//! The engine asks what it has a form of its own for first, and expressions last. Which of several expressions comes first
//! hangs on what else is in the batch, and arms of an OR may be asked each by itself: an expression that may fail
//! brings along the guards that the engine would not ask before it.

use datafusion::logical_expr::Expr;
use datafusion::logical_expr::utils::disjunction;
use engine::types::Predicate;

use super::Result;
use super::expression::Resolve;
use super::predicate::predicate;
use crate::dialect::{guarded, is_constant, may_fail, may_fail_anyhow};

/// The predicates that conjuncts are, asked only where none of the conditions `before` is true.
pub fn conjunction(
    conjuncts: &[&Expr],
    before: &[&Expr],
    resolve: &mut dyn Resolve,
) -> Result<Vec<Predicate>> {
    let (failing, sure): (Vec<&Expr>, Vec<&Expr>) =
        conjuncts.iter().copied().partition(|conjunct| may_fail(conjunct, resolve.schema()));
    let constant: Vec<&Expr> = before.iter().copied().filter(|arm| is_constant(arm)).collect();
    let (mut out, mut guards) = (Vec::new(), Vec::new());
    let mut constants: Vec<Expr> = none_of(&constant).into_iter().collect();
    for conjunct in sure {
        let fails = may_fail_anyhow(conjunct, resolve.schema());
        let known = out.len();
        add(conjunct, if fails { &constants } else { &[] }, resolve, &mut out)?;
        if out[known..].iter().any(is_opaque) {
            guards.push(conjunct.clone());
        }
        if is_constant(conjunct) {
            constants.push(conjunct.clone());
        }
    }
    if !failing.is_empty() {
        guards.extend(none_of(before));
    }
    for conjunct in failing {
        add(conjunct, &guards, resolve, &mut out)?;
        guards.push(conjunct.clone());
    }
    Ok(out)
}

fn add(
    conjunct: &Expr,
    guards: &[Expr],
    resolve: &mut dyn Resolve,
    out: &mut Vec<Predicate>,
) -> Result<()> {
    if guards.is_empty() {
        return predicate(conjunct, resolve, out);
    }
    predicate(&guarded(guards.to_vec(), conjunct.clone()), resolve, out)
}

/// That no arm is true, if there is one.
fn none_of(arms: &[&Expr]) -> Option<Expr> {
    let any = disjunction(arms.iter().map(|arm| (*arm).clone()));
    any.map(|any| Expr::IsNotTrue(Box::new(any)))
}

/// Whether the engine may ask a predicate after an expression.
pub fn is_opaque(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Expression(_) => true,
        Predicate::Or(arms) => arms.iter().flatten().any(is_opaque),
        _ => false,
    }
}
