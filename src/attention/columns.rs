//! The keys that a block of queries sees between them, packed side by side.

use super::VisibilityRule;
use std::ops::Range;

/// The union of the keys that a block of rows sees. A *column* is a key's place in this packing:
/// only these columns are computed, so a simulated window costs `n · budget`, not `n²`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Columns {
    /// Ascending, disjoint, non-adjacent key ranges, each with the column of its first key.
    ranges: Vec<(usize, Range<usize>)>,
    width: usize,
}

impl Columns {
    /// The union of what `rows` see under `rule`.
    pub fn of(rule: &dyn VisibilityRule, rows: Range<usize>) -> Self {
        let mut all = Vec::new();
        for row in rows {
            rule.visible(row, &mut all);
        }
        all.sort_unstable_by_key(|range| range.start);
        let mut columns = Self::default();
        for range in all {
            match columns.ranges.last_mut() {
                Some((_, last)) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => columns.ranges.push((0, range)),
            }
        }
        for (first_column, keys) in &mut columns.ranges {
            *first_column = columns.width;
            columns.width += keys.len();
        }
        columns
    }

    /// Number of columns.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// The key ranges, each with the column of its first key.
    #[must_use]
    pub fn ranges(&self) -> &[(usize, Range<usize>)] {
        &self.ranges
    }

    /// The keys as one range, where they are one.
    #[must_use]
    pub fn contiguous(&self) -> Option<Range<usize>> {
        match self.ranges.as_slice() {
            [(_, keys)] => Some(keys.clone()),
            _ => None,
        }
    }

    /// Number of columns whose key lies below `key`: the column of `key`, where it has one.
    #[must_use]
    pub fn columns_below(&self, key: usize) -> usize {
        let after = self.ranges.partition_point(|(_, keys)| keys.start < key);
        let Some((first_column, keys)) = after.checked_sub(1).map(|i| &self.ranges[i]) else { return 0 };
        first_column + key.min(keys.end) - keys.start
    }

    /// The key of a column.
    ///
    /// # Panics
    /// When there is no such column.
    #[must_use]
    pub fn key_of(&self, column: usize) -> usize {
        let after = self.ranges.partition_point(|(first_column, _)| *first_column <= column);
        let (first_column, keys) = &self.ranges[after - 1];
        keys.start + column - first_column
    }

    /// The column ranges of one row from its query backwards, each with the number of keys between it and
    /// the query that the row does not see.
    pub fn gaps<'a>(
        &'a self,
        visible: &'a [Range<usize>],
    ) -> impl Iterator<Item = (Range<usize>, usize)> + 'a {
        let mut gap = 0;
        let mut next_start = None;
        visible.iter().rev().map(move |range| {
            gap += next_start.map_or(0, |next| next - (self.key_of(range.end - 1) + 1));
            next_start = Some(self.key_of(range.start));
            (range.clone(), gap)
        })
    }

    /// What one row sees, as column ranges: ascending and disjoint.
    pub fn row(&self, rule: &dyn VisibilityRule, row: usize) -> Vec<Range<usize>> {
        let mut visible = Vec::new();
        rule.visible(row, &mut visible);
        for range in &mut visible {
            *range = self.columns_below(range.start)..self.columns_below(range.end);
        }
        visible
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attention::{Causal, LocalWindow};

    struct Pinned;

    impl VisibilityRule for Pinned {
        fn visible(&self, query: usize, ranges: &mut Vec<Range<usize>>) {
            ranges.push(0..2);
            ranges.push(query - 2..query + 1);
        }
    }

    #[test]
    fn causal_and_local_rows_are_one_range() {
        let causal = Columns::of(&Causal, 4..8);
        assert_eq!((causal.contiguous(), causal.width()), (Some(0..8), 8));
        assert_eq!(causal.row(&Causal, 5), [0..6]);
        let rule = LocalWindow { width: 3 };
        let local = Columns::of(&rule, 4..8);
        assert_eq!(local.contiguous(), Some(2..8));
        assert_eq!(local.row(&rule, 4), [0..3]);
        assert_eq!(local.row(&rule, 7), [3..6]);
        assert_eq!(local.columns_below(0), 0);
    }

    #[test]
    fn pins_and_window_are_packed_without_the_gap() {
        let columns = Columns::of(&Pinned, 10..12);
        assert_eq!(columns.ranges(), [(0, 0..2), (2, 8..12)]);
        assert_eq!((columns.contiguous(), columns.width()), (None, 6));
        assert_eq!(columns.row(&Pinned, 11), [0..2, 3..6]);
        assert_eq!(columns.columns_below(5), 2);
        let visible = columns.row(&Pinned, 11);
        assert_eq!(columns.gaps(&visible).collect::<Vec<_>>(), [(3..6, 0), (0..2, 7)]);
        assert_eq!([0, 1, 2, 5].map(|column| columns.key_of(column)), [0, 1, 8, 11]);
    }
}
