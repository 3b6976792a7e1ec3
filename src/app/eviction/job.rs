//! The job that the engine works on for this view, and how far it is.

use super::RunKey;
use crate::engine::JobId;
use crate::eviction::SimulationPoint;
use crate::progress::{Progress, ProgressUnit};

/// What a job's runs are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The curves that the controls ask for.
    Curves,
    /// A budget sweep.
    Sweep,
}

/// A job and its runs, in the engine's order.
#[derive(Debug, Clone)]
pub struct EvictionJob {
    /// Which one; events of others are stale.
    pub id: JobId,
    /// What it is for.
    pub purpose: Purpose,
    /// Its runs.
    pub keys: Vec<RunKey>,
    /// Runs that are finished.
    pub done: usize,
    rows_of_current: usize,
    tokens: usize,
}

impl EvictionJob {
    /// A job over a text of `tokens` tokens.
    #[must_use]
    pub fn new(id: JobId, purpose: Purpose, keys: Vec<RunKey>, tokens: usize) -> Self {
        Self { id, purpose, keys, done: 0, rows_of_current: 0, tokens }
    }

    /// Notes rows of a run. Those that the full cache shares cost nothing and don't count.
    pub fn note(&mut self, case: usize, point: &SimulationPoint) {
        let Some(key) = self.keys.get(case) else { return };
        let end = point.first_row + point.nll_nats.len();
        let all = key.rows_to_compute(self.tokens);
        let first = self.tokens.saturating_sub(1 + all);
        self.rows_of_current = end.saturating_sub(first).min(all);
    }

    /// Notes that a run is finished.
    pub fn finish(&mut self, case: usize) {
        self.done = case + 1;
        self.rows_of_current = 0;
    }

    /// How far the job is, in rows.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let rows =
            |keys: &[RunKey]| -> usize { keys.iter().map(|key| key.rows_to_compute(self.tokens)).sum() };
        let stage = match self.purpose {
            Purpose::Curves => "Eviction".to_owned(),
            Purpose::Sweep => "Budget sweep".to_owned(),
        };
        Progress {
            stage,
            done: (rows(&self.keys[..self.done.min(self.keys.len())]) + self.rows_of_current) as u64,
            total: Some(rows(&self.keys) as u64),
            unit: ProgressUnit::Rows,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eviction::{EvictionCase, PinChoice};
    use std::collections::BTreeSet;

    #[test]
    fn only_rows_that_are_computed_count() {
        let key = |budget| RunKey {
            case: EvictionCase::fifo(budget, PinChoice::None),
            pins: BTreeSet::new(),
            scored_from: 0,
        };
        let mut job = EvictionJob::new(JobId(1), Purpose::Curves, vec![key(9), key(49)], 100);
        let so_far = |job: &EvictionJob| (job.progress().done, job.progress().total);
        // NLLs 10…98 of the one and 50…98 of the other.
        assert_eq!(so_far(&job), (0, Some(89 + 49)));
        job.note(0, &SimulationPoint { first_row: 0, nll_nats: vec![0.0; 10] });
        assert_eq!(so_far(&job).0, 0, "what the full cache shares is there at once");
        job.note(0, &SimulationPoint { first_row: 10, nll_nats: vec![0.0; 30] });
        assert_eq!(so_far(&job).0, 30);
        job.finish(0);
        assert_eq!(so_far(&job).0, 89);
        job.finish(1);
        assert_eq!(so_far(&job), (138, Some(138)));
    }
}
