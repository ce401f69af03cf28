//! Each interaction by itself: the most of it that a system serves (figure 9 of "SharedDB: killing one thousand queries with one
//! stone").

use serde_json::{Value, json};

use super::mixes::most;
use super::{BookstoreOptions, Systems};
use crate::bench::Failure;
use crate::bookstore::{Interaction, Pages, Scale};
use crate::report::Table;

/// Measures them; a table, since pages have no order.
pub fn draw(
    options: &BookstoreOptions,
    systems: &mut Systems,
    scale: Scale,
) -> Result<Value, Failure> {
    let served = systems.on_each(|system| {
        let each = Interaction::ALL.into_iter().map(|interaction| {
            let (connections, served) = most(options, system, scale, Pages::Only(interaction))?;
            Ok((interaction, connections, served))
        });
        each.collect::<Result<Vec<_>, Failure>>()
    })?;
    let names: Vec<String> =
        systems.running.iter().map(|system| system.name().to_owned()).collect();
    let mut heading = vec!["interactions/s"];
    heading.extend(names.iter().map(String::as_str));
    let mut table = Table::new(&heading);
    for (number, interaction) in Interaction::ALL.into_iter().enumerate() {
        let cells = served.iter().map(|each| format!("{:.0}", each[number].2));
        table.row(std::iter::once(format!("{interaction:?}")).chain(cells));
    }
    println!("\nEach interaction by itself\n{table}");
    let by_page = |each: &Vec<(Interaction, usize, f64)>| -> Value {
        let pages = each.iter().map(|(interaction, connections, served)| {
            let page = json!({"connections": connections, "per_second": served});
            (format!("{interaction:?}"), page)
        });
        pages.collect()
    };
    Ok(names.into_iter().zip(served.iter().map(by_page)).collect())
}
