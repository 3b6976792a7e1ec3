//! The weights between a window of queries and the keys worth a place beside it.

use super::{PatternOf, Shaping};
use crate::capture::Capture;
use std::ops::Range;

/// Weights of some heads of a layer between the queries of a window and the window's own keys, behind the
/// first sinks before it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LineWindow {
    /// Queries.
    pub rows: Range<usize>,
    /// Keys: the sinks before the window, then the window.
    pub keys: Vec<usize>,
    /// For each head its number and weights `[rows, keys]`, below 0 where there is none.
    pub heads: Vec<(usize, Vec<f32>)>,
}

impl LineWindow {
    /// Sinks before the window that get a place of their own.
    pub const MOST_SINKS: usize = 4;

    /// The sinks, of these, that get one.
    #[must_use]
    pub fn sinks_before(first: usize, sinks: &[usize]) -> Vec<usize> {
        sinks.iter().copied().filter(|&sink| sink < first).take(Self::MOST_SINKS).collect()
    }

    /// The weights of some heads; layer, heads and rows must exist.
    #[must_use]
    pub fn of(capture: &Capture, layer: usize, heads: &[usize], rows: Range<usize>, sinks: &[usize]) -> Self {
        let before = Self::sinks_before(rows.start, sinks);
        let keys: Vec<usize> = before.iter().copied().chain(rows.clone()).collect();
        let queries: Vec<usize> = rows.clone().collect();
        let plain = Shaping::default();
        let weights = |head: usize| {
            let of = PatternOf::Head { layer, head };
            let within = capture.weights(of, &plain, &queries, rows.clone());
            let column = |&sink: &usize| capture.weights(of, &plain, &queries, sink..sink + 1);
            let columns: Vec<Vec<f32>> = before.iter().map(column).collect();
            let mut all = Vec::with_capacity(queries.len() * keys.len());
            for (index, row) in within.chunks_exact(queries.len().max(1)).enumerate() {
                all.extend(columns.iter().map(|column| column[index]));
                all.extend_from_slice(row);
            }
            (head, all)
        };
        let heads = heads.iter().map(|&head| weights(head)).collect();
        Self { rows, keys, heads }
    }

    /// Each line of at least `least`: head, query, key, weight.
    pub fn lines(&self, least: f32) -> impl Iterator<Item = (usize, usize, usize, f32)> + '_ {
        self.heads.iter().flat_map(move |(head, weights)| {
            let cell = move |(index, &weight): (usize, &f32)| {
                let (row, column) = (index / self.keys.len(), index % self.keys.len());
                (*head, self.rows.start + row, self.keys[column], weight)
            };
            let is_line = move |line: &(usize, usize, usize, f32)| line.3 >= least.max(f32::MIN_POSITIVE);
            weights.iter().enumerate().map(cell).filter(is_line)
        })
    }
}
