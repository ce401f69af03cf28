//! Analytical workloads against several systems: each is started, loaded, asked for answers, measured and stopped
//! before the next one starts, so that each has the machine's memory to itself.

mod answers;
mod experiment;
mod load;
mod measure;
mod memory;
mod order;
mod report;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::Failure;
use crate::dataset::Dataset;
use crate::peers::{
    AnalyticPeer, Packing, PeerOptions, SharedDb, SharedDbOptions, Sharing, System,
};
use crate::query::QueryMix;

pub use self::answers::Answers;
pub use self::experiment::{Bursts, Experiment, Point, Series, Shown};
pub use self::load::{DataFiles, LoadTimes, load, load_over_the_wire};
pub use self::measure::{Measured, best_connections, burst_of, measure_mix};
pub use self::report::{
    Axes, print_bursts, print_loads, print_loops, print_statements, write_figure,
};

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
    /// Also run SharedDB sharing every batch, whatever it predicts.
    #[arg(long)]
    pub always_sharing: bool,
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
    /// Seconds after which an answer is given up: a query of SharedDB fails, a peer takes no further part. What is
    /// expected to take longer is left out, of all systems.
    #[arg(long, default_value_t = 300.0)]
    pub patience: f64,
    /// GB that one system may take: beyond them it is ended.
    #[arg(long, default_value_t = 18.0)]
    pub memory_gb: f64,
    /// Seconds in which a loaded system's memory must not fall before it is noted: free pages go back to the kernel some
    /// seconds after a load, some of them later than others.
    #[arg(long, default_value_t = 12.0)]
    pub settle_seconds: f64,
    /// The program to measure (default: $SHAREDDB, else this one).
    #[arg(long)]
    pub server_binary: Option<PathBuf>,
    /// Further arguments of the server, separated by blanks.
    #[arg(long, allow_hyphen_values = true)]
    pub server_arguments: Option<String>,
    /// What every connection to SharedDB sets first.
    #[arg(long, value_delimiter = ',')]
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
    Own(Sharing),
    /// Somebody else.
    Peer(AnalyticPeer),
}

impl AnalyticOptions {
    /// Who is measured, in this order; the first one's answers are compared with the others'.
    pub fn contestants(&self) -> Vec<Contestant> {
        let own = [
            (!self.peers_only, Sharing::Automatic),
            (self.always_sharing, Sharing::Always),
            (self.no_sharing, Sharing::Never),
        ];
        let own = own.into_iter().filter(|(wanted, _)| *wanted);
        let peers = self.against.iter().map(|&peer| Contestant::Peer(peer));
        own.map(|(_, sharing)| Contestant::Own(sharing)).chain(peers).collect()
    }

    /// Whether a burst is expected to take longer than anybody wants to wait; says so.
    pub fn is_too_long(&self, name: &str, queries: usize, expected_ms_per_query: f64) -> bool {
        let seconds = queries as f64 * expected_ms_per_query / 1000.0;
        if seconds > self.patience {
            println!("  {name}: {queries} at once left out, they would take about {seconds:.0} s");
        }
        seconds > self.patience
    }

    /// Bytes that one system may take.
    pub fn memory_limit(&self) -> u64 {
        (self.memory_gb * 1e9) as u64
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
        // What an earlier run left would be recovered.
        self.clean(scratch);
        match contestant {
            Contestant::Own(sharing) => {
                Ok(Box::new(self.start_own((sharing, Packing::Automatic), scratch, cores)?))
            }
            Contestant::Peer(peer) => {
                let patience = Duration::from_secs_f64(self.patience);
                let python = self.python.as_deref();
                Ok(peer.start(scratch, PeerOptions { python, cores, patience })?)
            }
        }
    }

    /// Starts SharedDB with nothing in it. Others of ours may run beside it.
    pub fn start_own(
        &self,
        (sharing, packing): (Sharing, Packing),
        scratch: &Path,
        cores: Option<usize>,
    ) -> Result<SharedDb, Failure> {
        let timeout = format!("statement_timeout = {:.0}", self.patience * 1000.0);
        let arguments = self.server_arguments.iter().flat_map(|text| text.split_whitespace());
        let options = SharedDbOptions {
            sharing,
            packing,
            durable: !self.volatile,
            program: self.server_binary.clone(),
            arguments: arguments.map(str::to_owned).collect(),
            settings: std::iter::once(timeout).chain(self.set.iter().cloned()).collect(),
            cores,
        };
        let _ = std::fs::remove_dir_all(scratch.join(options.folder_name()));
        Ok(SharedDb::start_with(scratch, options)?)
    }

    /// Removes what systems that have stopped leave: as much as the database.
    pub fn clean(&self, scratch: &Path) {
        let own = [
            "shareddb",
            "shareddb-always-sharing",
            "shareddb-no-sharing",
            "shareddb-always-packing",
            "shareddb-no-packing",
        ];
        let peers = ["postgres", "duckdb", "hyper", "clickhouse", "datafusion"];
        for folder in own.into_iter().chain(peers) {
            // Most are not there.
            let _ = std::fs::remove_dir_all(scratch.join(folder));
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

    /// Starts, loads, checks and measures one system. `verify` finds differences of its own; `further` measures more.
    /// A system that fails on the way is reported with what it gave until then.
    pub fn measure(
        &mut self,
        contestant: Contestant,
        verify: impl Fn(&dyn System) -> Result<Vec<String>, Failure>,
        further: impl FnOnce(&mut Self, &dyn System, &mut Measured) -> Result<(), Failure>,
    ) -> Result<Measured, Failure> {
        let scratch = self.options.scratch_folder()?;
        let system = match self.options.start(contestant, &scratch, self.cores) {
            Ok(system) => system,
            Err(failure) => return Ok(never_started(contestant, &*failure)),
        };
        println!("\n{}", system.describe());
        let mut measured = Measured::new(&*system, self.mix);
        measured.is_peer = matches!(contestant, Contestant::Peer(_));
        let outcome = self
            .measure_running(&*system, &mut measured, verify)
            .and_then(|()| further(self, &*system, &mut measured));
        if let Err(failure) = outcome {
            let how = system.server().ended().map_or(String::new(), |how| format!("{how}: "));
            measured.failure = Some(format!("{how}{failure}"));
            println!("{} is not measured further: {how}{failure}", measured.name);
        }
        drop(system);
        self.options.clean(&scratch);
        Ok(measured)
    }

    fn measure_running(
        &mut self,
        system: &dyn System,
        measured: &mut Measured,
        verify: impl Fn(&dyn System) -> Result<Vec<String>, Failure>,
    ) -> Result<(), Failure> {
        let (options, mix) = (self.options, self.mix);
        measured.load = load(system, self.dataset, &mut self.files, options)?;
        let LoadTimes { seconds, peak_mb, resident_mb, .. } = measured.load;
        println!("loaded in {seconds:.1} s, {resident_mb:.0} MB resident, at most {peak_mb:.0} MB");
        measured.differences = verify(system)?;
        let at_once = if measured.is_peer { 1 } else { options.check_connections };
        measured.differences.extend(self.answers.compare(system, at_once)?);
        if measured.is_peer {
            measured.connections = Some(best_connections(options, system, mix)?);
        }
        measure_mix(options, system, mix, measured)?;
        measured.differences.extend(system.differences()?);
        Ok(())
    }
}

/// A system that could not be started, for the report.
fn never_started(
    contestant: Contestant,
    failure: &(dyn std::error::Error + Send + Sync),
) -> Measured {
    let name = match contestant {
        Contestant::Own(_) => "SharedDB".to_owned(),
        Contestant::Peer(peer) => format!("{peer:?}"),
    };
    println!("{name} does not start: {failure}");
    let is_peer = matches!(contestant, Contestant::Peer(_));
    Measured { name, is_peer, failure: Some(failure.to_string()), ..Measured::default() }
}

/// An error when one of our own servers failed, or when there was nothing to measure at all: some peers may fail.
pub fn failures(measured: &[Measured]) -> Result<(), Failure> {
    let nobody = measured.iter().all(|system| system.load.rows == 0);
    let mut counted = measured.iter().filter(|system| nobody || !system.is_peer);
    match counted.find_map(|system| system.failure.as_ref()) {
        Some(failure) => Err(failure.clone().into()),
        None => Ok(()),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn system(is_peer: bool, rows: u64, failure: Option<&str>) -> Measured {
        let load = LoadTimes { rows, ..LoadTimes::default() };
        Measured { is_peer, load, failure: failure.map(str::to_owned), ..Measured::default() }
    }

    #[test]
    fn a_run_fails_with_its_own_server_or_with_all_peers() {
        let (own, peer) = (system(false, 6, None), system(true, 0, Some("no Python")));
        let failed = |measured: &[Measured]| failures(measured).map_err(|why| why.to_string());
        assert_eq!(failed(&[own.clone(), peer.clone()]), Ok(()));
        assert_eq!(failed(&[peer.clone(), system(true, 6, None)]), Ok(()));
        assert_eq!(failed(&[system(true, 6, Some("too slow"))]), Ok(()));
        assert_eq!(failed(&[peer.clone(), peer]), Err("no Python".to_owned()));
        assert_eq!(failed(&[own, system(false, 6, Some("gone"))]), Err("gone".to_owned()));
    }
}
