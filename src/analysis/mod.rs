//! From column sums to sinks: profiles, the log-MAD detector, classes. Pure: numbers in, numbers out.

use crate::capture::Capture;

/// Δ of far-lift: queries closer than this to the key are left out.
pub const FAR_DELTA: usize = 16;
/// m of far-lift: a key needs at least this many far queries.
pub const FAR_MIN_QUERIES: usize = 16;
/// ε of the sink rate (Gu et al., arXiv 2410.10781).
pub const SINK_RATE_EPSILON: f64 = 0.3;
/// Threshold of the log-MAD detector (Iglewicz & Hoaglin).
pub const DEFAULT_THRESHOLD: f64 = 3.5;
/// Usable keys that the detector needs before it flags anything.
pub const MIN_USABLE_KEYS: usize = 20;

/// The four normalisations of the attention-mass profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileKind {
    /// Mass against uniform attention, far queries only; the default for detection.
    #[default]
    FarLift,
    /// Share of all attention.
    Share,
    /// Mean weight that a query which can see the key gives it.
    Alpha,
    /// Mass against uniform attention.
    Lift,
}

/// Which layers and heads a profile averages over.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Selection {
    /// Layers; `None` for all.
    pub layers: Option<Vec<usize>>,
    /// Query heads, the same in every chosen layer; `None` for all.
    pub heads: Option<Vec<usize>>,
}

/// What a token is, from the tokenizer's metadata and the chat template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenClass {
    /// The model's BOS at index 0.
    Bos,
    /// Index 0 that is not BOS.
    Positional,
    /// Special or added token, or put there by the chat template.
    Structural,
    /// Newline or punctuation.
    Delimiter,
    /// Anything else.
    Content,
    /// A learned sink logit (gpt-oss).
    Virtual,
}

/// What the detector is asked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AnalysisOptions {
    /// The profile that the detector looks at.
    pub profile: ProfileKind,
    /// The layers and heads.
    pub selection: Selection,
    /// The threshold; [`DEFAULT_THRESHOLD`] when `None`.
    pub threshold: Option<f64>,
}

/// The log-MAD detector's result.
#[derive(Debug, Clone, PartialEq)]
pub struct Detection {
    /// Median of the logarithms.
    pub median_ln: f64,
    /// Median absolute deviation of the logarithms.
    pub mad_ln: f64,
    /// Spread σ after fallback and floor.
    pub sigma_ln: f64,
    /// The threshold used.
    pub threshold: f64,
    /// The threshold line in profile units: `exp(median + threshold · σ)`.
    pub line: f64,
    /// Visible keys whose value underflowed and was floored.
    pub floored: usize,
    /// z of each key; `None` where the profile is n/a.
    pub z: Vec<Option<f64>>,
    /// Flagged keys, ascending. Empty when not tested.
    pub flagged: Vec<usize>,
    /// Whether there were enough usable keys to test.
    pub tested: bool,
}

/// One detected sink.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Sink {
    /// Position.
    pub index: usize,
    /// Class of the token.
    pub class: TokenClass,
    /// Value of the chosen profile.
    pub value: f64,
    /// The detector's z.
    pub z: f64,
    /// Share of heads with α > ε.
    pub sink_rate: f64,
}

/// Everything that the Sinks view and the JSON show, derived from a capture in milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Analysis {
    /// What was asked.
    pub options: AnalysisOptions,
    /// `S_j / n`, sums to 1.
    pub share: Vec<Option<f64>>,
    /// α of each key.
    pub alpha: Vec<Option<f64>>,
    /// Lift of each key.
    pub lift: Vec<Option<f64>>,
    /// Far-lift of each key; `None` near the end.
    pub far_lift: Vec<Option<f64>>,
    /// Sink rate of each key over the selection.
    pub sink_rate: Vec<f64>,
    /// The detector's result on the chosen profile.
    pub detection: Detection,
    /// Class of each token.
    pub classes: Vec<TokenClass>,
    /// The flagged tokens.
    pub sinks: Vec<Sink>,
}

impl Analysis {
    /// Analyses a capture. Pure and quick: it reads only the column sums and the tokens.
    #[must_use]
    pub fn of(capture: &Capture, options: AnalysisOptions) -> Self {
        let _ = (capture, options);
        todo!()
    }

    /// The profile of a kind.
    #[must_use]
    pub fn profile(&self, kind: ProfileKind) -> &[Option<f64>] {
        match kind {
            ProfileKind::FarLift => &self.far_lift,
            ProfileKind::Share => &self.share,
            ProfileKind::Alpha => &self.alpha,
            ProfileKind::Lift => &self.lift,
        }
    }
}
