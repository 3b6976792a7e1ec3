//! Attention patterns as files, one of them in memory at a time.

use super::tables::{Field, write_csv};
use super::views::Scene;
use super::{ExportError, write_json, write_npy, write_tensors};
use crate::capture::{Capture, MASKED, NOT_AVAILABLE, PatternOf, Shaping};
use serde::Serialize;
use std::ops::Range;
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

/// A pattern as JSON.
#[derive(Debug, Serialize)]
struct PatternReport<'a> {
    model: &'a str,
    sha256: &'a str,
    /// None of the model's mean.
    layer: Option<usize>,
    /// None of a mean.
    head: Option<usize>,
    /// Keys whose columns were left out.
    hidden_keys: &'a [usize],
    /// Whether each row's other weights were divided by their sum.
    renormalised: bool,
    /// The whole text.
    tokens: Vec<String>,
    /// The query of each row.
    queries: Range<usize>,
    /// Key of the first weight of each row: the first of the part that the query sees.
    first_key: Vec<usize>,
    /// A weight for each key from there on that the query sees; null where there is none to tell.
    weights: Vec<Vec<Option<f32>>>,
}

/// A pattern, or a part of it, as numbers.
struct Source<'a> {
    capture: &'a Capture,
    of: PatternOf,
    shaping: Shaping,
    rows: Range<usize>,
    keys: Range<usize>,
}

impl<'a> Source<'a> {
    /// All of a pattern as it is.
    fn plain(capture: &'a Capture, of: PatternOf) -> Self {
        let n = capture.len();
        Self { capture, of, shaping: Shaping::default(), rows: 0..n, keys: 0..n }
    }

    /// Weights `[rows, keys]`, masked where a query can't see a key.
    fn rows(&self, queries: &[usize]) -> Vec<f32> {
        self.capture.weights(self.of, &self.shaping, queries, self.keys.clone())
    }

    /// The keys of the part that a query sees.
    fn seen(&self, query: usize) -> Range<usize> {
        let seen = self.capture.visible_keys_of(self.of, query);
        let start = seen.start.clamp(self.keys.start, self.keys.end);
        start..seen.end.clamp(start, self.keys.end)
    }

    fn of(&self) -> PatternOf {
        self.of
    }

    fn shape(&self) -> [usize; 2] {
        [self.rows.len(), self.keys.len()]
    }

    /// Everything: masked cells are zeros, cells without a value NaN.
    fn dense(&self) -> Vec<f32> {
        let queries: Vec<usize> = self.rows.clone().collect();
        let mut weights = self.rows(&queries);
        weights.iter_mut().for_each(|weight| *weight = in_tensor(*weight));
        weights
    }

    fn csv(&self, path: &Path) -> Result<(), ExportError> {
        let row = |query: usize| {
            let fields = self.rows(&[query]).into_iter().map(in_table);
            std::iter::once(Field::Count(query)).chain(fields).collect()
        };
        let keys = self.keys.clone().map(|key| key.to_string());
        let header: Vec<String> = std::iter::once("query".to_owned()).chain(keys).collect();
        write_csv(path, &header, self.rows.clone().map(row))
    }

    fn json(&self, path: &Path) -> Result<(), ExportError> {
        let row = |query: usize| {
            let (seen, first) = (self.seen(query), self.keys.start);
            let weights = self.rows(&[query]);
            let told = |weight: &f32| (*weight >= 0.0).then_some(*weight);
            weights[seen.start - first..seen.end - first].iter().map(told).collect()
        };
        let (layer, head) = match self.of {
            PatternOf::Head { layer, head } => (Some(layer), Some(head)),
            PatternOf::LayerMean(layer) => (Some(layer), None),
            PatternOf::ModelMean => (None, None),
        };
        let report = PatternReport {
            model: &self.capture.model.name,
            sha256: &self.capture.model.sha256,
            layer,
            head,
            hidden_keys: &self.shaping.hidden,
            renormalised: self.shaping.renormalised,
            tokens: self.capture.tokens.tokens.iter().map(crate::model::tokenizer::Token::text).collect(),
            queries: self.rows.clone(),
            first_key: self.rows.clone().map(|query| self.seen(query).start).collect(),
            weights: self.rows.clone().map(row).collect(),
        };
        write_json(path, &report)
    }
}

/// What a pattern is called among tensors.
pub(super) fn name_of(of: PatternOf) -> String {
    match of {
        PatternOf::Head { layer, head } => format!("l{layer}h{head}"),
        PatternOf::LayerMean(layer) => format!("l{layer}mean"),
        PatternOf::ModelMean => "mean".to_owned(),
    }
}

/// A value of a tensor: masked cells are exact zeros, as in every framework; what has no value is NaN.
pub(super) fn in_tensor(value: f32) -> f32 {
    match value {
        MASKED => 0.0,
        NOT_AVAILABLE => f32::NAN,
        value => value,
    }
}

/// A value of a table: nothing where there is none.
pub(super) fn in_table(value: f32) -> Field {
    if value == MASKED || value == NOT_AVAILABLE { Field::Empty } else { Field::F32(value) }
}

/// Writes the patterns of some `(layer, head)` pairs in the format that the path's extension names. In tensors
/// and arrays masked cells are exact zeros, as in every framework; in CSV they are empty.
///
/// # Errors
/// The extension is unknown, there is no such head, the capture has no patterns, or the file can't be written.
pub fn write_patterns(path: &Path, capture: &Capture, pairs: &[(usize, usize)]) -> Result<(), ExportError> {
    if !capture.has_patterns() {
        return Err(ExportError::NoPatterns);
    }
    let (layers, heads) = (capture.layers.len(), capture.model.spec.heads);
    if let Some(&(layer, head)) = pairs.iter().find(|(layer, head)| *layer >= layers || *head >= heads) {
        return Err(ExportError::NoSuchHead { layer, head, layers, heads });
    }
    let of = |&(layer, head): &(usize, usize)| Source::plain(capture, PatternOf::Head { layer, head });
    write_sources(path, &pairs.iter().map(of).collect::<Vec<_>>())
}

/// Writes one pattern as the scene shows it: its part, without its hidden keys.
///
/// # Errors
/// The extension is unknown, there is no such pattern, or the file can't be written.
pub(super) fn write_pattern(path: &Path, scene: &Scene<'_>, of: PatternOf) -> Result<(), ExportError> {
    scene.check(of)?;
    let n = scene.capture.len();
    let (rows, keys) = scene.part(n);
    write_sources(path, &[Source { capture: scene.capture, of, shaping: scene.shaping(), rows, keys }])
}

fn write_sources(path: &Path, sources: &[Source<'_>]) -> Result<(), ExportError> {
    let dense = |source| move || Source::dense(source);
    match (PatternFormat::of(path)?, sources) {
        (PatternFormat::Safetensors, _) => {
            let named = |source| (name_of(Source::of(source)), Source::shape(source).to_vec(), dense(source));
            write_tensors(path, sources.iter().map(named).collect())
        }
        (PatternFormat::Npy, [first, ..]) => {
            write_npy(path, first.shape(), &sources.iter().map(dense).collect::<Vec<_>>())
        }
        (PatternFormat::Csv, [one]) => one.csv(path),
        (PatternFormat::Json, [one]) => one.json(path),
        (_, many) => Err(ExportError::OneHeadOnly { heads: many.len(), path: path.to_owned() }),
    }
}
