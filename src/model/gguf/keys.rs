//! Typed access to an architecture's keys, which remembers what was asked for and what was not said.

use super::{GgufHeader, GgufTensor, GgufValue};
use crate::model::config::MAX_DIMENSION;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// No model has as many layers; every layer takes memory before a tensor is looked for.
const MAX_LAYERS: usize = 4096;

/// Keys that change nothing here: what a converter notes down, and what the tensors say themselves.
const INERT_KEYS: &[&str] = &[
    "attention.group_norm_epsilon",
    "attention.group_norm_groups",
    "expert_group_count",
    "expert_group_used_count",
    "expert_shared_count",
    "leading_dense_block_count",
    "pooling_type",
    "rope.scaling.finetuned",
    "tensor_data_layout",
    "vocab_size",
];

/// The keys `{architecture}.*` and the tensors of a file.
pub(super) struct Keys<'a> {
    header: &'a GgufHeader,
    architecture: &'a str,
    seen: RefCell<BTreeSet<String>>,
    notes: RefCell<Vec<String>>,
}

impl<'a> Keys<'a> {
    pub(super) fn new(header: &'a GgufHeader, architecture: &'a str) -> Self {
        Self { header, architecture, seen: RefCell::default(), notes: RefCell::default() }
    }

    pub(super) fn tensor(&self, name: &str) -> Option<&'a GgufTensor> {
        self.header.tensors.iter().find(|tensor| tensor.name == name)
    }

    pub(super) fn has_tensor(&self, name: &str) -> bool {
        self.tensor(name).is_some()
    }

    fn full(&self, key: &str) -> String {
        format!("{}.{key}", self.architecture)
    }

    fn value(&self, key: &str) -> Option<&'a GgufValue> {
        self.seen.borrow_mut().insert(key.to_owned());
        self.header.metadata.get(&self.full(key))
    }

    fn wrong<T>(&self, key: &str, value: &GgufValue, wanted: &str) -> Result<T, String> {
        let shown = match value {
            GgufValue::Unsigned(v) => v.to_string(),
            GgufValue::Signed(v) => v.to_string(),
            GgufValue::Float(v) => v.to_string(),
            GgufValue::Bool(v) => v.to_string(),
            GgufValue::String(v) => format!("{:?}", v.chars().take(40).collect::<String>()),
            GgufValue::Array(items) => format!("a list of {}", items.len()),
        };
        Err(format!("{} is {shown}, not {wanted}", self.full(key)))
    }

    fn missing(&self, key: &str) -> String {
        format!("{} is missing", self.full(key))
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, String> {
        let Some(value) = self.value(key) else { return Ok(None) };
        value.as_str().map_or_else(|| self.wrong(key, value, "a text"), |text| Ok(Some(text)))
    }

    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, String> {
        let Some(value) = self.value(key) else { return Ok(None) };
        value.as_bool().map_or_else(|| self.wrong(key, value, "true or false"), |flag| Ok(Some(flag)))
    }

    /// A number above 0.
    pub(super) fn positive(&self, key: &str) -> Result<Option<f64>, String> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let number = value.as_f64().filter(|number| number.is_finite() && *number > 0.0);
        number.map_or_else(|| self.wrong(key, value, "a positive number"), |number| Ok(Some(number)))
    }

    /// A number where 0 stands for none.
    pub(super) fn positive_or_zero(&self, key: &str) -> Result<Option<f64>, String> {
        match self.value(key).and_then(GgufValue::as_f64) {
            Some(0.0) => Ok(None),
            _ => self.positive(key),
        }
    }

    /// A count that may be 0.
    pub(super) fn count(&self, key: &str) -> Result<Option<usize>, String> {
        let Some(value) = self.value(key) else { return Ok(None) };
        match value.as_u64().filter(|count| *count <= MAX_DIMENSION) {
            Some(count) => Ok(Some(usize::try_from(count).expect("bounded above"))),
            None => self.wrong(key, value, "a count"),
        }
    }

    /// A size: one number, or a list that gives every layer the same.
    pub(super) fn optional_size(&self, key: &str) -> Result<Option<usize>, String> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let same = match value.as_array() {
            Some([first, rest @ ..]) if rest.iter().all(|item| item == first) => first,
            Some(_) => {
                return Err(format!("{} differs between layers, which is not supported", self.full(key)));
            }
            None => value,
        };
        match same.as_u64().filter(|size| (1..=MAX_DIMENSION).contains(size)) {
            Some(size) => Ok(Some(usize::try_from(size).expect("bounded above"))),
            None => self.wrong(key, same, "a size"),
        }
    }

    pub(super) fn size(&self, key: &str) -> Result<usize, String> {
        self.optional_size(key)?.ok_or_else(|| self.missing(key))
    }

    pub(super) fn layers(&self) -> Result<usize, String> {
        let layers = self.size("block_count")?;
        if layers > MAX_LAYERS {
            return Err(format!("{} is {layers}, not a number of layers", self.full("block_count")));
        }
        Ok(layers)
    }

    pub(super) fn required_positive(&self, key: &str) -> Result<f64, String> {
        self.positive(key)?.ok_or_else(|| self.missing(key))
    }

    /// What the family has where the file is silent; said in a note.
    pub(super) fn positive_or_assumed(&self, key: &str, assumed: f64) -> Result<f64, String> {
        Ok(self.positive(key)?.unwrap_or_else(|| {
            self.note(format!("The file does not give {}: {assumed} is assumed", self.full(key)));
            assumed
        }))
    }

    /// For each layer whether it is local: a list of flags, or the period of the global ones.
    pub(super) fn local_layers(&self, key: &str, layers: usize) -> Result<Option<Vec<bool>>, String> {
        let Some(value) = self.value(key) else { return Ok(None) };
        if let Some(items) = value.as_array() {
            let flags: Option<Vec<bool>> = items.iter().take(layers).map(flag_of).collect();
            return match flags.filter(|flags| flags.len() == layers) {
                Some(flags) => Ok(Some(flags)),
                None => self.wrong(key, value, &format!("one flag for each of {layers} layers")),
            };
        }
        match self.count(key)? {
            Some(period) => Ok(Some(every(period, layers))),
            None => Ok(None),
        }
    }

    pub(super) fn note(&self, note: String) {
        self.notes.borrow_mut().push(note);
    }

    /// What was assumed, and a line for each key of the architecture that nothing asked for.
    pub(super) fn into_notes(self) -> Vec<String> {
        let (seen, prefix) = (self.seen.into_inner(), format!("{}.", self.architecture));
        let mut notes = self.notes.into_inner();
        let ours = self.header.metadata.keys().filter_map(|key| key.strip_prefix(&prefix));
        let unknown = ours.filter(|key| !seen.contains(*key) && !INERT_KEYS.contains(key));
        notes.extend(
            unknown.map(|key| format!("The file's key {prefix}{key} is not known here and was ignored")),
        );
        notes
    }
}

fn flag_of(value: &GgufValue) -> Option<bool> {
    value.as_bool().or_else(|| value.as_u64().filter(|&flag| flag <= 1).map(|flag| flag == 1))
}

/// All layers local but the last of every `period`; 1 makes all global, 0 all local (llama.cpp's `set_swa_pattern`).
pub(super) fn every(period: usize, layers: usize) -> Vec<bool> {
    (0..layers).map(|layer| period == 0 || layer % period < period - 1).collect()
}
