//! One run on show: what identifies it, what is computed of it so far, what is drawn.

use super::Series;
use crate::eviction::{EvictionCase, EvictionRun, PinChoice, SimulationPoint};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Runs on show at most: so many colours and letters can be told apart.
pub const MOST_RUNS: usize = 8;

/// What identifies a run over a text: the case and the positions that its pins name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunKey {
    /// The case.
    pub case: EvictionCase,
    /// Pinned positions.
    pub pins: BTreeSet<usize>,
    /// Rows before this saw what the pins were chosen from.
    pub scored_from: usize,
}

impl RunKey {
    /// Whether both evict the same keys.
    #[must_use]
    pub fn is_same_run(&self, other: &Self) -> bool {
        let bare = |key: &Self| EvictionCase { pins: PinChoice::None, ..key.case.clone() };
        self.pins == other.pins && bare(self) == bare(other)
    }

    /// The run's name, for example "Window 128 · BOS pinned".
    #[must_use]
    pub fn name(&self) -> String {
        self.case.title(self.pins.len())
    }

    /// Scored rows that have to be computed in a text of `n` tokens: those that the full cache does not share.
    #[must_use]
    pub fn rows_to_compute(&self, n: usize) -> usize {
        n.saturating_sub(self.case.budget_in(n) + 2)
    }
}

/// A run on show.
pub struct ShownRun {
    /// Its letter and colour.
    pub slot: usize,
    /// What it is.
    pub key: RunKey,
    /// Whether its curves are drawn.
    pub shown: bool,
    /// Whether the slider only passes it.
    pub passing: bool,
    /// NLL in nats, as far as it is computed.
    pub nll_nats: Vec<f64>,
    /// The finished run.
    pub finished: Option<Arc<EvictionRun>>,
    /// What is drawn.
    pub series: Series,
}

impl ShownRun {
    /// A run without a row yet, or a finished one.
    #[must_use]
    pub fn new(slot: usize, key: RunKey, finished: Option<Arc<EvictionRun>>) -> Self {
        let nll_nats = finished.as_ref().map(|run| run.nll_nats.clone()).unwrap_or_default();
        Self { slot, key, shown: true, passing: false, nll_nats, finished, series: Series::default() }
    }

    /// The letter that stands for it in plots.
    #[must_use]
    pub fn letter(&self) -> char {
        char::from(b'A' + (self.slot % 26) as u8)
    }

    /// First row that can differ from the full cache's, of `rows`.
    #[must_use]
    pub fn first_differing_row(&self, rows: usize) -> usize {
        (self.key.case.budget_in(rows + 1) + 1).min(rows)
    }

    /// First row that can differ and that is scored honestly.
    #[must_use]
    pub fn first_scored_row(&self, rows: usize) -> usize {
        self.first_differing_row(rows).max(self.key.scored_from).min(rows)
    }

    /// Takes rows in as they are computed.
    pub(super) fn take_in(&mut self, point: &SimulationPoint) {
        self.nll_nats.truncate(point.first_row);
        if self.nll_nats.len() == point.first_row {
            self.nll_nats.extend_from_slice(&point.nll_nats);
        }
    }

    /// Derives what is drawn.
    pub(super) fn derive(&mut self, full_nll_nats: &[f64], width_rows: usize) {
        let first = self.first_differing_row(full_nll_nats.len());
        self.series = Series::of(&self.nll_nats, full_nll_nats, first, width_rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(pins: PinChoice, positions: &[usize]) -> RunKey {
        let case = EvictionCase::fifo(128, pins);
        RunKey { case, pins: positions.iter().copied().collect(), scored_from: 0 }
    }

    #[test]
    fn pins_by_two_names_are_one_run() {
        assert!(key(PinChoice::Bos, &[0]).is_same_run(&key(PinChoice::First(1), &[0])));
        assert!(!key(PinChoice::Bos, &[0]).is_same_run(&key(PinChoice::None, &[])));
    }

    #[test]
    fn rows_are_taken_in_where_they_belong() {
        let mut run = ShownRun::new(0, key(PinChoice::None, &[]), None);
        run.take_in(&SimulationPoint { first_row: 0, nll_nats: vec![1.0, 2.0] });
        run.take_in(&SimulationPoint { first_row: 2, nll_nats: vec![3.0] });
        assert_eq!(run.nll_nats, [1.0, 2.0, 3.0]);
        run.take_in(&SimulationPoint { first_row: 9, nll_nats: vec![4.0] });
        assert_eq!(run.nll_nats, [1.0, 2.0, 3.0], "a gap is never filled with something else");
        run.take_in(&SimulationPoint { first_row: 0, nll_nats: vec![5.0] });
        assert_eq!(run.nll_nats, [5.0], "a run that starts again replaces what was there");
    }
}
