//! Policies that decide by attention: which key goes, given what has been seen. Pure.

use super::{EvictionCase, PolicyName};
use std::collections::BTreeSet;

/// The evicted key's place in the cache's arrays.
pub type Victim = usize;

/// H2O, TOVA or lowest attention, with its budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttentionPolicy {
    budget: usize,
    recent: usize,
    pins: BTreeSet<usize>,
    sums: bool,
}

/// What a policy knows of each key in the cache: positions and scores, in the cache's own order.
#[derive(Debug, Clone, Copy)]
pub struct ScoreBoard<'a> {
    /// Position of each key.
    pub positions: &'a [usize],
    /// Sum of attention so far (H2O), or weight in the current row (TOVA).
    pub scores: &'a [f64],
}

impl AttentionPolicy {
    /// The policy of a case; `None` for one that decides by position.
    #[must_use]
    pub fn of(case: &EvictionCase, pins: &BTreeSet<usize>, n: usize) -> Option<Self> {
        let sums = match case.policy {
            PolicyName::H2o | PolicyName::Lowest => true,
            PolicyName::Tova => false,
            PolicyName::Full | PolicyName::Fifo | PolicyName::Random => return None,
        };
        let (budget, recent) = (case.budget_in(n), case.recent_keys());
        Some(Self { budget, recent, pins: pins.clone(), sums })
    }

    /// Whether scores add up over the queries, one list for each KV head; else the current row
    /// decides, one list for the layer.
    #[must_use]
    pub fn sums_per_kv_head(&self) -> bool {
        self.sums
    }

    /// Keys that the cache may hold.
    #[must_use]
    pub fn budget(&self) -> usize {
        self.budget
    }

    /// Which key goes after the step of `query`; `None` while the cache is within its budget.
    ///
    /// The lowest score outside the pins and the newest keys, the older one of equals; where those
    /// leave no candidate, the oldest unpinned key but the query itself.
    #[must_use]
    pub fn victim(&self, board: ScoreBoard<'_>, query: usize) -> Option<Victim> {
        if board.positions.len() <= self.budget {
            return None;
        }
        let first_recent = (query + 1).saturating_sub(self.recent);
        let unpinned = || {
            let keys = board.positions.iter().zip(board.scores).enumerate();
            keys.filter(|(_, (position, _))| **position != query && !self.pins.contains(position))
        };
        let candidates = unpinned().filter(|(_, (position, _))| **position < first_recent);
        let lowest = candidates.min_by(|(_, (p, a)), (_, (q, b))| a.total_cmp(b).then(p.cmp(q)));
        let oldest = || unpinned().min_by_key(|(_, (position, _))| **position);
        lowest.or_else(oldest).map(|(place, _)| place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(budget: usize, recent: usize, pins: &[usize]) -> AttentionPolicy {
        AttentionPolicy { budget, recent, pins: pins.iter().copied().collect(), sums: true }
    }

    #[test]
    fn the_lowest_goes_and_of_equals_the_older() {
        let board = ScoreBoard { positions: &[5, 0, 3, 2], scores: &[0.1, 0.5, 0.2, 0.2] };
        // 5 is the query itself; 2 and 3 tie.
        assert_eq!(policy(3, 1, &[]).victim(board, 5), Some(3));
        assert_eq!(policy(4, 1, &[]).victim(board, 5), None);
        assert_eq!(policy(3, 1, &[2, 3]).victim(board, 5), Some(1));
    }

    #[test]
    fn without_a_candidate_the_oldest_unpinned_goes() {
        let board = ScoreBoard { positions: &[0, 4, 5, 6], scores: &[9.0, 3.0, 1.0, 0.0] };
        assert_eq!(policy(3, 3, &[0]).victim(board, 6), Some(1));
    }
}
