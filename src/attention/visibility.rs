//! Which keys a query sees. A rule is all that tells a causal prefill from a simulated eviction.

use std::ops::Range;

/// Which keys each query sees.
pub trait VisibilityRule: Sync {
    /// Appends the keys that `query` sees to `ranges`: ascending, disjoint, not empty, `query` itself
    /// included, none above `query`.
    fn visible(&self, query: usize, ranges: &mut Vec<Range<usize>>);
}

/// Every key up to the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Causal;

impl VisibilityRule for Causal {
    fn visible(&self, query: usize, ranges: &mut Vec<Range<usize>>) {
        ranges.push(0..query + 1);
    }
}

/// The last `width` keys, the query itself counted (Hugging Face's convention).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalWindow {
    /// Number of keys that a query sees.
    pub width: usize,
}

impl VisibilityRule for LocalWindow {
    fn visible(&self, query: usize, ranges: &mut Vec<Range<usize>>) {
        ranges.push((query + 1).saturating_sub(self.width)..query + 1);
    }
}
