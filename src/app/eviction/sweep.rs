//! Perplexity against budget: which budgets are visited, and what is known of them.

use super::{BUDGET_STEPS, EvictionState, RunKey};
use crate::eviction::{Curve, EvictionCase, PinChoice};

/// One budget of a sweep, over the rows that its cache's size can change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SweepPoint {
    /// The budget.
    pub budget: usize,
    /// Perplexity after the cache fills.
    pub perplexity: f64,
    /// The full cache's over the same rows.
    pub full_perplexity: f64,
}

/// Fewer rows than this give no perplexity worth drawing.
const FEWEST_ROWS: usize = 32;

/// The budgets that a sweep visits in a text of `n` tokens with so many pins: log-spaced, the
/// cheapest (the largest) first.
#[must_use]
pub fn budgets_to_sweep(n: usize, pins: usize) -> Vec<usize> {
    let lowest = (pins + 1).max(8);
    let highest = n.saturating_sub(FEWEST_ROWS + 1);
    BUDGET_STEPS.into_iter().rev().filter(|budget| (lowest..=highest).contains(budget)).collect()
}

impl EvictionState {
    /// What is known of the chosen policy with the pins of a live run, by budget.
    #[must_use]
    pub fn sweep_points(&self, live: &RunKey) -> Vec<SweepPoint> {
        let bare = |case: &EvictionCase| EvictionCase { budget: None, recent: None, ..case.clone() };
        let ours = |key: &RunKey| {
            bare(&key.case) == bare(&live.case)
                && key.pins == live.pins
                && key.case.recent.is_none() == live.case.recent.is_none()
        };
        let mut points: Vec<SweepPoint> = self
            .all_finished()
            .filter(|(key, _)| ours(key))
            .filter_map(|(key, run)| {
                let curve = Curve {
                    nll_nats: &run.nll_nats,
                    full_nll_nats: &self.full_nll_nats,
                    first_row: run.first_scored_row(),
                };
                Some(SweepPoint {
                    budget: key.case.budget?,
                    perplexity: curve.perplexity_after_fill()?,
                    full_perplexity: curve.full_perplexity_after_fill()?,
                })
            })
            .collect();
        points.sort_by_key(|point| point.budget);
        points.dedup_by_key(|point| point.budget);
        points
    }

    /// The runs of a sweep that are not known yet.
    #[must_use]
    pub fn keys_to_sweep(&self, n: usize) -> Vec<RunKey> {
        let most_pins = self.live.iter().map(|key| key.pins.len()).max().unwrap_or(0);
        let mut keys = Vec::new();
        for budget in budgets_to_sweep(n, most_pins) {
            for live in &self.live {
                let case = self.choices.case(live.case.pins.clone(), budget);
                let key = RunKey { case, ..live.clone() };
                if self.finished(&key).is_none() {
                    keys.push(key);
                }
            }
        }
        keys
    }

    /// Whether the runs that the controls ask for pin anything.
    #[must_use]
    pub fn compares_pins(&self) -> bool {
        self.live.iter().any(|key| key.case.pins != PinChoice::None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_is_log_spaced_and_leaves_rows_to_score() {
        assert_eq!(budgets_to_sweep(200, 1), [128, 96, 64, 48, 32, 24, 16, 12, 8]);
        assert_eq!(budgets_to_sweep(200, 40), [128, 96, 64, 48]);
        assert!(budgets_to_sweep(30, 0).is_empty());
    }
}
