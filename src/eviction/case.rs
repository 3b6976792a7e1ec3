//! One eviction experiment: as it is written in a file or chosen in the window, and as it is run.

use crate::analysis::{Analysis, AnalysisOptions};
use crate::capture::Capture;
use crate::model::ModelSpec;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Which key goes when the cache is over budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PolicyName {
    /// None: the full cache.
    Full,
    /// The oldest that is not pinned; without pins a sliding window.
    #[default]
    Fifo,
    /// A random one that is neither pinned nor recent.
    Random,
    /// The one with the lowest sum of attention so far (H2O).
    H2o,
    /// The one with the lowest weight in the current row, mean over the layer's heads (TOVA).
    Tova,
    /// H2O with only the current token safe: the naive policy that the literature warns of.
    Lowest,
}

impl PolicyName {
    /// Whether its decisions depend on positions alone, so that one masked pass simulates it.
    #[must_use]
    pub fn is_position_only(self) -> bool {
        matches!(self, Self::Full | Self::Fifo | Self::Random)
    }
}

/// Which position a retained key counts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Positions {
    /// Its position in the text.
    #[default]
    Original,
    /// Its slot in the cache (StreamingLLM's): gaps close up.
    Slot,
}

/// Pins as they are asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum PinChoice {
    /// None.
    #[default]
    None,
    /// BOS at index 0.
    Bos,
    /// The first K tokens.
    First(usize),
    /// The sinks detected on the whole text: looks ahead.
    Detected,
    /// The sinks detected on the first N tokens; scored after them.
    DetectedPrefix(usize),
    /// Chosen by hand.
    Tokens(BTreeSet<usize>),
}

/// The pinned positions, and where honest scoring starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pins {
    /// Pinned positions, ascending.
    pub tokens: BTreeSet<usize>,
    /// Rows before this have seen what the pins were chosen from (`detected-prefix`), else 0.
    pub scored_from: usize,
}

/// One experiment.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvictionCase {
    /// Which key goes.
    pub policy: PolicyName,
    /// Keys that the cache may hold after each step; the full cache has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<usize>,
    /// Keys that never go.
    #[serde(default)]
    pub pins: PinChoice,
    /// Newest keys that are safe, the current one included; H2O and random only, half the budget when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recent: Option<usize>,
    /// Positions of retained keys.
    #[serde(default)]
    pub positions: Positions,
    /// Seed of the random policy.
    #[serde(default)]
    pub seed: u64,
}

/// Why an experiment makes no sense; one line each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CaseError {
    /// No budget.
    #[error("budget is missing: give the number of keys that the cache may hold")]
    NoBudget,
    /// A budget of nothing.
    #[error("budget 0 keeps nothing: the cache must hold at least 1 key")]
    ZeroBudget,
    /// More pins than the cache holds.
    #[error("budget {budget} must exceed the {pins} pinned tokens")]
    TooManyPins {
        /// The budget.
        budget: usize,
        /// Number of pins.
        pins: usize,
    },
    /// A pin outside the text.
    #[error("pin {pin} is outside the text of {tokens} tokens")]
    PinOutside {
        /// The pin.
        pin: usize,
        /// Length of the text.
        tokens: usize,
    },
    /// `bos` without BOS.
    #[error("the text does not start with BOS: pin first:1, or prepend BOS")]
    NoBos,
    /// A text that nothing can be said about.
    #[error("the text has {0} tokens: eviction needs at least 3")]
    TextTooShort(usize),
    /// `recent` for a policy that has none.
    #[error("recent belongs to h2o and random alone")]
    NoRecent,
    /// `recent` out of range.
    #[error("recent {recent} must lie between 1 and the budget {budget}")]
    RecentOutside {
        /// What was asked for.
        recent: usize,
        /// The budget.
        budget: usize,
    },
    /// Slots for a policy that decides by attention.
    #[error("h2o, tova and lowest take original positions only")]
    NoSlots,
    /// Slots for a model that has learned absolute positions.
    #[error("this model has learned absolute positions, which keys can't leave: choose original positions")]
    LearnedPositions,
    /// Pins that can't be read.
    #[error("pins {0:?} are neither a list of positions nor bos, detected, detected-prefix:N or first:K")]
    BadPins(String),
    /// A prefix that detects nothing.
    #[error("detected-prefix:{0} is too short: the detector needs 51 tokens")]
    PrefixTooShort(usize),
}

impl EvictionCase {
    /// The full cache.
    #[must_use]
    pub fn full() -> Self {
        Self { policy: PolicyName::Full, ..Self::default() }
    }

    /// A sliding window, or with pins a pinned one.
    #[must_use]
    pub fn fifo(budget: usize, pins: PinChoice) -> Self {
        Self { policy: PolicyName::Fifo, budget: Some(budget), pins, ..Self::default() }
    }

    /// Checks the case against a model, a text of `n` tokens and its pins.
    ///
    /// # Errors
    /// What makes no sense, by name.
    pub fn check(&self, spec: &ModelSpec, n: usize, pins: &BTreeSet<usize>) -> Result<(), CaseError> {
        if n < 3 {
            return Err(CaseError::TextTooShort(n));
        }
        if self.recent.is_some() && !matches!(self.policy, PolicyName::H2o | PolicyName::Random) {
            return Err(CaseError::NoRecent);
        }
        if self.positions == Positions::Slot && !self.policy.is_position_only() {
            return Err(CaseError::NoSlots);
        }
        if self.positions == Positions::Slot && spec.learned_positions.is_some() {
            return Err(CaseError::LearnedPositions);
        }
        if let Some(&pin) = pins.iter().find(|&&pin| pin >= n) {
            return Err(CaseError::PinOutside { pin, tokens: n });
        }
        if self.policy == PolicyName::Full {
            return Ok(());
        }
        let budget = self.budget.ok_or(CaseError::NoBudget)?;
        if budget == 0 {
            return Err(CaseError::ZeroBudget);
        }
        if budget <= pins.len() {
            return Err(CaseError::TooManyPins { budget, pins: pins.len() });
        }
        match self.recent {
            Some(recent) if recent == 0 || recent > budget => {
                Err(CaseError::RecentOutside { recent, budget })
            }
            _ => Ok(()),
        }
    }

    /// Keys that the cache may hold in a text of `n` tokens.
    #[must_use]
    pub fn budget_in(&self, n: usize) -> usize {
        if self.policy == PolicyName::Full { n } else { self.budget.unwrap_or(n).min(n) }
    }

    /// Newest keys that are safe, the current one included.
    #[must_use]
    pub fn recent_keys(&self) -> usize {
        match self.policy {
            PolicyName::H2o | PolicyName::Random => {
                self.recent.unwrap_or(self.budget.unwrap_or(2) / 2).max(1)
            }
            _ => 1,
        }
    }

    /// The pinned positions of this case in a captured text.
    ///
    /// # Errors
    /// BOS is asked for and not there, or the prefix is too short to detect anything.
    pub fn resolve_pins(&self, capture: &Capture, options: &AnalysisOptions) -> Result<Pins, CaseError> {
        let n = capture.len();
        let all = |tokens: BTreeSet<usize>| Ok(Pins { tokens, scored_from: 0 });
        match &self.pins {
            PinChoice::None => all(BTreeSet::new()),
            PinChoice::Bos if capture.tokens.starts_with_bos() => all(BTreeSet::from([0])),
            PinChoice::Bos => Err(CaseError::NoBos),
            PinChoice::First(count) if *count > n => Err(CaseError::PinOutside { pin: count - 1, tokens: n }),
            PinChoice::First(count) => all((0..*count).collect()),
            PinChoice::Tokens(tokens) => all(tokens.clone()),
            PinChoice::Detected => {
                all(Analysis::of(capture, options.clone()).detection.flagged.into_iter().collect())
            }
            &PinChoice::DetectedPrefix(prefix) => {
                let analysis = Analysis::of_prefix(capture, prefix.min(n), options.clone());
                if !analysis.detection.tested {
                    return Err(CaseError::PrefixTooShort(prefix));
                }
                Ok(Pins { tokens: analysis.detection.flagged.into_iter().collect(), scored_from: prefix })
            }
        }
    }
}

impl PinChoice {
    /// Reads `none`, `bos`, `detected`, `detected-prefix:N`, `first:K`, or positions such as `0,7,21`.
    ///
    /// # Errors
    /// [`CaseError::BadPins`].
    pub fn parse(text: &str) -> Result<Self, CaseError> {
        let bad = || CaseError::BadPins(text.to_owned());
        let number = |text: &str| text.trim().parse::<usize>().map_err(|_| bad());
        match text.split_once(':') {
            Some(("first", count)) => Ok(Self::First(number(count)?)),
            Some(("detected-prefix", count)) => Ok(Self::DetectedPrefix(number(count)?)),
            Some(_) => Err(bad()),
            None => match text {
                "none" | "" => Ok(Self::None),
                "bos" => Ok(Self::Bos),
                "detected" => Ok(Self::Detected),
                list => Ok(Self::Tokens(list.split(',').map(number).collect::<Result<_, _>>()?)),
            },
        }
    }
}

impl std::fmt::Display for PinChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Bos => f.write_str("bos"),
            Self::First(count) => write!(f, "first:{count}"),
            Self::Detected => f.write_str("detected"),
            Self::DetectedPrefix(prefix) => write!(f, "detected-prefix:{prefix}"),
            Self::Tokens(tokens) => {
                let list: Vec<String> = tokens.iter().map(ToString::to_string).collect();
                f.write_str(&list.join(","))
            }
        }
    }
}

/// Positions as an array, anything else as its name.
impl Serialize for PinChoice {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.collect_seq(std::iter::empty::<usize>()),
            Self::Tokens(tokens) => serializer.collect_seq(tokens),
            named => serializer.collect_str(named),
        }
    }
}

impl<'de> Deserialize<'de> for PinChoice {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            List(Vec<usize>),
            Name(String),
        }
        match Written::deserialize(deserializer) {
            Ok(Written::List(list)) if list.is_empty() => Ok(Self::None),
            Ok(Written::List(list)) => Ok(Self::Tokens(list.into_iter().collect())),
            Ok(Written::Name(name)) => Self::parse(&name).map_err(serde::de::Error::custom),
            Err(_) => Err(serde::de::Error::custom(
                "pins must be a list of positions, or bos, detected, detected-prefix:N or first:K",
            )),
        }
    }
}

/// Reads a file of cases: an array, or an object with `cases`. Keys of results are ignored.
///
/// # Errors
/// One line with the index of the case and its field.
pub fn read_cases(json: &[u8]) -> Result<Vec<EvictionCase>, String> {
    const RESULTS: [&str; 10] = [
        "nll",
        "perplexity",
        "perplexity_after_fill",
        "full_perplexity_after_fill",
        "mean_delta_nll_after_fill",
        "first_differing_row",
        "kept_after_last_token",
        "timing_ms",
        "pinned",
        "name",
    ];
    let value: serde_json::Value = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    let list = match value {
        serde_json::Value::Array(list) => list,
        serde_json::Value::Object(mut object) => match object.remove("cases") {
            Some(serde_json::Value::Array(list)) => list,
            _ => return Err("the object has no array \"cases\"".to_owned()),
        },
        _ => return Err("neither an array of cases nor an object with \"cases\"".to_owned()),
    };
    let cases = list.into_iter().enumerate().map(|(index, mut case)| {
        if let Some(object) = case.as_object_mut() {
            RESULTS.iter().for_each(|key| drop(object.remove(*key)));
        }
        serde_json::from_value(case).map_err(|error| format!("case {index}: {error}"))
    });
    cases.collect()
}
