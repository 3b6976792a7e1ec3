//! Which part of a square matrix a view shows: zoom, pan, and the way between cells and screen. Pure.

use std::ops::Range;

/// Cells that stay visible at the closest zoom.
const CLOSEST_CELLS: f64 = 6.0;

/// A square window on a square matrix, in cells. Rows run down, columns to the right.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Viewport {
    /// First row shown; may lie within a cell.
    pub row: f64,
    /// First column shown; may lie within a cell.
    pub column: f64,
    /// Cells shown along each side.
    pub cells: f64,
}

impl Viewport {
    /// The whole matrix of `side` × `side` cells.
    #[must_use]
    pub fn fit(side: usize) -> Self {
        Self { row: 0.0, column: 0.0, cells: to_f64(side.max(1)) }
    }

    /// Whether the whole matrix is shown.
    #[must_use]
    pub fn is_fit(&self, side: usize) -> bool {
        self.cells >= to_f64(side)
    }

    /// Magnification against [`Viewport::fit`].
    #[must_use]
    pub fn zoom(&self, side: usize) -> f64 {
        to_f64(side.max(1)) / self.cells
    }

    /// Magnifies by `factor` so that the point at (`x`, `y`), each 0…1 across the view, stays where it is.
    #[must_use]
    pub fn zoomed(self, factor: f64, x: f64, y: f64, side: usize) -> Self {
        let side_cells = to_f64(side.max(1));
        let cells = (self.cells / factor).clamp(CLOSEST_CELLS.min(side_cells), side_cells);
        let kept = self.cells - cells;
        Self { row: self.row + y * kept, column: self.column + x * kept, cells }.clamped(side)
    }

    /// Shows the box between two points, each 0…1 across the view, as large as the square view allows.
    #[must_use]
    pub fn boxed(self, from: (f64, f64), to: (f64, f64), side: usize) -> Self {
        let (x, y) = ((from.0.min(to.0), from.0.max(to.0)), (from.1.min(to.1), from.1.max(to.1)));
        let side_cells = to_f64(side.max(1));
        let wanted = (x.1 - x.0).max(y.1 - y.0) * self.cells;
        let cells = wanted.clamp(CLOSEST_CELLS.min(side_cells), side_cells);
        let around =
            |first: f64, part: (f64, f64)| first + f64::midpoint(part.0, part.1) * self.cells - cells / 2.0;
        Self { row: around(self.row, y), column: around(self.column, x), cells }.clamped(side)
    }

    /// The view of the same size around a point, 0…1 across the whole matrix.
    #[must_use]
    pub fn centered(self, x: f64, y: f64, side: usize) -> Self {
        let first = |part: f64| part * to_f64(side) - self.cells / 2.0;
        Self { row: first(y), column: first(x), ..self }.clamped(side)
    }

    /// Moves by so many cells, within the matrix.
    #[must_use]
    pub fn panned(self, rows: f64, columns: f64, side: usize) -> Self {
        Self { row: self.row + rows, column: self.column + columns, ..self }.clamped(side)
    }

    /// Moves as little as needed to show a cell whole.
    #[must_use]
    pub fn revealing(self, row: usize, column: usize, side: usize) -> Self {
        let reveal = |first: f64, cell: usize| {
            let cell = to_f64(cell);
            first.clamp((cell + 1.0 - self.cells).min(cell), cell)
        };
        Self { row: reveal(self.row, row), column: reveal(self.column, column), ..self }.clamped(side)
    }

    /// The cell (row, column) at (`x`, `y`), each 0…1 across the view.
    #[must_use]
    pub fn cell_at(&self, x: f64, y: f64, side: usize) -> Option<(usize, usize)> {
        let index = |first: f64, part: f64| {
            let at = (first + part * self.cells).floor();
            (at >= 0.0 && at < to_f64(side)).then(|| to_usize(at))
        };
        let inside = (0.0..=1.0).contains(&x) && (0.0..=1.0).contains(&y);
        if !inside {
            return None;
        }
        Some((index(self.row, y)?, index(self.column, x)?))
    }

    /// Rows of which at least a part is shown.
    #[must_use]
    pub fn rows(&self, side: usize) -> Range<usize> {
        visible(self.row, self.cells, side)
    }

    /// Columns of which at least a part is shown.
    #[must_use]
    pub fn columns(&self, side: usize) -> Range<usize> {
        visible(self.column, self.cells, side)
    }

    fn clamped(self, side: usize) -> Self {
        let last = (to_f64(side.max(1)) - self.cells).max(0.0);
        Self { row: self.row.clamp(0.0, last), column: self.column.clamp(0.0, last), ..self }
    }
}

fn visible(first: f64, cells: f64, side: usize) -> Range<usize> {
    let end = to_usize((first + cells - 1e-9).ceil()).min(side);
    to_usize(first.floor()).min(end)..end
}

pub(super) fn to_f64(cells: usize) -> f64 {
    cells as f64
}

/// Truncates; negative values and NaN give 0.
pub(super) fn to_usize(cells: f64) -> usize {
    cells as usize
}

/// Screen coordinates are `f32`.
pub(super) fn to_f32(points: f64) -> f32 {
    points as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zooming_keeps_the_cell_under_the_pointer() {
        let view = Viewport::fit(4096).zoomed(8.0, 0.3, 0.7, 4096);
        assert!((view.cells - 512.0).abs() < 1e-9);
        let closer = view.zoomed(3.0, 0.25, 0.9, 4096);
        assert_eq!(closer.cell_at(0.25, 0.9, 4096), view.cell_at(0.25, 0.9, 4096));
        let back = closer.zoomed(1.0 / 3.0, 0.25, 0.9, 4096);
        assert!((back.row - view.row).abs() < 1e-6 && (back.column - view.column).abs() < 1e-6);
    }

    #[test]
    fn the_view_never_leaves_the_matrix() {
        let view = Viewport::fit(100).zoomed(4.0, 1.0, 1.0, 100).panned(1e6, 1e6, 100);
        assert_eq!((view.rows(100), view.columns(100)), (75..100, 75..100));
        assert_eq!(view.panned(-1e6, -1e6, 100).rows(100), 0..25);
        assert_eq!(view.zoomed(1e-9, 0.5, 0.5, 100), Viewport::fit(100));
        assert!((view.zoomed(1e9, 0.5, 0.5, 100).cells - CLOSEST_CELLS).abs() < f64::EPSILON);
    }

    #[test]
    fn a_box_becomes_the_view_and_keeps_its_middle() {
        let view = Viewport::fit(1000).boxed((0.2, 0.5), (0.3, 0.7), 1000);
        assert!((view.cells - 200.0).abs() < 1e-9, "the longer side fits");
        assert!((view.column - 150.0).abs() < 1e-9 && (view.row - 500.0).abs() < 1e-9);
        let again = view.boxed((0.9, 0.9), (0.4, 0.4), 1000);
        assert!((again.cells - 100.0).abs() < 1e-9 && (again.row - 580.0).abs() < 1e-9, "drawn upwards");
        let tiny = view.boxed((0.5, 0.5), (0.5, 0.5), 1000);
        assert!((tiny.cells - CLOSEST_CELLS).abs() < 1e-9);
    }

    #[test]
    fn the_minimap_moves_the_view_within_the_matrix() {
        let view = Viewport::fit(1000).zoomed(10.0, 0.0, 0.0, 1000);
        assert_eq!(view.centered(0.5, 0.5, 1000).rows(1000), 450..550);
        assert_eq!(view.centered(1.0, 0.0, 1000).columns(1000), 900..1000);
    }

    #[test]
    fn the_smallest_matrices_have_a_view() {
        let view = Viewport::fit(1).zoomed(5.0, 0.5, 0.5, 1);
        assert_eq!((view.rows(1), view.cell_at(0.5, 0.5, 1)), (0..1, Some((0, 0))));
        assert_eq!(Viewport::fit(0).cell_at(0.5, 0.5, 0), None);
    }

    #[test]
    fn revealing_moves_no_more_than_needed() {
        let view = Viewport { row: 10.0, column: 10.0, cells: 10.0 };
        assert_eq!(view.revealing(12, 12, 100), view);
        let moved = view.revealing(25, 3, 100);
        assert!((moved.row - 16.0).abs() < 1e-9 && (moved.column - 3.0).abs() < 1e-9);
    }

    #[test]
    fn outside_the_view_is_no_cell() {
        let view = Viewport::fit(10);
        assert_eq!(view.cell_at(1.01, 0.5, 10), None);
        assert_eq!(view.cell_at(0.999, 0.0, 10), Some((0, 9)));
    }
}
