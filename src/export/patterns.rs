//! Attention patterns as files, one of them in memory at a time.

use super::tables::{Field, write_csv};
use super::{ExportError, write_json, write_npy, write_tensors};
use crate::capture::{Capture, MASKED, PatternOf, Shaping};
use serde::Serialize;
use std::path::Path;

/// Formats of patterns, told apart by the file's extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternFormat {
    /// Tensors `l{L}h{H}`, `[n, n]` f32.
    Safetensors,
    /// One array, `[n, n]` of one head, else `[heads, n, n]` in the order asked for.
    Npy,
    /// A row a query, a column a key; of one head.
    Csv,
    /// Rows of weights as far as each query sees; of one head.
    Json,
}

impl PatternFormat {
    /// The format that a file's name asks for.
    ///
    /// # Errors
    /// [`ExportError::UnknownPatternFormat`].
    pub fn of(path: &Path) -> Result<Self, ExportError> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        Ok(match extension.as_deref() {
            Some("safetensors") => Self::Safetensors,
            Some("npy") => Self::Npy,
            Some("csv") => Self::Csv,
            Some("json") => Self::Json,
            _ => return Err(ExportError::UnknownPatternFormat { path: path.to_owned() }),
        })
    }
}

/// One head's pattern as JSON.
#[derive(Debug, Serialize)]
struct PatternReport<'a> {
    model: &'a str,
    sha256: &'a str,
    layer: usize,
    head: usize,
    tokens: Vec<String>,
    /// Key of the first weight of each row: 0 but in local layers.
    first_key: Vec<usize>,
    /// Row `t` has a weight for each key from its first to `t`; null where it is not a number.
    weights: Vec<Vec<f32>>,
}

/// Writes the patterns of some `(layer, head)` pairs in the format that the path's extension names. In tensors
/// and arrays masked cells are exact zeros, as in every framework; in CSV they are empty.
///
/// # Errors
/// The extension is unknown, there is no such head, the capture has no patterns, or the file can't be written.
pub fn write_patterns(path: &Path, capture: &Capture, pairs: &[(usize, usize)]) -> Result<(), ExportError> {
    let format = PatternFormat::of(path)?;
    if !capture.has_patterns() {
        return Err(ExportError::NoPatterns);
    }
    let (layers, heads) = (capture.layers.len(), capture.model.spec.heads);
    if let Some(&(layer, head)) = pairs.iter().find(|(layer, head)| *layer >= layers || *head >= heads) {
        return Err(ExportError::NoSuchHead { layer, head, layers, heads });
    }
    let n = capture.len();
    let dense = |(layer, head): (usize, usize)| {
        move || {
            let queries: Vec<usize> = (0..n).collect();
            let mut weights = rows(capture, (layer, head), &queries);
            weights.iter_mut().filter(|weight| **weight == MASKED).for_each(|weight| *weight = 0.0);
            weights
        }
    };
    match (format, pairs) {
        (PatternFormat::Safetensors, _) => {
            let named = |&(layer, head)| (format!("l{layer}h{head}"), vec![n, n], dense((layer, head)));
            write_tensors(path, pairs.iter().map(named).collect())
        }
        (PatternFormat::Npy, _) => {
            write_npy(path, [n, n], &pairs.iter().copied().map(dense).collect::<Vec<_>>())
        }
        (PatternFormat::Csv, &[head]) => pattern_csv(path, capture, head),
        (PatternFormat::Json, &[head]) => pattern_json(path, capture, head),
        (PatternFormat::Csv | PatternFormat::Json, many) => {
            Err(ExportError::OneHeadOnly { heads: many.len(), path: path.to_owned() })
        }
    }
}

/// Weights `[queries, n]` of one head, masked where a query can't see a key.
fn rows(capture: &Capture, (layer, head): (usize, usize), queries: &[usize]) -> Vec<f32> {
    capture.weights(PatternOf::Head { layer, head }, &Shaping::default(), queries, 0..capture.len())
}

fn pattern_csv(path: &Path, capture: &Capture, head: (usize, usize)) -> Result<(), ExportError> {
    let n = capture.len();
    let header: Vec<String> =
        std::iter::once("query".to_owned()).chain((0..n).map(|key| key.to_string())).collect();
    let row = |query: usize| {
        let weights = rows(capture, head, &[query]);
        let fields = weights.into_iter().map(|w| if w == MASKED { Field::Empty } else { Field::F32(w) });
        std::iter::once(Field::Count(query)).chain(fields).collect()
    };
    write_csv(path, &header, (0..n).map(row))
}

fn pattern_json(path: &Path, capture: &Capture, (layer, head): (usize, usize)) -> Result<(), ExportError> {
    let n = capture.len();
    let seen = |query: usize| capture.visible_keys(layer, query);
    let report = PatternReport {
        model: &capture.model.name,
        sha256: &capture.model.sha256,
        layer,
        head,
        tokens: capture.tokens.tokens.iter().map(crate::model::tokenizer::Token::text).collect(),
        first_key: (0..n).map(|query| seen(query).start).collect(),
        weights: (0..n).map(|query| rows(capture, (layer, head), &[query])[seen(query)].to_vec()).collect(),
    };
    write_json(path, &report)
}
