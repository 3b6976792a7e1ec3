//! Level of detail: which part of a matrix is worth computing for a view, and how many cells may
//! share one. Pure, after the idea of prof-viewer's tile manager.
//!
//! Two rules make every zoom truthful. A drawn cell is never smaller than a pixel, since nearest
//! sampling would drop whole columns; and cells that share one are max-pooled, so that a lone heavy
//! cell survives. Levels are few (1, 2, 3, 4, 6, 8, 12, …) and tiles overlap the view, so that
//! zooming and panning mostly find a tile that is already there.

use super::viewport::{Viewport, to_f64, to_usize};
use std::ops::Range;

/// Cells of a tile begin and end at multiples of this many drawn cells.
const BLOCK: usize = 32;
/// How much of the view a tile reaches beyond each of its edges.
const MARGIN: f64 = 0.25;

/// A rectangle of the matrix to compute, and how coarse.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TileRequest {
    /// Rows to cover.
    pub rows: Range<usize>,
    /// Columns to cover.
    pub columns: Range<usize>,
    /// The longest side that the tile may have, in drawn cells.
    pub max_side: usize,
    /// Rows (and columns) that share one drawn cell.
    pub pool: usize,
}

impl TileRequest {
    fn of(rows: Range<usize>, columns: Range<usize>, pool: usize) -> Self {
        let max_side = rows.len().max(columns.len()).div_ceil(pool).max(1);
        Self { rows, columns, max_side, pool }
    }

    fn covers(&self, rows: &Range<usize>, columns: &Range<usize>) -> bool {
        contains(&self.rows, rows) && contains(&self.columns, columns)
    }
}

/// The screen that a matrix is drawn on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Screen {
    /// Side of the square plot in physical pixels.
    pub side_px: f64,
    /// Largest side of a texture.
    pub max_texture_side: usize,
}

/// The coarse tile that shows the whole matrix, and lies below every detail.
#[must_use]
pub fn overview(side: usize, screen: Screen) -> TileRequest {
    TileRequest::of(0..side, 0..side, pool_for(to_f64(side), screen))
}

/// The finer tile that a view deserves; `None` where the overview is as fine.
///
/// A `current` tile of the right level that still covers the view is kept.
#[must_use]
pub fn detail(
    view: &Viewport,
    side: usize,
    screen: Screen,
    current: Option<&TileRequest>,
) -> Option<TileRequest> {
    let pool = pool_for(view.cells * (1.0 + 2.0 * MARGIN), Screen { side_px: f64::INFINITY, ..screen })
        .max(pool_for(view.cells, screen));
    if pool >= overview(side, screen).pool {
        return None;
    }
    let (rows, columns) = (view.rows(side), view.columns(side));
    if let Some(current) = current
        && current.pool == pool
        && current.covers(&rows, &columns)
    {
        return Some(current.clone());
    }
    let margin = to_usize(view.cells * MARGIN);
    let step = BLOCK * pool;
    Some(TileRequest::of(widened(&rows, margin, step, side), widened(&columns, margin, step, side), pool))
}

/// Whether a tile whose drawn cells hold `pool` cells can be shown in a view without losing any.
#[must_use]
pub fn loses_nothing(pool: usize, view: &Viewport, screen: Screen) -> bool {
    // A pixel in a thousand may fall between two cells: that is a rounding error, no loss.
    to_f64(pool) * screen.side_px >= view.cells * 0.999
}

/// The finest level at which `cells` fit both the pixels and a texture.
fn pool_for(cells: f64, screen: Screen) -> usize {
    // Aligning a tile to blocks adds up to two of them, and the cut cells at the view's edges two cells.
    let texture = to_f64(screen.max_texture_side.saturating_sub(2 * BLOCK + 2).max(BLOCK));
    let drawn = screen.side_px.max(1.0).min(texture);
    LEVELS.iter().copied().find(|&pool| to_f64(pool) * drawn >= cells * 0.999).unwrap_or(1 << 24)
}

const LEVELS: [usize; 39] = {
    let mut levels = [1; 39];
    let mut next = 1;
    while next < 39 {
        levels[next] = if next % 2 == 1 { 2 << (next / 2) } else { 3 << (next / 2 - 1) };
        next += 1;
    }
    levels
};

fn widened(shown: &Range<usize>, margin: usize, step: usize, side: usize) -> Range<usize> {
    let start = shown.start.saturating_sub(margin) / step * step;
    let end = (shown.end + margin).div_ceil(step) * step;
    start..end.min(side)
}

fn contains(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SCREEN: Screen = Screen { side_px: 400.0, max_texture_side: 2048 };

    #[test]
    fn a_level_is_at_most_half_coarser_than_the_one_before() {
        assert_eq!(LEVELS[..10], [1, 2, 3, 4, 6, 8, 12, 16, 24, 32]);
        assert!(LEVELS.windows(2).skip(1).all(|pair| pair[0] < pair[1] && 2 * pair[1] <= 3 * pair[0] + 1));
    }

    #[test]
    fn a_short_prompt_is_exact_at_once() {
        let whole = overview(155, SCREEN);
        assert_eq!((whole.rows.clone(), whole.pool, whole.max_side), (0..155, 1, 155));
        assert_eq!(detail(&Viewport::fit(155).zoomed(5.0, 0.5, 0.5, 155), 155, SCREEN, None), None);
    }

    #[test]
    fn a_long_prompt_is_pooled_to_the_pixels() {
        let whole = overview(4096, SCREEN);
        assert_eq!((whole.pool, whole.max_side), (12, 342));
        assert_eq!(detail(&Viewport::fit(4096), 4096, SCREEN, None), None);
    }

    #[test]
    fn exactly_one_cell_a_pixel_needs_no_pooling() {
        assert_eq!(overview(400, SCREEN).pool, 1);
        assert_eq!(overview(401, SCREEN).pool, 2);
    }

    #[test]
    fn zooming_in_refines_down_to_single_cells() {
        let mut view = Viewport::fit(4096);
        let mut pools = vec![];
        for _ in 0..12 {
            view = view.zoomed(1.5, 0.2, 0.9, 4096);
            pools.extend(detail(&view, 4096, SCREEN, None).map(|tile| tile.pool));
        }
        assert!(pools.windows(2).all(|pair| pair[0] >= pair[1]), "{pools:?}");
        assert_eq!((pools.first(), pools.last()), (Some(&8), Some(&1)));
    }

    #[test]
    fn a_small_pan_keeps_the_tile_and_a_large_one_does_not() {
        let view = Viewport::fit(4096).zoomed(8.0, 0.5, 0.5, 4096);
        let tile = detail(&view, 4096, SCREEN, None).expect("finer than the overview");
        let near = view.panned(40.0, -40.0, 4096);
        assert_eq!(detail(&near, 4096, SCREEN, Some(&tile)), Some(tile.clone()));
        let far = view.panned(900.0, 0.0, 4096);
        assert_ne!(detail(&far, 4096, SCREEN, Some(&tile)), Some(tile));
    }

    #[test]
    fn tiles_start_at_multiples_of_their_blocks() {
        let view = Viewport::fit(10_000).zoomed(5.0, 0.41, 0.77, 10_000);
        let tile = detail(&view, 10_000, SCREEN, None).expect("finer than the overview");
        assert_eq!((tile.rows.start % (BLOCK * tile.pool), tile.columns.start % (BLOCK * tile.pool)), (0, 0));
    }

    #[test]
    fn small_textures_are_respected() {
        let small = Screen { side_px: 3000.0, max_texture_side: 1024 };
        assert!(overview(100_000, small).max_side <= 1024);
        let view = Viewport::fit(100_000).zoomed(30.0, 0.3, 0.6, 100_000);
        assert!(detail(&view, 100_000, small, None).is_some_and(|tile| tile.max_side <= 1024));
    }

    #[test]
    fn a_tile_finer_than_the_pixels_is_not_shown() {
        let view = Viewport::fit(4096);
        assert!(!loses_nothing(8, &view, SCREEN));
        assert!(loses_nothing(12, &view, SCREEN));
        assert!(loses_nothing(1, &Viewport { cells: 100.0, ..view }, SCREEN));
    }

    #[test]
    fn degenerate_screens_ask_for_something_small() {
        let none = Screen { side_px: 0.0, max_texture_side: 0 };
        assert!(overview(4096, none).max_side <= 4096);
        assert_eq!(overview(0, SCREEN).max_side, 1);
    }

    proptest! {
        #[test]
        fn any_view_is_covered_by_what_is_asked_for(
            side in 1_usize..20_000, zoom in 1.0..500.0_f64, x in 0.0..1.0_f64, y in 0.0..1.0_f64,
            side_px in 50.0..2500.0_f64,
        ) {
            let screen = Screen { side_px, max_texture_side: 2048 };
            let view = Viewport::fit(side).zoomed(zoom, x, y, side);
            let whole = overview(side, screen);
            let tile = detail(&view, side, screen, None).unwrap_or(whole);
            prop_assert!(tile.covers(&view.rows(side), &view.columns(side)));
            prop_assert!(loses_nothing(tile.pool, &view, screen));
            prop_assert!(tile.max_side <= 2048);
            prop_assert!(tile.rows.end <= side && tile.columns.end <= side);
        }
    }
}
