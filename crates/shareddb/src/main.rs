//! The program: `serve`, `load`, `sql`, `bench`.

mod allocator;
mod demo;
mod memory;
mod serve;
mod sql;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Examples of first steps, for --help.
const EXAMPLES: &str = "\
Examples:
  shareddb serve --demo bookstore
  shareddb sql 'SELECT count(*) FROM item'

Any PostgreSQL client can connect: psql -h 127.0.0.1 -p 7432 -U shareddb shareddb
RUST_LOG=info (or debug) has the program say more on its standard error than warnings.";

/// A SQL server that runs a whole workload as one global plan
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve PostgreSQL clients until SIGTERM or SIGINT
    Serve(serve::ServeOptions),
    /// Load a workload, CSV or Parquet files into a running server
    Load(workloads::loading::LoadOptions),
    /// Run statements on a running server and print what they give
    Sql(sql::SqlOptions),
    /// Measure workloads, also against other systems
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// The command's examples, and those of its subcommands; `plain` are the commands that have none.
    fn examples(command: &clap::Command, found: &mut Vec<String>, plain: &mut Vec<String>) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines = help.lines().filter(|line| line.starts_with("  shareddb "));
        let own: Vec<String> = lines.map(|line| line.trim().to_owned()).collect();
        if own.is_empty() {
            plain.push(command.get_name().to_owned());
        }
        found.extend(own);
        command.get_subcommands().for_each(|inner| examples(inner, found, plain));
    }

    /// The words of a line, those within single quotes as one.
    fn words(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        for (at, part) in line.split('\'').enumerate() {
            match at % 2 {
                0 => words.extend(part.split_whitespace().map(str::to_owned)),
                _ => words.push(part.to_owned()),
            }
        }
        words
    }

    #[test]
    fn every_command_has_examples_that_it_takes() {
        let (mut found, mut plain) = (Vec::new(), Vec::new());
        examples(&Arguments::command(), &mut found, &mut plain);
        assert_eq!(plain, Vec::<String>::new(), "commands without examples");
        for example in found {
            let parsed = Arguments::try_parse_from(words(&example));
            assert!(parsed.is_ok(), "{example}: {}", parsed.expect_err("refused"));
        }
    }
}
