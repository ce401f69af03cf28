//! Analytical workloads against several systems: each is started, loaded, asked for answers, measured and stopped
//! before the next one starts, so that each has the machine's memory to itself.

mod answers;
mod load;
mod measure;
mod report;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Failure;
use crate::dataset::Dataset;
use crate::peers::{AnalyticPeer, SharedDb, SharedDbOptions, System};
use crate::query::QueryMix;

pub use self::answers::Answers;
pub use self::load::{DataFiles, LoadTimes, load, load_over_the_wire};
pub use self::measure::{Measured, best_connections, burst, burst_of, measure_mix};
pub use self::report::{print_bursts, print_loops, print_statements, write_figure};

/// Options of all analytical benchmarks.
#[derive(Clone, Debug, clap::Args)]
pub struct AnalyticOptions {
    /// Concurrent clients to measure with.
    #[arg(long, value_delimiter = ',', default_value = "1,16,64,256,1024")]
    pub concurrency: Vec<usize>,
    /// Queries submitted all at once.
    #[arg(long, value_delimiter = ',', default_value = "1024")]
    pub at_once: Vec<usize>,
    /// Seconds measured per run.
    #[arg(long, default_value_t = 10.0)]
    pub seconds: f64,
    /// Peers to run as well, one after the other.
    #[arg(long, value_enum, value_delimiter = ',')]
    pub against: Vec<AnalyticPeer>,
    /// Also run SharedDB query at a time.
    #[arg(long)]
    pub no_sharing: bool,
    /// Do not run SharedDB with sharing.
    #[arg(long)]
    pub peers_only: bool,
    /// Connections that peers are tried with; each is measured at its best.
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8,16")]
    pub connections: Vec<usize>,
    /// Draws per template whose answers are compared with those of the first system, row by row.
    #[arg(long, default_value_t = 3)]
    pub check: usize,
    /// Connections that SharedDB is asked over for these answers, all at once, so that it answers in batches.
    #[arg(long, default_value_t = 64)]
    pub check_connections: usize,
    /// Only these templates (Q1.1,Q3.2,...).
    #[arg(long, value_delimiter = ',')]
    pub template: Vec<String>,
    /// Not these templates.
    #[arg(long, value_delimiter = ',')]
    pub except: Vec<String>,
    /// The program to measure (default: $SHAREDDB, else this one).
    #[arg(long)]
    pub server_binary: Option<PathBuf>,
    /// Further arguments of the server, separated by blanks.
    #[arg(long, allow_hyphen_values = true)]
    pub server_arguments: Option<String>,
    /// What every connection to SharedDB sets first. A query without end would stop the benchmark.
    #[arg(long, value_delimiter = ',', default_value = "statement_timeout = 60000")]
    pub set: Vec<String>,
    /// Start the server without a log on disk.
    #[arg(long)]
    pub volatile: bool,
    /// The Python that has the peers' packages (default: $SHAREDDB_PEERS_PYTHON, else target/peers/bin/python3).
    #[arg(long)]
    pub python: Option<PathBuf>,
    /// Where the results go as JSON.
    #[arg(long)]
    pub json: Option<PathBuf>,
    /// Where the figures go.
    #[arg(long, default_value = "target/bench")]
    pub output: PathBuf,
    /// Where servers keep their data during the run (default: a folder below the output's).
    #[arg(long)]
    pub scratch: Option<PathBuf>,
    /// Of all random numbers.
    #[arg(long, default_value_t = 20_130_826)]
    pub seed: u64,
}

/// One system to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contestant {
    /// SharedDB.
    Shared,
    /// SharedDB, query at a time.
    NoSharing,
    /// Somebody else.
    Peer(AnalyticPeer),
}

impl AnalyticOptions {
    /// Who is measured, in this order; the first one's answers are compared with the others'.
    pub fn contestants(&self) -> Vec<Contestant> {
        let shared = (!self.peers_only).then_some(Contestant::Shared);
        let alone = self.no_sharing.then_some(Contestant::NoSharing);
        let peers = self.against.iter().map(|&peer| Contestant::Peer(peer));
        shared.into_iter().chain(alone).chain(peers).collect()
    }

    /// The folder for data, made and readable by other users.
    pub fn scratch_folder(&self) -> Result<PathBuf, Failure> {
        std::fs::create_dir_all(&self.output)?;
        let folder = self.scratch.clone().unwrap_or_else(|| self.output.join("scratch"));
        let folder = std::path::absolute(folder)?;
        std::fs::create_dir_all(&folder)?;
        super::open_to_all(&folder)?;
        Ok(folder)
    }

    /// Starts a system with nothing in it, on so many cores (`None` for all).
    pub fn start(
        &self,
        contestant: Contestant,
        scratch: &Path,
        cores: Option<usize>,
    ) -> Result<Box<dyn System>, Failure> {
        let sharing = match contestant {
            Contestant::Shared => true,
            Contestant::NoSharing => false,
            Contestant::Peer(peer) => {
                return Ok(peer.start(scratch, self.python.as_deref(), cores)?);
            }
        };
        let arguments = self.server_arguments.iter().flat_map(|text| text.split_whitespace());
        let options = SharedDbOptions {
            sharing,
            durable: !self.volatile,
            program: self.server_binary.clone(),
            arguments: arguments.map(str::to_owned).collect(),
            settings: self.set.clone(),
            cores,
        };
        // What an earlier run left would be recovered.
        self.clean(scratch);
        Ok(Box::new(SharedDb::start_with(scratch, options)?))
    }

    /// Removes what systems that have stopped leave: as much as the database.
    pub fn clean(&self, scratch: &Path) {
        for folder in ["shareddb", "shareddb-no-sharing", "postgres"] {
            // Most are not there.
            let _ = std::fs::remove_dir_all(scratch.join(folder));
        }
        for library in ["duckdb", "hyper", "clickhouse", "datafusion"] {
            let _ = std::fs::remove_dir_all(scratch.join(library));
        }
    }

    /// The names of the templates asked for.
    pub fn select<'m>(&self, mix: &'m dyn QueryMix) -> Result<Vec<&'m str>, Failure> {
        let known: Vec<&str> = mix.statements().iter().map(|s| s.name.as_str()).collect();
        let mut named = self.template.iter().chain(&self.except);
        if let Some(name) = named.find(|name| !known.contains(&name.as_str())) {
            return Err(format!("no template {name}; there are {}", known.join(", ")).into());
        }
        let contains = |names: &[String], name: &str| names.iter().any(|named| named == name);
        let wanted = |name: &&str| {
            (self.template.is_empty() || contains(&self.template, name))
                && !contains(&self.except, name)
        };
        let names: Vec<&str> = known.into_iter().filter(wanted).collect();
        if names.is_empty() {
            return Err("no template is left".into());
        }
        Ok(names)
    }
}

/// A system that still runs, and what it showed.
pub type Running = (Box<dyn System>, Measured);

/// What all systems of a run have in common.
pub struct Contest<'a> {
    /// The options.
    pub options: &'a AnalyticOptions,
    /// What is loaded.
    pub dataset: &'a dyn Dataset,
    /// The same as files.
    pub files: DataFiles,
    /// What is asked.
    pub mix: &'a dyn QueryMix,
    /// The first system's answers.
    pub answers: Answers,
    /// Cores that each system may use; `None` for all.
    pub cores: Option<usize>,
}

impl<'a> Contest<'a> {
    /// Nothing is started yet; `name` is the folder of the dataset's files.
    pub fn new(
        options: &'a AnalyticOptions,
        name: &str,
        dataset: &'a dyn Dataset,
        mix: &'a dyn QueryMix,
    ) -> Result<Contest<'a>, Failure> {
        let files = DataFiles::new(options.scratch_folder()?.join(name));
        let answers = Answers::draw(mix, options.check, options.seed);
        Ok(Contest { options, dataset, files, mix, answers, cores: None })
    }

    /// Starts, loads, checks and measures one system; leaves it running for further figures. `verify` finds
    /// differences of its own. `None` is a peer that could not be measured: the others' figures are not lost.
    pub fn measure(
        &mut self,
        contestant: Contestant,
        verify: impl Fn(&dyn System) -> Result<Vec<String>, Failure>,
    ) -> Result<Option<Running>, Failure> {
        match (contestant, self.try_measure(contestant, verify)) {
            (Contestant::Peer(peer), Err(failure)) => {
                println!("{peer:?} is left out: {failure}");
                Ok(None)
            }
            (_, outcome) => outcome.map(Some),
        }
    }

    fn try_measure(
        &mut self,
        contestant: Contestant,
        verify: impl Fn(&dyn System) -> Result<Vec<String>, Failure>,
    ) -> Result<Running, Failure> {
        let (options, mix) = (self.options, self.mix);
        let system = options.start(contestant, &options.scratch_folder()?, self.cores)?;
        println!("\n{}", system.describe());
        let times = load(&*system, self.dataset, &mut self.files)?;
        println!("loaded in {:.1} s, {:.0} MB resident", times.seconds, times.resident_mb);
        let is_peer = matches!(contestant, Contestant::Peer(_));
        let mut differences = verify(&*system)?;
        let at_once = if is_peer { 1 } else { options.check_connections };
        differences.extend(self.answers.compare(&*system, at_once)?);
        let connections =
            if is_peer { Some(best_connections(options, &*system, mix)?) } else { None };
        let mut measured = measure_mix(options, &*system, mix, connections)?;
        measured.load = times;
        measured.differences = differences;
        Ok((system, measured))
    }
}

/// The record of a run.
pub fn record(options: &AnalyticOptions, workload: &str, measured: &[Measured]) -> Value {
    json!({
        "workload": workload, "seed": options.seed,
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "systems": measured.iter().map(Measured::json).collect::<Vec<_>>(),
    })
}
