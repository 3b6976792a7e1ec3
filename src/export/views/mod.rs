//! The views as drawings: pure functions of runs and what was derived from them.

mod eviction;
mod grid;
mod pattern;
mod profile;
mod sinks;
mod strip;
mod view;

pub(in crate::export) use grid::{head_values, value_name};
pub(in crate::export) use pattern::{minuend_and_subtrahend, window as line_window};
pub(in crate::export) use sinks::{
    Row as StabilityRow, births, by_layer, chosen_heads, rows as stability_rows,
};
pub(in crate::export) use strip::partners;

pub use view::{GridView, LinesView, Part, StripBy, StripView, View, ViewOptions};

use super::ExportError;
use super::drawing::Drawing;
use super::theme::Palette;
use crate::analysis::Analysis;
use crate::capture::{Capture, PatternOf, PatternTile, Shaping};
use crate::color::{ColorScale, ColorTable};
use crate::eviction::EvictionRun;
use crate::progress::CancelToken;
use std::ops::Range;

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
