//! What the attention view can be told, and what it lets choose.

pub use crate::analysis::HeadOrder;
pub use crate::capture::Hiding;

use crate::capture::{AlignBy, PatternOf};
use crate::color::{ColorMap, ColorScale, DivergingMap, ScaleKind};
use crate::widgets::viewport::Viewport;

/// What fills the large half of the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// One pattern.
    #[default]
    Pattern,
    /// One pattern minus another.
    Difference,
    /// Tokens in two columns, weights as lines between them.
    Lines,
}

/// The pattern that is subtracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Subtrahend {
    /// The run that it is of, by its capture's id; `None`: of the shown one.
    pub run: Option<u64>,
    /// Layer.
    pub layer: usize,
    /// Query head.
    pub head: usize,
    /// How the tokens of the two runs are aligned.
    pub by: AlignBy,
}

impl Subtrahend {
    /// The same, but the head beside where it is the focused head (layer, head) itself.
    #[must_use]
    pub(super) fn beside(self, focus: (usize, usize), heads: usize) -> Self {
        if (self.layer, self.head) == focus {
            Self { head: (self.head + 1) % heads.max(1), ..self }
        } else {
            self
        }
    }
}

/// What the attention view can be told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AttentionCommand {
    /// Pattern, difference or lines.
    SetMode(Mode),
    /// How values are placed on the colour map.
    SetScale(ScaleKind),
    /// The smallest weight that the logarithmic scale tells apart.
    SetFloor(f32),
    /// The range of the scale; no percentile any more.
    SetRange(ColorScale),
    /// The upper end of the scale follows this percentile of the drawn values; `None`: it stays.
    SetClamp(Option<f32>),
    /// The scale of the first day.
    ResetScale,
    /// The colour map.
    SetMap(ColorMap),
    /// The colour map of differences.
    SetDivergingMap(DivergingMap),
    /// What becomes of the columns of detected sinks.
    SetHiding(Hiding),
    /// Show this part of the pattern.
    Zoom(Viewport),
    /// Show the whole pattern.
    Fit,
    /// Whether a drag draws a box to zoom to.
    SetBoxZoom(bool),
    /// The keyboard's cell (query, key).
    MoveCursor(usize, usize),
    /// Show a mean instead of the focused head; `None`: the head.
    ShowMean(Option<PatternOf>),
    /// By what heads are put in order.
    SetOrder(HeadOrder),
    /// Whether the grid shows the order's values as colours instead of patterns.
    ShowValues(bool),
    /// Whether similarity leaves out the sinks' columns.
    CompareWithoutSinks(bool),
    /// What is subtracted.
    Subtract(Subtrahend),
    /// Show or hide a head of the focused layer among the lines.
    ToggleLineHead(usize),
    /// All heads of the layer among the lines, or the focused one only.
    AllLineHeads(bool),
    /// The first token of the lines.
    LinesFrom(usize),
    /// Weights below this draw no line.
    SetLeastLine(f32),
    /// How many tokens fit below each other in the lines view.
    FitLines(usize),
    /// Where the large matrix is, and how large it and the pictures of the grid are.
    Measured {
        /// The plot, in points.
        plot: egui::Rect,
        /// Its side in physical pixels.
        side_px: f64,
        /// Width and height of a small picture in physical pixels.
        cell_px: [usize; 2],
    },
}
