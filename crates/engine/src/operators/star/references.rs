//! What rows that are left refer to, in the dimensions by which somebody groups: kinds where the batch's star tells them
//! apart, else places. From either a grouping's codes are looked up ([`super::group_numbers`]), from kinds without waiting
//! for memory.

use super::Star;
use super::by_place::each_number;
use super::key_places::{ChunkPart, PartPlaces, append_places};
use super::narrow::Survivors;

/// Appends what rows of a part refer to in one root. Of `places` serves what was looked up for the whole part.
pub(super) fn append_references(
    star: &Star,
    root: usize,
    part: &ChunkPart<'_>,
    survivors: &Survivors,
    places: &PartPlaces,
    out: &mut Vec<u32>,
) {
    let (first, kinds) = (out.len(), star.grouped_kinds(root));
    let positions = survivors.positions.iter().map(|&position| position as usize);
    let has_positions = !survivors.positions.is_empty();
    if let (true, Some(_), Some(known)) = (has_positions, kinds, places.kinds_of(root)) {
        return out.extend(positions.map(|position| u32::from(known[position])));
    }
    match places.of(root).filter(|_| has_positions) {
        Some(known) => out.extend(positions.map(|position| known[position])),
        None => {
            let (outer, dimension) = star.roots[root];
            let range = star.dimensions[dimension].range;
            append_places(&part.chunk.column(outer), &survivors.rows, range, out);
        }
    }
    if let Some(kinds) = kinds {
        each_number!(&kinds.by_place, kind => {
            out[first..].iter_mut().for_each(|reference| *reference = kind(*reference))
        });
    }
}
