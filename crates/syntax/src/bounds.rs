//! Bounds of a tree, checked by iteration before anything recurses into it.

use crate::{Limits, Node, SyntaxError, Tree};

/// Refuses a tree that is too large or too deep with PostgreSQL's words (54001); shows every node on the way.
pub fn check(
    tree: &Tree,
    limits: &Limits,
    see: &mut impl FnMut(Node<'_>),
) -> Result<(), SyntaxError> {
    let mut nodes = 0;
    // Statements are not within each other, and what is left in a chain is as deep as the chain: see `Node::left`.
    let mut waiting: Vec<_> = tree.statements().map(|statement| (statement.node, 1)).collect();
    while let Some((node, depth)) = waiting.pop() {
        nodes += 1;
        if nodes > limits.nodes || depth > limits.depth {
            return Err(too_complex());
        }
        see(node);
        let left = node.left();
        node.children(&mut |child| {
            let is_left = left.is_some_and(|left| left.is(child));
            waiting.push((child, depth + usize::from(!is_left)));
        });
    }
    Ok(())
}

fn too_complex() -> SyntaxError {
    let hint = "Increase the configuration parameter \"max_stack_depth\" (currently 2048kB), after ensuring the platform's stack \
        depth limit is adequate.";
    let error = SyntaxError::new(b"54001", "stack depth limit exceeded");
    SyntaxError { hint: Some(hint.to_owned()), ..error }
}
