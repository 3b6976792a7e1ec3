//! The choices and the weights of the lines view.

use crate::capture::{Capture, LineWindow};
use std::collections::BTreeSet;
use std::ops::Range;

/// What the lines show, and how.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LinesChoice {
    /// Chosen heads of the focused layer; empty: the focused head.
    pub(super) heads: BTreeSet<usize>,
    /// First token of the window.
    pub(super) first: usize,
    /// Weights below this draw no line.
    pub(super) least: f32,
}

impl Default for LinesChoice {
    fn default() -> Self {
        Self { heads: BTreeSet::new(), first: 0, least: 0.02 }
    }
}

/// The weights that lines are drawn from.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct LineWeights {
    of: Option<LinesOf>,
    pub(super) window: LineWindow,
}

#[derive(Debug, Clone, PartialEq)]
struct LinesOf {
    capture: u64,
    layer: usize,
    heads: Vec<usize>,
    rows: Range<usize>,
    sinks: Vec<usize>,
}

impl LineWeights {
    /// Brings the weights up to date: few enough cells to be computed between two frames.
    pub(super) fn update(
        &mut self,
        capture: &Capture,
        choice: &LinesChoice,
        focus: (usize, usize),
        sinks: &[usize],
        tokens: usize,
    ) {
        let heads = chosen_heads(choice, focus.1, capture.model.spec.heads);
        let first = choice.first.min(capture.len().saturating_sub(tokens));
        let rows = first..(first + tokens).min(capture.len());
        let sinks = LineWindow::sinks_before(first, sinks);
        let of = LinesOf { capture: capture.id, layer: focus.0, heads, rows, sinks };
        if self.of.as_ref() != Some(&of) {
            self.window = LineWindow::of(capture, of.layer, &of.heads, of.rows.clone(), &of.sinks);
            self.of = Some(of);
        }
    }
}

/// The heads whose lines are shown, ascending.
pub(super) fn chosen_heads(choice: &LinesChoice, focused: usize, heads: usize) -> Vec<usize> {
    let chosen: Vec<usize> = choice.heads.iter().copied().filter(|&head| head < heads).collect();
    if chosen.is_empty() { vec![focused.min(heads.saturating_sub(1))] } else { chosen }
}
