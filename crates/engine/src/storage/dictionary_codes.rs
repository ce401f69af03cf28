//! Strings of rows as codes of their column's dictionary. Called by [`super::TableView`] for groupings, which need not read
//! a string to know which rows have the same.

use super::gather::{Position, PositionRun};
use super::{ColumnSlice, Dictionary, Nulls, each_width};
use crate::types::ColumnId;

/// Rows of chunks whose strings are plain, as a share of all rows: beyond it reading all strings costs about as much.
const FEW: usize = 4;

/// The code of each row, all below the number that comes second; `None` where a row is NULL or has no code, the dictionary has
/// more strings than `most`, or many rows are in chunks that the table's writer gave no codes, as it does while a column does
/// not seem to repeat its strings.
pub(super) fn dictionary_codes<'a, P, R>(
    runs: impl Fn() -> R,
    rows: usize,
    column: ColumnId,
    most: usize,
) -> Option<(Vec<u32>, usize)>
where
    P: Position + 'a,
    R: Iterator<Item = PositionRun<'a, P>>,
{
    let dictionary = runs().find_map(|run| dictionary(run.chunk?.column(column)));
    let dictionary = dictionary.filter(|dictionary| dictionary.len() <= most)?;
    let (mut out, mut plain) = (Vec::with_capacity(rows), 0);
    for PositionRun { chunk, positions } in runs() {
        match chunk?.column(column) {
            ColumnSlice::Codes(codes, _, Nulls::None) => {
                each_width!(codes, codes => append(codes, positions, &mut out));
            }
            ColumnSlice::Strings(strings, Nulls::None) => {
                plain += positions.len();
                if plain * FEW > rows {
                    return None;
                }
                for position in positions {
                    out.push(dictionary.code(strings.text(position.offset()))?);
                }
            }
            _ => return None,
        }
    }
    // Read after the chunks: their codes lie below, whatever is added meanwhile.
    Some((out, dictionary.len())).filter(|(_, length)| *length <= most)
}

/// A column of a table has one at most.
fn dictionary(slice: ColumnSlice<'_>) -> Option<&Dictionary> {
    match slice {
        ColumnSlice::Codes(_, dictionary, _) => Some(dictionary),
        _ => None,
    }
}

fn append<C: Copy + Into<u32>, P: Position>(codes: &[C], positions: &[P], out: &mut Vec<u32>) {
    out.extend(positions.iter().map(|position| codes[position.offset()].into()));
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::twin::stored_table;
    use super::super::{CHUNK_ROWS, ColumnSlice};
    use crate::types::{ColumnId, DataType, Location, Value, Version};

    /// So many strings that a column does not seem to repeat them after one chunk, and does after two.
    const STRINGS: usize = 1_000;

    #[test]
    fn a_chunk_of_plain_strings_has_codes_too_where_others_have_them() {
        let (store, table) = stored_table(&[DataType::Varchar(9)]);
        let text = |row: usize| Value::Text(format!("{}", row * 7 % STRINGS).into());
        let rows: Vec<_> = (0..5 * CHUNK_ROWS).map(|row| [text(row)]).collect();
        table.insert_rows(&rows, Version(2));
        store.publish(Version(2));
        let view = table.view(Version(2));
        let column = ColumnId(0);
        let is_plain = |chunk| matches!(view.chunk(chunk).column(column), ColumnSlice::Strings(..));
        let chunks: Vec<_> = view.chunks().iter().map(|chunk| chunk.0).collect();
        let plain = chunks.iter().filter(|chunk| is_plain(**chunk)).count();
        assert_eq!((plain, chunks.len()), (1, 5));
        let locations: Vec<Location> = chunks
            .iter()
            .flat_map(|&chunk| (0..CHUNK_ROWS as u32).map(move |offset| Location { chunk, offset }))
            .collect();
        // The empty string has a code of its own.
        let most = STRINGS + 1;
        let codes = view.dictionary_codes(column, &locations, most);
        let (codes, count) = codes.expect("most rows have codes");
        assert_eq!(count, most);
        let mut strings = HashMap::new();
        for (&code, &location) in codes.iter().zip(&locations) {
            let string = view.cell(column, location).to_owned();
            assert_eq!(*strings.entry(code).or_insert(string.clone()), string);
        }
        assert_eq!(strings.len(), STRINGS);
        // One of three chunks is too many, and so are more strings than asked for.
        assert!(view.dictionary_codes(column, &locations[..3 * CHUNK_ROWS], most).is_none());
        assert!(view.dictionary_codes(column, &locations, most - 1).is_none());
    }
}
