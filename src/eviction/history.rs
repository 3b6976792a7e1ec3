//! What the cache holds at each step, for any policy.

use super::Schedule;
use super::schedule::NEVER;
use serde::Serialize;

/// The keys in the cache: one list, or one for each layer and KV head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Kept {
    /// The same in all layers and heads.
    Shared(Vec<usize>),
    /// `[layer][kv_head]`.
    PerHead(Vec<Vec<Vec<usize>>>),
}

/// The history of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Retention {
    /// Positions decided: one history for all.
    Shared(Schedule),
    /// Attention decided: for each layer and KV head, the step after which each key is gone.
    PerHead(Vec<Vec<Vec<u32>>>),
}

impl Retention {
    /// What the cache holds after a step.
    #[must_use]
    pub fn kept_after(&self, step: usize) -> Kept {
        let alive = |evicted_at: &Vec<u32>| {
            let held = |key: &usize| evicted_at[*key] == NEVER || evicted_at[*key] as usize > step;
            (0..evicted_at.len().min(step + 1)).filter(held).collect()
        };
        match self {
            Self::Shared(schedule) => Kept::Shared(schedule.retained_after(step)),
            Self::PerHead(layers) => {
                Kept::PerHead(layers.iter().map(|heads| heads.iter().map(alive).collect()).collect())
            }
        }
    }

    /// For each key up to `step` the share of caches (layers × KV heads) that hold it after that step.
    #[must_use]
    pub fn share_after(&self, step: usize) -> Vec<f32> {
        let mut share = vec![0.0; step + 1];
        match self.kept_after(step) {
            Kept::Shared(kept) => kept.into_iter().for_each(|key| share[key] = 1.0),
            Kept::PerHead(layers) => {
                let caches: Vec<_> = layers.into_iter().flatten().collect();
                let one = 1.0 / caches.len().max(1) as f32;
                caches.into_iter().flatten().for_each(|key| share[key] += one);
            }
        }
        share
    }
}
