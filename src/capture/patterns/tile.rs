//! Tiles of one pattern, block of rows by block of rows.

use super::pool::{Pooler, Values};
use super::rows::offsets;
use super::{BLOCK_WEIGHTS, MASKED, PatternOf, PatternTile, Shaping, TileArea};
use crate::capture::Capture;
use crate::progress::{CancelToken, Cancelled};
use std::ops::Range;

impl Capture {
    /// One head's pattern over `rows` × `keys`, max-pooled until neither side exceeds `max_side` cells.
    /// Ranges are cut at the text's end.
    ///
    /// # Errors
    /// [`Cancelled`] when the token is raised between blocks.
    pub fn pattern_tile(
        &self,
        layer: usize,
        head: usize,
        rows: Range<usize>,
        keys: Range<usize>,
        max_side: usize,
        cancel: &CancelToken,
    ) -> Result<PatternTile, Cancelled> {
        let area = TileArea { rows, keys, max_side, sketch: false };
        self.tile(PatternOf::Head { layer, head }, &area, &Shaping::default(), cancel)
    }

    /// A part of a pattern, shaped, then max-pooled until neither side exceeds the wanted size. Ranges
    /// are cut at the text's end; the pattern must exist.
    ///
    /// # Errors
    /// [`Cancelled`] when the token is raised between blocks.
    pub fn tile(
        &self,
        of: PatternOf,
        area: &TileArea,
        shaping: &Shaping,
        cancel: &CancelToken,
    ) -> Result<PatternTile, Cancelled> {
        let area = area.cut_to(self.len());
        let kind = if matches!(of, PatternOf::Head { .. }) { Values::Logarithms } else { Values::Weights };
        let mut pooler = Pooler::new(&area, kind, &shaping.hidden);
        let rows = computed_rows(&area);
        let most = (BLOCK_WEIGHTS / area.keys.len().max(1)).max(1);
        for block in rows.chunks(most) {
            cancel.check()?;
            let Some(last) = block.last() else { continue };
            // Nothing to the right of the block's last query is visible.
            let keys = area.keys.start..area.keys.end.min(last + 1).max(area.keys.start);
            if keys.is_empty() {
                continue;
            }
            self.pool_block(of, shaping, block, keys, &mut pooler, cancel)?;
        }
        let mut tile = pooler.finish();
        if area.sketch {
            spread(&mut tile, &rows, |query| self.visible_keys_of(of, query));
        }
        Ok(tile)
    }

    fn pool_block(
        &self,
        of: PatternOf,
        shaping: &Shaping,
        block: &[usize],
        keys: Range<usize>,
        pooler: &mut Pooler<'_>,
        cancel: &CancelToken,
    ) -> Result<(), Cancelled> {
        let left = self.left_of_rows(of, shaping, block);
        let (values, lse) = match of {
            PatternOf::Head { layer, head } => {
                let lse = &self.layers[layer].lse[head * self.len()..][..self.len()];
                (self.scores(layer, head, block, keys.clone()), Some(lse))
            }
            _ => (self.weights_unless(of, block, keys.clone(), cancel)?, None),
        };
        for ((&query, left), row) in block.iter().zip(left).zip(values.chunks_exact(keys.len())) {
            let seen = offsets(&self.visible_keys_of(of, query), &keys);
            match (left, lse) {
                (None, _) => pooler.add_empty(query, seen),
                (Some(1.0), Some(lse)) => pooler.add(query, seen, row, lse[query]),
                (Some(left), Some(lse)) => pooler.add(query, seen, row, lse[query] + left.ln() as f32),
                (Some(1.0), None) => pooler.add(query, seen, row, 0.0),
                (Some(left), None) => {
                    let scaled: Vec<f32> = row.iter().map(|w| (f64::from(*w) / left) as f32).collect();
                    pooler.add(query, seen, &scaled, 0.0);
                }
            }
        }
        Ok(())
    }
}

/// The rows that are computed: all, or for a sketch the middle one of evenly spaced rows of cells.
pub(super) fn computed_rows(area: &TileArea) -> Vec<usize> {
    if !area.sketch {
        return area.rows.clone().collect();
    }
    let pool = area.pool();
    let cells = area.rows.len().div_ceil(pool);
    let step = cells.div_ceil(TileArea::SKETCH_ROWS).max(1);
    let row_of = |cell: usize| (area.rows.start + cell * pool + pool / 2).min(area.rows.end - 1);
    (0..cells).step_by(step).map(row_of).collect()
}

/// Repeats each computed row of cells down to the next, as far as the rows there see.
pub(super) fn spread(tile: &mut PatternTile, rows: &[usize], visible: impl Fn(usize) -> Range<usize>) {
    let (width, pool) = (tile.width, tile.pool);
    let cell_of = |row: usize| (row - tile.rows.start) / pool;
    for (index, &row) in rows.iter().enumerate() {
        let first = cell_of(row);
        let next = rows.get(index + 1).map_or(tile.height, |&row| cell_of(row));
        for cell in first + 1..next {
            let (above, below) = tile.values.split_at_mut(cell * width);
            let (source, line) = (&above[first * width..][..width], &mut below[..width]);
            line.copy_from_slice(source);
            // The last query that shares this row of cells sees the most.
            let last = (tile.rows.start + (cell + 1) * pool).min(tile.rows.end) - 1;
            let first_of_cell = tile.rows.start + cell * pool;
            let start = visible(first_of_cell).start.saturating_sub(tile.keys.start) / pool;
            let end = visible(last).end.saturating_sub(tile.keys.start).div_ceil(pool);
            line[..start.min(width)].fill(MASKED);
            line[end.min(width)..].fill(MASKED);
            // What the computed row could not see yet, these rows can.
            let known = source.iter().rposition(|&value| value != MASKED).map_or(0, |last| last + 1);
            if let Some(&edge) = known.checked_sub(1).and_then(|last| source.get(last)) {
                line[known.min(end.min(width))..end.min(width)].fill(edge);
            }
        }
    }
}
