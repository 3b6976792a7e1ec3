//! The difference of two patterns, cell by cell where both have one.

use super::pool::{NO_VALUE, NOTHING, Pooler, Values};
use super::tile::{computed_rows, spread};
use super::{
    AlignBy, Alignment, BLOCK_WEIGHTS, MASKED, NOT_AVAILABLE, PatternOf, PatternTile, Shaping, TileArea,
};
use crate::capture::Capture;
use crate::progress::{CancelToken, Cancelled};
use std::ops::Range;
use std::sync::Arc;

/// Two patterns, of one run or of two, and which of their tokens belong together. Rows and columns
/// are the entries of the alignment.
#[derive(Debug, Clone)]
pub struct Difference {
    /// The run and pattern from which is subtracted.
    pub a: (Arc<Capture>, PatternOf),
    /// The run and pattern that is subtracted.
    pub b: (Arc<Capture>, PatternOf),
    /// How they were aligned.
    pub by: AlignBy,
    /// Their tokens side by side.
    pub alignment: Arc<Alignment>,
}

impl Difference {
    /// Entries along each side.
    #[must_use]
    pub fn side(&self) -> usize {
        self.alignment.len()
    }

    /// Both weights of a cell; `None` for one where its text has no such tokens or its query can't see the key.
    #[must_use]
    pub fn weights(&self, row: usize, column: usize) -> (Option<f32>, Option<f32>) {
        let of = |(capture, of): &(Arc<Capture>, PatternOf), query: Option<usize>, key: Option<usize>| {
            capture.cell(*of, &Shaping::default(), query?, key?)
        };
        let pair = |entry: usize| self.alignment.pairs.get(entry).copied().unwrap_or((None, None));
        let (query, key) = (pair(row), pair(column));
        (of(&self.a, query.0, key.0), of(&self.b, query.1, key.1))
    }

    /// The exact difference of a cell: `None` where neither query sees its key, [`NOT_AVAILABLE`] where
    /// the cell is in one of the two only.
    #[must_use]
    pub fn cell(&self, row: usize, column: usize) -> Option<f32> {
        let pair = |entry: usize| self.alignment.pairs.get(entry).copied();
        let (query, key) = (pair(row)?, pair(column)?);
        match self.weights(row, column) {
            (Some(a), Some(b)) => Some(a - b),
            (None, None) if column > row || is_aligned(query) && is_aligned(key) => None,
            _ => Some(NOT_AVAILABLE),
        }
    }

    /// A part of the difference; where cells are pooled, the one of the largest magnitude stands for them.
    ///
    /// # Errors
    /// [`Cancelled`] when the token is raised between blocks.
    pub fn tile(&self, area: &TileArea, cancel: &CancelToken) -> Result<PatternTile, Cancelled> {
        Self::tile_between((&self.a.0, self.a.1), (&self.b.0, self.b.1), &self.alignment, area, cancel)
    }

    /// The same for two patterns that are not owned together.
    ///
    /// # Errors
    /// [`Cancelled`] when the token is raised between blocks.
    pub fn tile_between(
        a: (&Capture, PatternOf),
        b: (&Capture, PatternOf),
        alignment: &Alignment,
        area: &TileArea,
        cancel: &CancelToken,
    ) -> Result<PatternTile, Cancelled> {
        let a = Side { capture: a.0, of: a.1, position: |pair| pair.0 };
        let b = Side { capture: b.0, of: b.1, position: |pair| pair.1 };
        tile(&a, &b, alignment, area, cancel)
    }
}

type Pair = (Option<usize>, Option<usize>);

/// One of the two patterns.
struct Side<'a> {
    capture: &'a Capture,
    of: PatternOf,
    /// Its position in an entry of the alignment.
    position: fn(Pair) -> Option<usize>,
}

fn tile(
    a: &Side<'_>,
    b: &Side<'_>,
    alignment: &Alignment,
    area: &TileArea,
    cancel: &CancelToken,
) -> Result<PatternTile, Cancelled> {
    let area = area.cut_to(alignment.len());
    let mut pooler = Pooler::new(&area, Values::Differences, &[]);
    let rows = computed_rows(&area);
    for block in rows.chunks((BLOCK_WEIGHTS / area.keys.len().max(1)).max(1)) {
        cancel.check()?;
        let a = a.block(&alignment.pairs, block, &area.keys);
        let b = b.block(&alignment.pairs, block, &area.keys);
        let width = area.keys.len();
        for (index, &row) in block.iter().enumerate() {
            let line = index * width..(index + 1) * width;
            let seen = 0..(row + 1).clamp(area.keys.start, area.keys.end) - area.keys.start;
            let values: Vec<f32> =
                a[line.clone()].iter().zip(&b[line]).map(|(&a, &b)| difference(a, b)).collect();
            pooler.add(row, seen, &values, 0.0);
        }
    }
    let mut tile = pooler.finish();
    if area.sketch {
        spread(&mut tile, &rows, |row| 0..row + 1);
    }
    Ok(tile)
}

impl Side<'_> {
    /// Weights `[rows, keys]` over entries; [`NOT_AVAILABLE`] where the text has no token.
    fn block(&self, pairs: &[Pair], rows: &[usize], keys: &Range<usize>) -> Vec<f32> {
        let mut block = vec![NOT_AVAILABLE; rows.len() * keys.len()];
        let position = |entry: usize| (self.position)(pairs[entry]);
        let queries: Vec<(usize, usize)> =
            rows.iter().enumerate().filter_map(|(index, &row)| Some((index, position(row)?))).collect();
        let columns = keys.clone().enumerate();
        let columns: Vec<(usize, usize)> =
            columns.filter_map(|(offset, column)| Some((offset, position(column)?))).collect();
        let (Some(&(_, first)), Some(&(_, last))) = (columns.first(), columns.last()) else { return block };
        let positions: Vec<usize> = queries.iter().map(|&(_, query)| query).collect();
        // Positions ascend without gaps, so the columns are one range of keys.
        let weights = self.capture.weights(self.of, &Shaping::default(), &positions, first..last + 1);
        for (&(index, _), row) in queries.iter().zip(weights.chunks_exact(last + 1 - first)) {
            for &(offset, key) in &columns {
                block[index * keys.len() + offset] = row[key - first];
            }
        }
        block
    }
}

fn is_aligned(pair: (Option<usize>, Option<usize>)) -> bool {
    pair.0.is_some() && pair.1.is_some()
}

fn difference(a: f32, b: f32) -> f32 {
    if a == MASKED && b == MASKED {
        NOTHING
    } else if a <= NOT_AVAILABLE || b <= NOT_AVAILABLE {
        NO_VALUE
    } else {
        a - b
    }
}
