//! What the user chose about the attention view: what an undo brings back.

use super::difference::Comparison;
use super::lines::LinesChoice;
use super::options::{Hiding, Mode, Subtrahend};
use super::state::{AttentionState, GridChoice, ScaleChoice};
use crate::capture::PatternOf;
use crate::color::{ColorMap, DivergingMap};

/// The choices, without what is derived from the capture and without the zoom.
#[derive(Debug, Clone, PartialEq)]
pub struct AttentionChoices {
    mode: Mode,
    weights: ScaleChoice,
    differences: ScaleChoice,
    map: ColorMap,
    diverging: DivergingMap,
    hiding: Hiding,
    mean: Option<PatternOf>,
    grid: GridChoice,
    lines: LinesChoice,
    subtrahend: Option<Subtrahend>,
}

impl AttentionState {
    /// The choices as they are.
    #[must_use]
    pub fn choices(&self) -> AttentionChoices {
        AttentionChoices {
            mode: self.mode,
            weights: self.weights,
            differences: self.differences,
            map: self.map,
            diverging: self.diverging,
            hiding: self.hiding,
            mean: self.mean,
            grid: self.grid,
            lines: self.lines.clone(),
            subtrahend: self.comparison.subtrahend,
        }
    }

    /// Back to other choices. Another mode shows another matrix, so the zoom is let go.
    pub fn set_choices(&mut self, choices: AttentionChoices) {
        if choices.mode != self.mode {
            (self.zoom, self.cursor) = (None, None);
        }
        let AttentionChoices {
            mode,
            weights,
            differences,
            map,
            diverging,
            hiding,
            mean,
            grid,
            lines,
            subtrahend,
        } = choices;
        (self.mode, self.weights, self.differences) = (mode, weights, differences);
        (self.map, self.diverging, self.hiding) = (map, diverging, hiding);
        (self.mean, self.grid, self.lines) = (mean, grid, lines);
        let comparison: &mut Comparison = &mut self.comparison;
        comparison.subtrahend = subtrahend;
    }
}
