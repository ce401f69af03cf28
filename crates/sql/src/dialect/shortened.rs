//! Names of large expressions.
//!
//! DataFusion names a column by the text of its expression, and makes the names of all that is in it on the way: of a sum of n
//! terms the cube of n. Where an expression is large its name is a number that stands for it.

use std::hash::{DefaultHasher, Hash, Hasher};

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::Expr;

/// Parts up to which an expression is named by its text.
const PARTS: usize = 64;

/// A name for a call with these arguments, where its text would be long: the same for equal arguments only.
pub fn shortened(arguments: &[Expr]) -> Option<String> {
    key("", arguments, |_| None).map(named)
}

/// The same for one whose number is known.
pub fn named(key: u64) -> String {
    format!("..{key:016x}..")
}

/// A number for a call of a function with these arguments, where they are large. `known` tells that of an argument which has one:
/// of a sum of n terms each has the one below, and is not looked through again.
pub fn key(
    function: &str,
    arguments: &[Expr],
    known: impl Fn(&Expr) -> Option<u64>,
) -> Option<u64> {
    is_large(arguments).then(|| {
        let mut hasher = DefaultHasher::new();
        function.hash(&mut hasher);
        for argument in arguments {
            match known(argument) {
                Some(key) => key.hash(&mut hasher),
                None => argument.hash(&mut hasher),
            }
        }
        hasher.finish()
    })
}

fn is_large(arguments: &[Expr]) -> bool {
    let mut open: Vec<&Expr> = arguments.iter().collect();
    let mut parts = 0;
    while let Some(expr) = open.pop() {
        parts += 1;
        if parts + open.len() > PARTS {
            return true;
        }
        let _ = expr.apply_children(|child| {
            open.push(child);
            Ok(TreeNodeRecursion::Continue)
        });
    }
    false
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::{col, lit};

    use super::*;

    #[test]
    fn large_expressions_have_short_names_of_their_own() {
        let sum = |last: i64| (0..100).fold(col("a"), |sum, _| sum + col("b")) + lit(last);
        assert_eq!(shortened(&[col("a") + col("b")]), None);
        let one = shortened(&[sum(1)]).expect("it is large");
        assert!(one.len() < 32);
        assert_eq!(shortened(&[sum(1)]), Some(one.clone()));
        assert_ne!(shortened(&[sum(2)]), Some(one));
    }
}
