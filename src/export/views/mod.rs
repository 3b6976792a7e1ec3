//! The views as drawings: pure functions of runs and what was derived from them.

mod eviction;
mod grid;
mod pattern;
mod profile;
mod sinks;
mod strip;

pub(in crate::export) use grid::{head_values, value_name};
pub(in crate::export) use pattern::{minuend_and_subtrahend, window as line_window};
pub(in crate::export) use sinks::{Row as StabilityRow, by_layer, chosen_heads, rows as stability_rows};
pub(in crate::export) use strip::partners;

use super::ExportError;
use super::drawing::Drawing;
use super::theme::{Palette, Theme};
use crate::analysis::{Analysis, HeadOrder};
use crate::capture::{AlignBy, Capture, Hiding, PatternOf, PatternTile, Shaping};
use crate::color::{ColorMap, ColorScale, ColorTable, DivergingMap, ScaleKind};
use crate::eviction::EvictionRun;
use crate::progress::CancelToken;
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

/// A run and its analysis.
#[derive(Debug, Clone, Copy)]
pub struct RunRef<'a> {
    /// The run.
    pub capture: &'a Capture,
    /// Its analysis.
    pub analysis: &'a Analysis,
}

/// What views are drawn from.
#[derive(Debug, Clone, Copy)]
pub struct Material<'a> {
    /// The run.
    pub run: RunRef<'a>,
    /// Wall time of its analysis.
    pub analysis_ms: f64,
    /// Runs that it is compared with.
    pub others: &'a [RunRef<'a>],
    /// Simulated caches over it.
    pub evictions: &'a [&'a EvictionRun],
}

impl<'a> Material<'a> {
    /// A run that is compared with nothing.
    #[must_use]
    pub fn of(capture: &'a Capture, analysis: &'a Analysis) -> Self {
        Self { run: RunRef { capture, analysis }, analysis_ms: 0.0, others: &[], evictions: &[] }
    }
}

/// Draws a view.
///
/// # Errors
/// [`ExportError::NoSuchHead`], also for a layer; [`ExportError::NoSuchToken`]; [`ExportError::NoPatterns`];
/// [`ExportError::Cancelled`] when the token is raised.
pub fn draw(
    view: &View,
    material: &Material<'_>,
    options: &ViewOptions,
    cancel: &CancelToken,
) -> Result<Drawing, ExportError> {
    let scene = Scene::of(view, material, options)?;
    match view {
        View::Grid(view) => grid::draw(&scene, view, cancel),
        View::Pattern(of) => pattern::draw(&scene, *of, cancel),
        View::Difference { a, b, by } => pattern::difference(&scene, *a, *b, *by, cancel),
        View::Lines(lines) => pattern::draw_lines(&scene, lines),
        View::Profile => Ok(profile::draw(&scene)),
        View::Strip(view) => strip::draw(&scene, view, cancel),
        View::TokenHeads(token) => Ok(sinks::draw_token_heads(&scene, *token)),
        View::Layers => Ok(sinks::draw_layers(&scene)),
        View::Peak(keys) => Ok(sinks::draw_peak(&scene, *keys)),
        View::Norms(token) => Ok(sinks::draw_norms(&scene, *token)),
        View::Stability => Ok(sinks::draw_stability(&scene)),
        View::Eviction => Ok(eviction::draw(scene.capture, material.evictions, options)),
    }
}

/// Whether a run has a pattern.
fn check(capture: &Capture, of: PatternOf) -> Result<(), ExportError> {
    if capture.has(of) {
        return Ok(());
    }
    let (layer, head) = match of {
        PatternOf::Head { layer, head } => (layer, head),
        PatternOf::LayerMean(layer) => (layer, 0),
        PatternOf::ModelMean => (0, 0),
    };
    let spec = &capture.model.spec;
    Err(ExportError::NoSuchHead { layer, head, layers: spec.layers, heads: spec.heads })
}

/// What every view reads.
pub(in crate::export) struct Scene<'a> {
    pub(in crate::export) capture: &'a Capture,
    pub(in crate::export) analysis: &'a Analysis,
    pub(in crate::export) others: &'a [RunRef<'a>],
    pub(in crate::export) options: &'a ViewOptions,
    pub(in crate::export) palette: Palette,
}

impl<'a> Scene<'a> {
    /// The scene of a view, once it is clear that there is what it shows.
    pub(in crate::export) fn of(
        view: &View,
        material: &Material<'a>,
        options: &'a ViewOptions,
    ) -> Result<Self, ExportError> {
        let RunRef { capture, analysis } = material.run;
        let others = if matches!(view, View::Difference { .. }) { material.others } else { &[] };
        let has_patterns =
            capture.has_patterns() && others.first().is_none_or(|other| other.capture.has_patterns());
        if view.needs_patterns() && !has_patterns {
            return Err(ExportError::NoPatterns);
        }
        let tokens: &[usize] = match view {
            View::TokenHeads(token) | View::Norms(token) => std::slice::from_ref(token),
            View::Grid(grid) => grid.token.as_slice(),
            View::Strip(strip) => &strip.tokens,
            _ => &[],
        };
        if let Some(&index) = tokens.iter().find(|&&index| index >= capture.len()) {
            return Err(ExportError::NoSuchToken { index, tokens: capture.len() });
        }
        let palette = options.theme.palette();
        Ok(Self { capture, analysis, others: material.others, options, palette })
    }

    fn model(&self) -> &str {
        &self.capture.model.name
    }

    pub(in crate::export) fn check(&self, of: PatternOf) -> Result<(), ExportError> {
        check(self.capture, of)
    }

    /// Rows and keys that are shown of a matrix of `side` entries.
    pub(in crate::export) fn part(&self, side: usize) -> (Range<usize>, Range<usize>) {
        let within = |range: &Range<usize>| {
            let end = range.end.clamp(1, side.max(1));
            range.start.min(end - 1)..end
        };
        self.options.part.as_ref().map_or((0..side, 0..side), |part| (within(&part.rows), within(&part.keys)))
    }

    /// What is done to a pattern before it is shown.
    pub(in crate::export) fn shaping(&self) -> Shaping {
        self.options.hiding.shaping(&self.analysis.detection.flagged)
    }

    /// Colours of attention weights.
    fn weight_colors(&self) -> ColorTable {
        let scale = ColorScale::of(self.options.color);
        let scale = self.options.range.map_or(scale, |(low, high)| scale.over(low, high));
        ColorTable::new(scale, self.options.map, self.palette.special)
    }

    fn weight_title(&self) -> String {
        format!("attention weight ({} scale)", self.options.color.name())
    }

    /// The whole pattern of one head in at most `max_side` cells.
    fn tile(
        &self,
        layer: usize,
        head: usize,
        max_side: usize,
        cancel: &CancelToken,
    ) -> Result<PatternTile, ExportError> {
        let n = self.capture.len();
        Ok(self.capture.pattern_tile(layer, head, 0..n, 0..n, max_side.max(1), cancel)?)
    }

    fn is_sink(&self, index: usize) -> bool {
        self.analysis.detection.flagged.binary_search(&index).is_ok()
    }

    fn token_label(&self, index: usize) -> String {
        self.capture.tokens.tokens[index].label()
    }
}

/// Whole pixels that fit in a length of points.
fn pixels_in(points: f32, scale: f32) -> usize {
    (points * scale).floor().max(1.0) as usize
}

/// How the cells of a tile are described: exact, or the largest of a square.
fn pooling_note(pool: usize) -> String {
    if pool <= 1 {
        "every weight drawn".to_owned()
    } else {
        format!("a cell is the largest of {pool} × {pool} weights")
    }
}
