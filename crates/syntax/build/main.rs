//! Compiles PostgreSQL's raw parser from the C files of the crate `pg_query`, which Cargo fetches and nobody compiles.
//!
//! Cargo knows where they lie (`cargo metadata`); what it has not fetched yet it fetches then. Only what `raw_parser` links is compiled.
//! Offsets that `src/nodes` names are asserted by the C compiler against PostgreSQL's headers, so that where they differ nothing builds.

mod layout;
mod sources;
mod tags;

use std::env;
use std::path::{Path, PathBuf};

/// The files that `raw_parser` needs, without `src_` and `.c`; `backend_parser_gram` is compiled by itself.
const FILES: &[&str] = &[
    "backend_catalog_catalog",
    "backend_catalog_namespace",
    "backend_commands_define",
    "backend_nodes_bitmapset",
    "backend_nodes_copyfuncs",
    "backend_nodes_equalfuncs",
    "backend_nodes_extensible",
    "backend_nodes_list",
    "backend_nodes_makefuncs",
    "backend_nodes_nodeFuncs",
    "backend_nodes_value",
    "backend_parser_parser",
    "backend_parser_scan",
    "backend_parser_scansup",
    "backend_storage_ipc_ipc",
    "backend_tcop_postgres",
    "backend_utils_activity_pgstat_database",
    "backend_utils_adt_datum",
    "backend_utils_adt_expandeddatum",
    "backend_utils_adt_numutils",
    "backend_utils_cache_syscache",
    "backend_utils_error_assert",
    "backend_utils_error_elog",
    "backend_utils_init_globals",
    "backend_utils_mb_mbutils",
    "backend_utils_misc_guc_tables",
    "backend_utils_misc_stack_depth",
    "backend_utils_mmgr_alignedalloc",
    "backend_utils_mmgr_aset",
    "backend_utils_mmgr_bump",
    "backend_utils_mmgr_generation",
    "backend_utils_mmgr_mcxt",
    "backend_utils_mmgr_slab",
    "common_encnames",
    "common_keywords",
    "common_kwlookup",
    "common_psprintf",
    "common_stringinfo",
    "common_wchar",
    "port_pg_bitutils",
    "port_pgstrcasecmp",
    "port_qsort",
    "port_snprintf",
    "port_strerror",
    "port_strlcpy",
];

fn main() {
    for path in ["build", "Cargo.toml", "c", "src/nodes"] {
        println!("cargo:rerun-if-changed={path}");
    }
    println!("cargo:rerun-if-env-changed=CARGO_HOME");
    let library = sources::sources().join("libpg_query");
    let postgres = library.join("src/postgres");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets it"));
    let made = |name: &str, code: String| {
        let path = out.join(name);
        std::fs::write(&path, code).expect("OUT_DIR is writable");
        path
    };
    let tags = made("tags.c", tags::tag_names(&postgres));
    let layout = made("layout.c", layout::assertions(Path::new("src/nodes")));

    let mut ours = compiler(&library);
    ours.warnings(true).flag_if_supported("-Wno-unused-parameter").include("c");
    ours.files(["c/parse.c", "c/location.c"]).files([tags, layout]);
    let mut grammar = compiler(&library);
    grammar.define("exprLocation", "syntax_location");
    grammar.file(postgres.join("src_backend_parser_gram.c"));
    let mut rest = compiler(&library);
    rest.files(FILES.iter().map(|file| postgres.join(format!("src_{file}.c"))));
    // One archive: its members call each other both ways.
    let mut all = cc::Build::new();
    for build in [&ours, &grammar, &rest] {
        all.objects(build.compile_intermediates());
    }
    all.compile("shareddb_syntax");
}

/// Optimised in every profile: the grammar's tables and its one great function are what a parse costs.
fn compiler(library: &Path) -> cc::Build {
    let mut build = cc::Build::new();
    build.opt_level(2).debug(false).warnings(false);
    build.flag("-fno-strict-aliasing").flag("-fwrapv");
    build.include(library).include(library.join("src/postgres/include"));
    build.include(library.join("src/include"));
    build
}
