//! Full sharing, packs and query at a time side by side: "Cache-aware batch sharing", section 6.2.
//!
//! The servers differ in `serve --packing` and `--sharing` alone; each in turn is started, loaded and asked.

use super::figures::FigureKind;
use crate::bench::Failure;
use crate::bench::analytic::{AnalyticOptions, DataFiles, Experiment, Measured, load};
use crate::dataset::Dataset;
use crate::peers::{Packing, Sharing, System};

/// The choices besides the server's own.
const CHOICES: [(Sharing, Packing); 3] = [
    (Sharing::Automatic, Packing::Never),
    (Sharing::Automatic, Packing::Always),
    (Sharing::Never, Packing::Automatic),
];

/// Measures the experiments that packing is about; those who are measured anyway are left out.
pub fn measure(
    options: &AnalyticOptions,
    most: usize,
    dataset: &dyn Dataset,
    cores: Option<usize>,
) -> Result<Vec<Measured>, Failure> {
    let scratch = options.scratch_folder()?;
    let experiments = FigureKind::WorkingSets.experiments(most, options.seed);
    let mut all = Vec::new();
    let wanted =
        |(sharing, _): &(Sharing, Packing)| !options.no_sharing || *sharing != Sharing::Never;
    for choice in CHOICES.into_iter().filter(wanted) {
        let system = options.start_own(choice, &scratch, cores)?;
        println!("\n{}", system.describe());
        let mut files = DataFiles::new(scratch.join("packing"));
        load(&system, dataset, &mut files, options)?;
        let mut measured = Measured { name: system.name().to_owned(), ..Measured::default() };
        for experiment in &experiments {
            Experiment::measure(experiment, options, &system, &mut measured)?;
        }
        all.push(measured);
        drop(system);
        options.clean(&scratch);
    }
    Ok(all)
}
