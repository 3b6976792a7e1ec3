//! Policies that decide by position alone: the whole history is known before anything runs.

use super::{EvictionCase, PolicyName};
use crate::attention::VisibilityRule;
use std::collections::BTreeSet;
use std::ops::Range;

/// A key that is never evicted.
pub(super) const NEVER: u32 = u32::MAX;

/// When each key is evicted, and so what each query sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// For each key the step after which it is gone, or [`NEVER`].
    evicted_at: Vec<u32>,
    /// What each query sees, as ranges, and where each query's ranges start.
    ranges: Vec<Range<u32>>,
    starts: Vec<u32>,
}

impl Schedule {
    /// Plays the case over a text of `n` tokens.
    ///
    /// # Panics
    /// When the policy is none of full, FIFO and random.
    #[must_use]
    pub fn of(case: &EvictionCase, pins: &BTreeSet<usize>, n: usize) -> Self {
        let budget = case.budget_in(n);
        let mut evicted_at = vec![NEVER; n];
        let mut random = SplitMix(case.seed);
        // Unpinned keys in the cache, oldest first.
        let mut unpinned = std::collections::VecDeque::new();
        let mut held = 0;
        for step in 0..n {
            held += 1;
            if !pins.contains(&step) {
                unpinned.push_back(step);
            }
            if held <= budget {
                continue;
            }
            let place = match case.policy {
                PolicyName::Random => {
                    // The newest R keys are safe; with pins among them fewer unpinned ones are.
                    let first_recent = (step + 1).saturating_sub(case.recent_keys());
                    let candidates = unpinned.partition_point(|&key| key < first_recent);
                    if candidates == 0 { 0 } else { random.below(candidates) }
                }
                PolicyName::Full | PolicyName::Fifo => 0,
                other => panic!("{other:?} decides by attention"),
            };
            let evicted = unpinned.remove(place).expect("the budget exceeds the pins");
            evicted_at[evicted] = step as u32;
            held -= 1;
        }
        Self::of_evictions(evicted_at)
    }

    /// The schedule in which key `j` is gone after step `evicted_at[j]`.
    #[must_use]
    pub(super) fn of_evictions(evicted_at: Vec<u32>) -> Self {
        let n = evicted_at.len();
        let (mut ranges, mut starts) = (Vec::new(), Vec::with_capacity(n + 1));
        // Keys that are still there, as ranges; each step appends one key and removes at most a few.
        let mut present: Vec<Range<u32>> = Vec::new();
        let mut leaving: Vec<Vec<u32>> = vec![Vec::new(); n];
        for (key, &step) in evicted_at.iter().enumerate() {
            if step != NEVER {
                leaving[step as usize].push(key as u32);
            }
        }
        for step in 0..n as u32 {
            match present.last_mut() {
                Some(last) if last.end == step => last.end += 1,
                _ => present.push(step..step + 1),
            }
            starts.push(ranges.len() as u32);
            ranges.extend(present.iter().cloned());
            leaving[step as usize].iter().for_each(|&key| remove(&mut present, key));
        }
        starts.push(ranges.len() as u32);
        Self { evicted_at, ranges, starts }
    }

    /// The keys that the cache holds after step `step`, ascending.
    #[must_use]
    pub fn retained_after(&self, step: usize) -> Vec<usize> {
        let held = |key: &usize| self.evicted_at[*key] == NEVER || self.evicted_at[*key] as usize > step;
        (0..=step.min(self.evicted_at.len().saturating_sub(1))).filter(held).collect()
    }

    fn seen_by(&self, query: usize) -> &[Range<u32>] {
        &self.ranges[self.starts[query] as usize..self.starts[query + 1] as usize]
    }
}

impl VisibilityRule for Schedule {
    fn visible(&self, query: usize, ranges: &mut Vec<Range<usize>>) {
        ranges.extend(self.seen_by(query).iter().map(|range| range.start as usize..range.end as usize));
    }
}

/// Takes one key out of ascending ranges.
fn remove(ranges: &mut Vec<Range<u32>>, key: u32) {
    let Some(place) = ranges.iter().position(|range| range.contains(&key)) else { return };
    let Range { start, end } = ranges[place];
    let parts = [start..key, key + 1..end].into_iter().filter(|part| !part.is_empty());
    ranges.splice(place..=place, parts.collect::<Vec<_>>());
}

/// A small seeded generator (Steele, Lea and Flood's SplitMix64): the same seed gives the same
/// evictions on every machine and in every version.
struct SplitMix(u64);

impl SplitMix {
    /// A number below `bound`, which is small against 2⁶⁴.
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eviction::PinChoice;

    fn seen(schedule: &Schedule, query: usize) -> Vec<usize> {
        let mut ranges = Vec::new();
        schedule.visible(query, &mut ranges);
        ranges.into_iter().flatten().collect()
    }

    #[test]
    fn a_window_keeps_the_newest_and_a_query_sees_them_and_itself() {
        let schedule = Schedule::of(&EvictionCase::fifo(3, PinChoice::None), &BTreeSet::new(), 8);
        // Rows 0…budget see everything.
        assert_eq!(seen(&schedule, 3), [0, 1, 2, 3]);
        assert_eq!(seen(&schedule, 4), [1, 2, 3, 4]);
        assert_eq!(schedule.retained_after(3), [1, 2, 3]);
        assert_eq!(schedule.retained_after(7), [5, 6, 7]);
    }

    #[test]
    fn pins_stay_also_those_that_come_later() {
        let pins = BTreeSet::from([0, 5]);
        let schedule = Schedule::of(&EvictionCase::fifo(4, PinChoice::None), &pins, 12);
        assert_eq!(schedule.retained_after(4), [0, 2, 3, 4]);
        assert_eq!(schedule.retained_after(11), [0, 5, 10, 11]);
        assert_eq!(seen(&schedule, 11), [0, 5, 9, 10, 11]);
    }

    #[test]
    fn random_evictions_follow_the_seed_and_spare_the_recent() {
        let case = EvictionCase {
            policy: PolicyName::Random,
            budget: Some(8),
            recent: Some(4),
            seed: 7,
            ..EvictionCase::default()
        };
        let pins = BTreeSet::from([1]);
        let schedule = Schedule::of(&case, &pins, 60);
        assert_eq!(schedule, Schedule::of(&case, &pins, 60));
        assert_ne!(schedule, Schedule::of(&EvictionCase { seed: 8, ..case }, &pins, 60));
        for step in 8..60 {
            let kept = schedule.retained_after(step);
            assert_eq!(kept.len(), 8);
            assert!(
                kept.contains(&1) && (step - 3..=step).all(|key| kept.contains(&key)),
                "{step}: {kept:?}"
            );
        }
    }
}
