//! The tables of facts beside the server's catalogs.

use values::facts::TABLES;
use values::kernel::kernels;

use crate::cluster::Cluster;

/// Each table has exactly the rows that its query gives, and each kernel computes one of them.
pub fn compare(cluster: &Cluster) {
    for (name, query, rows) in TABLES {
        let statement = |query: &str| {
            let lines = query.lines().filter(|line| !line.starts_with("--"));
            lines.collect::<Vec<_>>().join(" ")
        };
        let core = statement(TABLES[0].1);
        let query = statement(query);
        let script = format!("create temp view core as {core};\n\\copy ({query}) to stdout\n");
        let got = cluster.lines(&script);
        let differing = rows.lines().zip(&got).find(|(ours, theirs)| ours != theirs);
        assert_eq!(differing, None, "a row of {name} differs from PostgreSQL's");
        assert_eq!(rows.lines().count(), got.len(), "{name} has another number of rows");
    }
    for kernel in kernels() {
        let function = format!("\t{}", kernel.source);
        // A type's own functions take what is no value: they stand with the type.
        let form = format!("\t{}\t", kernel.source);
        let is_in_facts = TABLES[1].2.lines().any(|row| row.ends_with(&function))
            || TABLES[0].2.lines().any(|row| row.contains(&form));
        assert!(is_in_facts, "no function is computed by the kernel {}", kernel.source);
    }
}
