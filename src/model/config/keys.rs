//! Typed access to the keys of `config.json`, which remembers what was asked for.

use super::inert::INERT_KEYS;
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// No dimension of a real model comes near; a larger one would only size an allocation.
pub(in crate::model) const MAX_DIMENSION: u64 = 1 << 24;
/// No model has as many heads or experts.
const MAX_HEADS: usize = 1 << 14;
/// No model has as many layers; every layer takes memory before a tensor is looked for.
const MAX_LAYERS: usize = 4096;

/// An object of the configuration.
pub(super) struct Keys<'a> {
    map: &'a Map<String, Value>,
    /// What stands before a key in a message: empty, or `rope_scaling.`.
    path: String,
    seen: RefCell<BTreeSet<String>>,
    /// Names that the family gives to keys of the others: `(ours, theirs)`.
    synonyms: &'static [(&'static str, &'static str)],
}

impl<'a> Keys<'a> {
    pub(super) fn new(
        map: &'a Map<String, Value>,
        path: &str,
        synonyms: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { map, path: path.to_owned(), seen: RefCell::default(), synonyms }
    }

    /// The value of a key under its own name or the family's; null counts as missing.
    pub(super) fn present(&self, key: &str) -> Option<&'a Value> {
        let names = self.synonyms.iter().filter(|(ours, _)| *ours == key).map(|(_, theirs)| *theirs);
        // All names count as seen: a file may carry both.
        let mut found = None;
        for name in names.chain([key]) {
            self.seen.borrow_mut().insert(name.to_owned());
            found = found.or_else(|| self.map.get(name).filter(|value| !value.is_null()));
        }
        found
    }

    /// The name that the file has for a key, with the object that it stands in; ours where it has none.
    fn shown(&self, key: &str) -> String {
        let names = self.synonyms.iter().filter(|(ours, _)| *ours == key).map(|(_, theirs)| *theirs);
        let name = names.chain([key]).find(|name| self.map.contains_key(*name)).unwrap_or(key);
        format!("{}{name}", self.path)
    }

    /// Whether the file says null, which some keys tell from leaving out.
    pub(super) fn is_null(&self, key: &str) -> bool {
        self.map.get(key).is_some_and(Value::is_null)
    }

    fn wrong<T>(&self, key: &str, value: &Value, wanted: &str) -> Result<T, String> {
        let shown = value.to_string();
        let shown = if shown.chars().count() > 40 {
            shown.chars().take(40).collect::<String>() + "…"
        } else {
            shown
        };
        Err(format!("{} is {shown}, not {wanted}", self.shown(key)))
    }

    /// Whether the file has a value for a key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.map.get(key).is_some_and(|value| !value.is_null())
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, String> {
        let Some(value) = self.present(key) else { return Ok(None) };
        value.as_str().map_or_else(|| self.wrong(key, value, "a text"), |text| Ok(Some(text)))
    }

    pub(super) fn number(&self, key: &str) -> Result<Option<f64>, String> {
        let Some(value) = self.present(key) else { return Ok(None) };
        let number = value.as_f64().filter(|number| number.is_finite());
        number.map_or_else(|| self.wrong(key, value, "a number"), |number| Ok(Some(number)))
    }

    pub(super) fn positive(&self, key: &str) -> Result<Option<f64>, String> {
        let Some(number) = self.number(key)? else { return Ok(None) };
        if number > 0.0 {
            Ok(Some(number))
        } else {
            Err(format!("{} is {number}, not positive", self.shown(key)))
        }
    }

    pub(super) fn required_positive(&self, key: &str) -> Result<f64, String> {
        self.positive(key)?.ok_or_else(|| format!("{}{key} is missing", self.path))
    }

    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, String> {
        let Some(value) = self.present(key) else { return Ok(None) };
        value.as_bool().map_or_else(|| self.wrong(key, value, "true or false"), |flag| Ok(Some(flag)))
    }

    pub(super) fn flag_or(&self, key: &str, default: bool) -> Result<bool, String> {
        Ok(self.flag(key)?.unwrap_or(default))
    }

    pub(super) fn optional_dimension(&self, key: &str) -> Result<Option<usize>, String> {
        let Some(value) = self.present(key) else { return Ok(None) };
        let dimension = value.as_u64().filter(|n| (1..=MAX_DIMENSION).contains(n));
        let Some(dimension) = dimension else { return self.wrong(key, value, "a size") };
        Ok(Some(usize::try_from(dimension).expect("bounded above")))
    }

    pub(super) fn dimension(&self, key: &str) -> Result<usize, String> {
        self.optional_dimension(key)?.ok_or_else(|| format!("{}{key} is missing", self.path))
    }

    pub(super) fn layers(&self, key: &str) -> Result<usize, String> {
        let layers = self.dimension(key)?;
        if layers > MAX_LAYERS {
            return Err(format!("{} is {layers}, not a number of layers", self.shown(key)));
        }
        Ok(layers)
    }

    /// A number of heads or experts.
    pub(super) fn few(&self, key: &str) -> Result<Option<usize>, String> {
        match self.optional_dimension(key)? {
            Some(count) if count > MAX_HEADS => {
                Err(format!("{} is {count}, more than any model has", self.shown(key)))
            }
            count => Ok(count),
        }
    }

    pub(super) fn heads(&self, key: &str) -> Result<usize, String> {
        self.few(key)?.ok_or_else(|| format!("{}{key} is missing", self.path))
    }

    /// A count that may be 0.
    pub(super) fn count(&self, key: &str) -> Result<Option<usize>, String> {
        let Some(value) = self.present(key) else { return Ok(None) };
        match value.as_u64().filter(|n| *n <= MAX_DIMENSION) {
            Some(count) => Ok(Some(usize::try_from(count).expect("bounded above"))),
            None => self.wrong(key, value, "a count"),
        }
    }

    pub(super) fn list(&self, key: &str) -> Result<Option<&'a [Value]>, String> {
        let Some(value) = self.present(key) else { return Ok(None) };
        value.as_array().map_or_else(|| self.wrong(key, value, "a list"), |list| Ok(Some(list.as_slice())))
    }

    pub(super) fn positive_list(&self, key: &str) -> Result<Vec<f64>, String> {
        let list = self.list(key)?.ok_or_else(|| format!("{}{key} is missing", self.path))?;
        let number = |value: &Value| {
            let number = value.as_f64().filter(|number| number.is_finite() && *number > 0.0);
            number.map_or_else(|| self.wrong(key, value, "a list of positive numbers"), Ok)
        };
        list.iter().map(number).collect()
    }

    /// An object within this one.
    pub(super) fn object(&self, key: &str) -> Result<Option<Keys<'a>>, String> {
        match self.present(key) {
            None => Ok(None),
            Some(Value::Object(map)) => Ok(Some(Keys::new(map, &format!("{}{key}.", self.path), &[]))),
            Some(other) => self.wrong(key, other, "an object"),
        }
    }

    /// A line for each key that nothing here asked for and that is not known to be without effect.
    pub(super) fn unknown(&self) -> Vec<String> {
        let seen = self.seen.borrow();
        let unknown = self.map.iter().filter(|(key, value)| {
            !value.is_null()
                && !seen.contains(*key)
                && !INERT_KEYS.contains(&key.as_str())
                && !key.starts_with('_')
        });
        unknown
            .map(|(key, _)| format!("config.json: {}{key} is not known here and was ignored", self.path))
            .collect()
    }
}
