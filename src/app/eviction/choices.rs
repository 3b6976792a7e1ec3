//! What the controls say, and the experiments that follow from it.

use crate::eviction::{EvictionCase, PinChoice, PolicyName, Positions};

/// Budgets that the keyboard steps through and a sweep visits: two a doubling.
pub const BUDGET_STEPS: [usize; 27] = [
    1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096,
    6144, 8192, 12_288,
];

/// What the controls say.
#[derive(Debug, Clone, PartialEq)]
pub struct Choices {
    /// Which key goes.
    pub policy: PolicyName,
    /// Keys that the cache may hold.
    pub budget: usize,
    /// Newest keys that are safe, for the policies that have such; half the budget when `None`.
    pub recent: Option<usize>,
    /// Seed of the random policy.
    pub seed: u64,
    /// Positions of retained keys.
    pub positions: Positions,
    /// Whether the run with pins is shown beside the one without.
    pub pinned: bool,
    /// What is pinned then.
    pub pins: PinChoice,
    /// Whether the slider is being dragged: runs that it only passes are not kept.
    pub sliding: bool,
}

impl Default for Choices {
    fn default() -> Self {
        Self {
            policy: PolicyName::Fifo,
            budget: 128,
            recent: None,
            seed: 0,
            positions: Positions::Original,
            pinned: true,
            pins: PinChoice::Bos,
            sliding: false,
        }
    }
}

impl Choices {
    /// The pins of the runs to show: none, then the chosen ones.
    #[must_use]
    pub fn pin_choices(&self) -> Vec<PinChoice> {
        let chosen = Some(self.pins.clone()).filter(|pins| self.pinned && *pins != PinChoice::None);
        std::iter::once(PinChoice::None).chain(chosen).collect()
    }

    /// The chosen experiment with these pins and this budget.
    #[must_use]
    pub fn case(&self, pins: PinChoice, budget: usize) -> EvictionCase {
        let recent = self.recent.filter(|_| self.has_recent()).map(|recent| recent.min(budget));
        EvictionCase {
            policy: self.policy,
            budget: Some(budget),
            pins,
            recent,
            positions: self.positions,
            seed: if self.policy == PolicyName::Random { self.seed } else { 0 },
        }
    }

    /// Whether the policy keeps the newest keys safe.
    #[must_use]
    pub fn has_recent(&self) -> bool {
        matches!(self.policy, PolicyName::H2o | PolicyName::Random)
    }
}

/// The next budget up or down the ladder of [`BUDGET_STEPS`], within a text of `n` tokens.
#[must_use]
pub fn next_budget(budget: usize, up: bool, n: usize) -> usize {
    let next = if up {
        BUDGET_STEPS.into_iter().find(|step| *step > budget)
    } else {
        BUDGET_STEPS.into_iter().rev().find(|step| *step < budget)
    };
    next.unwrap_or(budget).min(n.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_step_up_and_down_the_ladder_within_the_text() {
        assert_eq!(next_budget(128, true, 1000), 192);
        assert_eq!(next_budget(128, false, 1000), 96);
        assert_eq!(next_budget(100, false, 1000), 96);
        assert_eq!(next_budget(900, true, 1000), 1000);
        assert_eq!(next_budget(1, false, 1000), 1);
    }

    #[test]
    fn the_default_tells_window_against_bos_at_128() {
        let choices = Choices::default();
        let cases: Vec<_> =
            choices.pin_choices().into_iter().map(|pins| choices.case(pins, choices.budget)).collect();
        let wanted = [EvictionCase::fifo(128, PinChoice::None), EvictionCase::fifo(128, PinChoice::Bos)];
        assert_eq!(cases, wanted);
    }

    #[test]
    fn what_a_policy_does_not_have_is_left_out_of_its_case() {
        let choices = Choices { recent: Some(99), seed: 7, ..Choices::default() };
        assert_eq!(choices.case(PinChoice::None, 64), EvictionCase::fifo(64, PinChoice::None));
        let random = Choices { policy: PolicyName::Random, ..choices };
        let case = random.case(PinChoice::None, 64);
        assert_eq!((case.recent, case.seed), (Some(64), 7), "recent can't exceed the budget");
    }
}
