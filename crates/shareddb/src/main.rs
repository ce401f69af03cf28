//! The program: `serve`, `load`, `sql`, `bench`.

mod allocator;
mod demo;
mod memory;
mod serve;
mod sql;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A SQL server that runs a whole workload as one global plan.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serves PostgreSQL clients until SIGTERM or SIGINT.
    Serve(serve::ServeOptions),
    /// Loads a workload, CSV or Parquet files into a running server.
    Load(workloads::loading::LoadOptions),
    /// Runs statements on a running server and prints what they give.
    Sql(sql::SqlOptions),
    /// Measures workloads, also against other systems.
    Bench(Box<workloads::bench::BenchOptions>),
}

/// Why the program ends with a failure.
type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    allocator::keep_pages();
    start_log();
    let result = match Arguments::parse().command {
        Command::Serve(options) => serve::run(options),
        Command::Load(options) => workloads::loading::run(&options).map_err(Failure::from),
        Command::Sql(options) => sql::run(&options),
        Command::Bench(options) => workloads::bench::run(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("shareddb: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Warnings go to the standard error; `RUST_LOG` asks for more.
fn start_log() {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}
