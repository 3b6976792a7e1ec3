//! What can be drawn, and how.

use crate::analysis::HeadOrder;
use crate::capture::{AlignBy, Hiding, PatternOf};
use crate::color::{ColorMap, DivergingMap, ScaleKind};
use crate::export::Theme;
use std::ops::Range;

/// What to draw.
#[derive(Debug, Clone, PartialEq)]
pub enum View {
    /// All heads: small patterns, or values.
    Grid(GridView),
    /// A head's pattern, or a mean.
    Pattern(PatternOf),
    /// One pattern minus another.
    Difference {
        /// The pattern that is subtracted from.
        a: PatternOf,
        /// The one that is subtracted: of the first other run where there is one.
        b: PatternOf,
        /// How the tokens of two runs are aligned.
        by: AlignBy,
    },
    /// Two columns of tokens with weighted lines.
    Lines(LinesView),
    /// The attention-mass profile with the detector's line.
    Profile,
    /// The tokens, coloured.
    Strip(StripView),
    /// α of one token in every head.
    TokenHeads(usize),
    /// The profile of every key in every layer.
    Layers,
    /// Peak on the first so many keys, and tail, of every head.
    Peak(usize),
    /// Norms of one token against the median token's, by layer.
    Norms(usize),
    /// What becomes of the sinks in the other runs.
    Stability,
    /// Perplexity under smaller caches.
    Eviction,
}

impl View {
    /// Whether it reads weights of single cells, for which queries and keys must be there.
    #[must_use]
    pub fn needs_patterns(&self) -> bool {
        match self {
            Self::Grid(_) | Self::Pattern(_) | Self::Difference { .. } | Self::Lines(_) => true,
            Self::Strip(strip) => strip.by != StripBy::Mass,
            _ => false,
        }
    }
}

/// How all heads are shown.
#[derive(Debug, Clone, PartialEq)]
pub struct GridView {
    /// By what they are put in order.
    pub order: HeadOrder,
    /// Whether colours say that order's values, instead of patterns.
    pub as_map: bool,
    /// The token whose share is meant by [`HeadOrder::OnSelected`].
    pub token: Option<usize>,
    /// The pattern that [`HeadOrder::Similarity`] compares with.
    pub similar_to: PatternOf,
    /// Whether similarity leaves out the columns of detected sinks.
    pub without_sinks: bool,
}

impl Default for GridView {
    fn default() -> Self {
        let similar_to = PatternOf::Head { layer: 0, head: 0 };
        Self { order: HeadOrder::Layer, as_map: false, token: None, similar_to, without_sinks: false }
    }
}

/// What colours of tokens mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, clap::ValueEnum)]
pub enum StripBy {
    /// The profile of each token
    #[default]
    Mass,
    /// How much each later token attends to the chosen ones
    Incoming,
    /// How much the chosen ones attend to each earlier token
    Outgoing,
}

/// How the tokens are coloured.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StripView {
    /// By what.
    pub by: StripBy,
    /// The chosen tokens, ascending; their weights are added up.
    pub tokens: Vec<usize>,
}

/// Which lines to draw.
#[derive(Debug, Clone, PartialEq)]
pub struct LinesView {
    /// Layer.
    pub layer: usize,
    /// Query heads.
    pub heads: Vec<usize>,
    /// First query.
    pub first: usize,
    /// Queries, at most.
    pub tokens: usize,
    /// Weights below this draw no line.
    pub least: f32,
}

/// A part of a pattern or a difference, in entries of its axes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Queries.
    pub rows: Range<usize>,
    /// Keys.
    pub keys: Range<usize>,
}

/// How to draw it.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewOptions {
    /// Light or dark.
    pub theme: Theme,
    /// How values are placed on the colour map.
    pub color: ScaleKind,
    /// The colour map.
    pub map: ColorMap,
    /// The colour map of differences.
    pub diverging: DivergingMap,
    /// Weights at the ends of the colours of patterns; without it the scale's own.
    pub range: Option<(f32, f32)>,
    /// What becomes of the columns of detected sinks in one pattern.
    pub hiding: Hiding,
    /// The part of a pattern or difference that is drawn; without it all of it.
    pub part: Option<Part>,
    /// Pixels per point, 1…4: of a PNG, and of the heatmaps embedded in an SVG.
    pub scale: f32,
}

impl Default for ViewOptions {
    fn default() -> Self {
        Self {
            theme: Theme::Light,
            color: ScaleKind::Log,
            map: ColorMap::Magma,
            diverging: DivergingMap::default(),
            range: None,
            hiding: Hiding::default(),
            part: None,
            scale: 2.0,
        }
    }
}
