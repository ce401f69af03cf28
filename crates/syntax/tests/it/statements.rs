//! Texts of several statements: how they are split, and what each is.

use syntax::{Node, SetOperation, parse};

fn split(text: &str) -> Vec<(&'static str, &str)> {
    let tree = parse(text).expect(text);
    tree.statements().map(|statement| (statement.node.name(), &text[statement.range])).collect()
}

#[test]
fn statements_have_their_bytes() {
    assert_eq!(split(""), []);
    assert_eq!(split(" ; ;; -- nothing\n /* at all */ ;"), []);
    assert_eq!(
        split("select 'é;' ; begin"),
        [("SelectStmt", "select 'é;' "), ("TransactionStmt", "begin")]
    );
    assert_eq!(
        split("\n/* a */ select 1; -- b\n insert into a values (1);"),
        [("SelectStmt", "select 1"), ("InsertStmt", "insert into a values (1)")]
    );
    assert_eq!(
        split("create rule r as on insert to a do (select 1; select 2); select 3"),
        [
            ("RuleStmt", "create rule r as on insert to a do (select 1; select 2)"),
            ("SelectStmt", "select 3")
        ]
    );
}

#[test]
fn nodes_are_matched_and_read() {
    let text = "select a.b, 1 from c as d union all values ('x')";
    let tree = parse(text).expect(text);
    let statement = tree.statements().next().expect("there is one");
    let Node::SelectStmt(union) = statement.node else { panic!("{:?}", statement.node) };
    assert_eq!((union.op(), union.all()), (SetOperation::Union, true));
    let select = union.larg().expect("a union has a left side");
    let first = select.target_list().first().expect("there are two");
    let Some(Node::ColumnRef(column)) = first.val() else { panic!("{first:?}") };
    let names: Vec<_> = column.fields().iter().map(|name| format!("{name:?}")).collect();
    assert_eq!((names, column.location()), (vec!["\"a\"".to_owned(), "\"b\"".to_owned()], Some(7)));
    let Some(Node::RangeVar(relation)) = select.from_clause().first() else { panic!("{select:?}") };
    let alias = relation.alias().and_then(|alias| alias.aliasname());
    assert_eq!((relation.relname(), alias), (Some("c"), Some("d")));
}

#[test]
fn trees_outlive_the_thread_that_parsed_them() {
    let parser = std::thread::spawn(|| parse("select 1, 'two'").expect("it is SQL"));
    let tree = parser.join().expect("it does not panic");
    let values = tree.statements().next().expect("there is one").node.descendants();
    assert_eq!(values.filter(|node| matches!(node, Node::AConst(_))).count(), 2);
    assert!(tree.memory_bytes() >= 8192);
}
