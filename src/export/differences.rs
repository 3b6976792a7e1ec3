//! Differences of patterns as files: a row and a column for each entry of the alignment.

use super::patterns::{in_table, in_tensor, name_of};
use super::tables::{Field, write_csv};
use super::views::{Scene, minuend_and_subtrahend};
use super::{ExportError, PatternFormat, write_json, write_npy, write_tensors};
use crate::capture::{AlignBy, Difference, NOT_AVAILABLE, PatternOf, TileArea};
use crate::progress::CancelToken;
use serde::Serialize;
use std::ops::Range;
use std::path::Path;

/// The difference of two patterns as JSON.
#[derive(Debug, Serialize)]
struct DifferenceReport {
    model: String,
    sha256: String,
    minus: MinusReport,
    /// For each entry of the axes its position in the first and in the second text.
    entries: Vec<(Option<usize>, Option<usize>)>,
    tokens: Vec<String>,
    rows: Range<usize>,
    columns: Range<usize>,
    /// First weight less second; null where neither sees the key, or the cell is in one run only.
    differences: Vec<Vec<Option<f32>>>,
}

#[derive(Debug, Serialize)]
struct MinusReport {
    model: String,
    sha256: String,
    a: String,
    b: String,
}

/// Writes the difference of two patterns, its part if one is chosen: a row and a column for each entry of the
/// alignment.
///
/// # Errors
/// The extension is unknown, there is no such pattern, or the file can't be written.
pub(super) fn write_difference(
    path: &Path,
    scene: &Scene<'_>,
    (a, b): (PatternOf, PatternOf),
    by: AlignBy,
) -> Result<(), ExportError> {
    let pair = minuend_and_subtrahend(scene, a, b, by)?;
    let (rows, keys) = scene.part(pair.alignment.len());
    let values = |rows: Range<usize>| {
        let max_side = pair.alignment.len().max(1);
        let area = TileArea { rows, keys: keys.clone(), max_side, sketch: false };
        // Nobody can raise a token that nobody else has.
        let tile = Difference::tile_between(pair.a, pair.b, &pair.alignment, &area, &CancelToken::new());
        tile.map(|tile| tile.values).unwrap_or_default()
    };
    let dense = || values(rows.clone()).into_iter().map(in_tensor).collect::<Vec<f32>>();
    match PatternFormat::of(path)? {
        PatternFormat::Safetensors => {
            write_tensors(path, vec![("difference".to_owned(), vec![rows.len(), keys.len()], dense)])
        }
        PatternFormat::Npy => write_npy(path, [rows.len(), keys.len()], &[dense]),
        PatternFormat::Csv => {
            let labels = pair.alignment.labels(&pair.a.0.tokens, &pair.b.0.tokens);
            let position = |entry: usize| labels[entry].position.clone();
            let header =
                std::iter::once("query".to_owned()).chain(keys.clone().map(position)).collect::<Vec<_>>();
            let row = |row: usize| {
                let fields = values(row..row + 1).into_iter().map(in_table);
                std::iter::once(Field::Text(position(row))).chain(fields).collect()
            };
            write_csv(path, &header, rows.clone().map(row))
        }
        PatternFormat::Json => {
            let (here, there) = (&pair.a.0.model, &pair.b.0.model);
            let labels = pair.alignment.labels(&pair.a.0.tokens, &pair.b.0.tokens);
            let told = |value: f32| (value > NOT_AVAILABLE).then_some(value);
            let row = |row: usize| values(row..row + 1).into_iter().map(told).collect();
            write_json(
                path,
                &DifferenceReport {
                    model: here.name.clone(),
                    sha256: here.sha256.clone(),
                    minus: MinusReport {
                        model: there.name.clone(),
                        sha256: there.sha256.clone(),
                        a: name_of(pair.a.1),
                        b: name_of(pair.b.1),
                    },
                    entries: pair.alignment.pairs.clone(),
                    tokens: labels.into_iter().map(|label| label.token).collect(),
                    differences: rows.clone().map(row).collect(),
                    rows,
                    columns: keys.clone(),
                },
            )
        }
    }
}
