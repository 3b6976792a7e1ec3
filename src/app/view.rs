//! What the window shows of a run: the choices that are not part of the run itself.

use super::tokens::TokenSelection;
use crate::analysis::{AnalysisOptions, DEFAULT_THRESHOLD, PEAK_KEYS, ProfileKind, Selection};
use crate::model::ModelSpec;

/// One head of one layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
pub struct HeadId {
    /// Layer, from 0.
    pub layer: usize,
    /// Query head, from 0.
    pub head: usize,
}

/// The views in the centre.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub enum Tab {
    /// Patterns: the grid of heads and one head large.
    #[default]
    Attention,
    /// Sinks: table and maps.
    Sinks,
    /// Eviction: perplexity under a smaller cache.
    Eviction,
}

/// What the chips' colours mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub enum StripColour {
    /// The chosen profile of each token.
    Mass,
    /// With a token selected: how much each later token attends to it.
    #[default]
    Incoming,
    /// With a token selected: how much it attends to each earlier token.
    Outgoing,
}

/// What the Sinks view shows beside its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub enum SinksPage {
    /// Maps over layers, heads and positions.
    #[default]
    Maps,
    /// The two components of each head's mass.
    Peak,
    /// Norms of the selected token by layer.
    Norms,
    /// Which sinks stay in the other open runs.
    Runs,
}

/// Layers that the profile averages over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub enum LayerChoice {
    /// Every layer.
    #[default]
    All,
    /// Only layers that see the whole text.
    Global,
    /// First and last layer of a range, both included.
    Range(usize, usize),
}

/// Everything about the view that the user chose.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct ViewOptions {
    /// The view in the centre.
    pub tab: Tab,
    /// Normalisation of the profile.
    pub profile: ProfileKind,
    /// Layers of the profile.
    pub layers: LayerChoice,
    /// Head of the profile; `None` for all.
    pub head: Option<usize>,
    /// The detector's threshold.
    pub threshold: f64,
    /// What the chips' colours mean.
    pub strip: StripColour,
    /// The token selected last.
    pub selected: Option<usize>,
    /// Tokens selected beside it, ascending.
    pub also_selected: Vec<usize>,
    /// What the Sinks view shows beside its table.
    pub sinks_page: SinksPage,
    /// First positions that count as the peak.
    pub peak_keys: usize,
    /// The head shown large.
    pub focus: HeadId,
    /// Whether the user chose that head; else each run shows its most telling one.
    pub focus_is_chosen: bool,
}

impl Default for ViewOptions {
    fn default() -> Self {
        Self {
            tab: Tab::default(),
            profile: ProfileKind::default(),
            layers: LayerChoice::default(),
            head: None,
            threshold: DEFAULT_THRESHOLD,
            strip: StripColour::default(),
            selected: None,
            also_selected: Vec::new(),
            sinks_page: SinksPage::default(),
            peak_keys: PEAK_KEYS,
            focus: HeadId::default(),
            focus_is_chosen: false,
        }
    }
}

impl ViewOptions {
    /// The question that these choices put to the analysis.
    #[must_use]
    pub fn analysis_options(&self, spec: &ModelSpec) -> AnalysisOptions {
        AnalysisOptions {
            profile: self.profile,
            selection: Selection { layers: self.layers.of(spec), heads: self.head.map(|head| vec![head]) },
            threshold: Some(self.threshold),
        }
    }

    /// The selected tokens.
    #[must_use]
    pub fn selection(&self) -> TokenSelection {
        TokenSelection { lead: self.selected, others: self.also_selected.clone() }
    }

    /// Brings choices made for another model into the bounds of this one.
    pub fn fit_to(&mut self, spec: &ModelSpec, tokens: usize) {
        self.focus.layer = self.focus.layer.min(spec.layers.saturating_sub(1));
        self.focus.head = self.focus.head.min(spec.heads.saturating_sub(1));
        self.head = self.head.filter(|&head| head < spec.heads);
        self.selected = self.selected.filter(|&token| token < tokens);
        self.also_selected.clear();
        let fits = match self.layers {
            LayerChoice::All => true,
            LayerChoice::Global => has_local_layers(spec),
            LayerChoice::Range(first, last) => first <= last && last < spec.layers,
        };
        if !fits {
            self.layers = LayerChoice::All;
        }
    }
}

impl LayerChoice {
    /// The chosen layers of a model; `None` for all.
    #[must_use]
    pub fn of(self, spec: &ModelSpec) -> Option<Vec<usize>> {
        match self {
            Self::All => None,
            Self::Global => {
                Some((0..spec.layers).filter(|&l| spec.windows.get(l).copied().flatten().is_none()).collect())
            }
            Self::Range(first, last) => Some((first..=last.min(spec.layers.saturating_sub(1))).collect()),
        }
    }
}

/// Whether some, but not all, layers see only a window: then "global layers only" means something.
#[must_use]
pub fn has_local_layers(spec: &ModelSpec) -> bool {
    spec.windows.iter().any(Option::is_some) && spec.windows.iter().any(Option::is_none)
}
