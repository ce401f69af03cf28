//! The benchmark driver as a program of its own: what `shareddb bench` runs, without linking the server, so that
//! peers' clients (the feature `mariadb`) do not change how the server is built.

use std::process::ExitCode;

use clap::Parser;
use workloads::bench::BenchOptions;

/// Measures workloads, also against other systems.
#[derive(Debug, Parser)]
#[command(name = "shareddb-bench", version)]
struct Arguments {
    #[command(flatten)]
    options: BenchOptions,
}

fn main() -> ExitCode {
    match workloads::bench::run(&Arguments::parse().options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("shareddb-bench: {failure}");
            ExitCode::FAILURE
        }
    }
}
