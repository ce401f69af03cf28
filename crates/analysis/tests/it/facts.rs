//! The tables of facts are what PostgreSQL 15's catalogs say.

use analysis::facts::TABLES;

use crate::started;

#[test]
fn the_tables_are_the_servers() {
    let Some(cluster) = started("the_tables_are_the_servers") else { return };
    for (name, query, rows) in TABLES {
        let theirs = cluster.lines(&format!("copy (\n{query}) to stdout;"));
        let ours: Vec<&str> = rows.lines().collect();
        assert_eq!(ours.len(), theirs.len(), "rows of {name}");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours, theirs, "{name}");
        }
    }
}
