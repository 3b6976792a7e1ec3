//! The views as drawings: pure functions of a capture and what was derived from it.

mod eviction;
mod grid;
mod head;
mod profile;
mod strip;

pub use eviction::draw_eviction;

use super::ExportError;
use super::drawing::Drawing;
use super::theme::{Palette, Theme};
use crate::analysis::Analysis;
use crate::capture::{Capture, PatternOf, PatternTile};
use crate::color::{ColorMap, ColorScale, ColorTable, ScaleKind};
use crate::progress::CancelToken;

/// What to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Small patterns of all heads.
    Grid,
    /// One head's pattern.
    Head {
        /// Layer.
        layer: usize,
        /// Query head.
        head: usize,
    },
    /// The mean over a layer's heads, or over all heads of the model.
    Mean {
        /// Layer; `None` for the model.
        layer: Option<usize>,
    },
    /// One head's pattern minus another's.
    Difference {
        /// Layer and head of the first.
        a: (usize, usize),
        /// Layer and head of the one that is subtracted.
        b: (usize, usize),
    },
    /// The attention-mass profile with the detector's line.
    Profile,
    /// The tokens, coloured by their mass.
    Strip,
}

/// How to draw it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ViewOptions {
    /// Light or dark.
    pub theme: Theme,
    /// How values are placed on the colour map.
    pub color: ScaleKind,
    /// The colour map.
    pub map: ColorMap,
    /// Weights at the ends of the colours of patterns; without it the scale's own.
    pub range: Option<(f32, f32)>,
    /// Pixels per point, 1…4: of a PNG, and of the heatmaps embedded in an SVG.
    pub scale: f32,
}

impl Default for ViewOptions {
    fn default() -> Self {
        Self { theme: Theme::Light, color: ScaleKind::Log, map: ColorMap::Magma, range: None, scale: 2.0 }
    }
}

/// Draws a view of a capture.
///
/// # Errors
/// [`ExportError::NoSuchHead`], also for a layer; [`ExportError::Cancelled`] when the token is raised.
pub fn draw(
    view: View,
    capture: &Capture,
    analysis: &Analysis,
    options: &ViewOptions,
    cancel: &CancelToken,
) -> Result<Drawing, ExportError> {
    if !capture.has_patterns() && !matches!(view, View::Profile | View::Strip) {
        return Err(ExportError::NoPatterns);
    }
    let scene = Scene { capture, analysis, options, palette: options.theme.palette() };
    match view {
        View::Grid => grid::draw(&scene, cancel),
        View::Head { layer, head } => head::draw(&scene, PatternOf::Head { layer, head }, cancel),
        View::Mean { layer } => {
            let of = layer.map_or(PatternOf::ModelMean, PatternOf::LayerMean);
            head::draw(&scene, of, cancel)
        }
        View::Difference { a, b } => head::draw_difference(&scene, a, b, cancel),
        View::Profile => Ok(profile::draw(&scene)),
        View::Strip => Ok(strip::draw(&scene)),
    }
}

/// What every view reads.
struct Scene<'a> {
    capture: &'a Capture,
    analysis: &'a Analysis,
    options: &'a ViewOptions,
    palette: Palette,
}

impl Scene<'_> {
    fn model(&self) -> &str {
        &self.capture.model.name
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
        self.analysis.sinks.iter().any(|sink| sink.index == index)
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
