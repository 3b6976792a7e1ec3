//! The choices and the weights of the lines view.

use crate::capture::{Capture, PatternOf, Shaping};
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
    /// For each chosen head its number and weights `[rows, keys]`, below 0 where there is none.
    pub(super) heads: Vec<(usize, Vec<f32>)>,
    /// Queries.
    pub(super) rows: Range<usize>,
    /// Keys: the sinks before the window, then the window.
    pub(super) keys: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq)]
struct LinesOf {
    capture: u64,
    layer: usize,
    heads: Vec<usize>,
    rows: Range<usize>,
    sinks: Vec<usize>,
}

/// Sinks before the window that get a place of their own.
const MOST_SINKS: usize = 4;

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
        let before: Vec<usize> =
            sinks.iter().copied().filter(|&sink| sink < rows.start).take(MOST_SINKS).collect();
        let of = LinesOf {
            capture: capture.id,
            layer: focus.0,
            heads: heads.clone(),
            rows: rows.clone(),
            sinks: before,
        };
        if self.of.as_ref() == Some(&of) {
            return;
        }
        let keys: Vec<usize> = of.sinks.iter().copied().chain(rows.clone()).collect();
        let queries: Vec<usize> = rows.clone().collect();
        let plain = Shaping::default();
        let weights = |head: usize| {
            let of_head = PatternOf::Head { layer: focus.0, head };
            let within = capture.weights(of_head, &plain, &queries, rows.clone());
            let columns: Vec<Vec<f32>> = of
                .sinks
                .iter()
                .map(|&sink| capture.weights(of_head, &plain, &queries, sink..sink + 1))
                .collect();
            let mut all = Vec::with_capacity(queries.len() * keys.len());
            for (index, row) in within.chunks_exact(queries.len().max(1)).enumerate() {
                all.extend(columns.iter().map(|column| column[index]));
                all.extend_from_slice(row);
            }
            (head, all)
        };
        self.heads = heads.into_iter().map(weights).collect();
        (self.rows, self.keys, self.of) = (rows, keys, Some(of));
    }
}

/// The heads whose lines are shown, ascending.
pub(super) fn chosen_heads(choice: &LinesChoice, focused: usize, heads: usize) -> Vec<usize> {
    let chosen: Vec<usize> = choice.heads.iter().copied().filter(|&head| head < heads).collect();
    if chosen.is_empty() { vec![focused.min(heads.saturating_sub(1))] } else { chosen }
}
