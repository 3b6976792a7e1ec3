//! Where the cells of a grid of small pictures go. Pure.
//!
//! A model has many more layers than heads: in one block its pictures would be tiny. So the rows are
//! wrapped into as many blocks side by side as make the pictures largest.

use egui::{Rect, Vec2, pos2, vec2};

/// Room for row labels left of each block, in points.
pub const ROW_LABEL: f32 = 24.0;
/// Room for column labels above the blocks, in points.
pub const COLUMN_LABEL: f32 = 13.0;
const BLOCK_GAP: f32 = 4.0;
const SMALLEST: f32 = 11.0;
const LARGEST: f32 = 96.0;
/// A picture may be this much longer one way than the other.
const STRETCH: f32 = 1.25;

/// A grid of `rows` × `columns` pictures, wrapped into blocks of rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GridLayout {
    /// Rows of the grid.
    pub rows: usize,
    /// Columns of the grid.
    pub columns: usize,
    /// Rows in each block; the last may have fewer.
    pub rows_per_block: usize,
    /// Blocks side by side.
    pub blocks: usize,
    /// Size of a picture with its gap, in points.
    pub cell: Vec2,
}

impl GridLayout {
    /// The layout with the largest pictures; larger than `room` only where they would get too small to see.
    #[must_use]
    pub fn fit(rows: usize, columns: usize, room: Vec2) -> Self {
        let (rows, columns) = (rows.max(1), columns.max(1));
        let candidates = (1..=rows.min(12)).map(|blocks| {
            let rows_per_block = rows.div_ceil(blocks);
            let blocks = rows.div_ceil(rows_per_block);
            let width = room.x - to_f32(blocks) * ROW_LABEL - to_f32(blocks - 1) * BLOCK_GAP;
            let cell =
                vec2(width / to_f32(blocks * columns), (room.y - COLUMN_LABEL) / to_f32(rows_per_block));
            Self { rows, columns, rows_per_block, blocks, cell: balanced(cell) }
        });
        let best = candidates
            .reduce(|best, next| if next.cell.min_elem() > best.cell.min_elem() + 0.5 { next } else { best });
        match best {
            Some(layout) if layout.cell.min_elem() >= SMALLEST => layout,
            _ => Self { rows, columns, rows_per_block: rows, blocks: 1, cell: vec2(SMALLEST, SMALLEST) },
        }
    }

    /// One block in which `count` pictures flow row by row, as large as `room` allows.
    #[must_use]
    pub fn flow(count: usize, room: Vec2) -> Self {
        let count = count.max(1);
        let width = (room.x - ROW_LABEL).max(1.0);
        // Squares: as many columns as make columns · rows just enough.
        let fits = |columns: &usize| {
            let side = width / to_f32(*columns);
            to_f32(count.div_ceil(*columns)) * side <= (room.y - COLUMN_LABEL).max(1.0)
        };
        let most = ((width / SMALLEST) as usize).max(1);
        let columns = (1..=most.min(count)).find(fits).unwrap_or_else(|| most.min(count));
        let side = (width / to_f32(columns)).clamp(SMALLEST, LARGEST);
        let rows = count.div_ceil(columns);
        Self { rows, columns, rows_per_block: rows, blocks: 1, cell: vec2(side, side) }
    }

    /// Size of the whole grid with its labels.
    #[must_use]
    pub fn size(&self) -> Vec2 {
        let width = to_f32(self.blocks) * self.block_width() - BLOCK_GAP;
        vec2(width, COLUMN_LABEL + to_f32(self.rows_per_block) * self.cell.y)
    }

    /// Where the picture at (row, column) lies, from the grid's top left corner.
    #[must_use]
    pub fn cell_rect(&self, row: usize, column: usize) -> Rect {
        let (block, row) = (row / self.rows_per_block, row % self.rows_per_block);
        let x = to_f32(block) * self.block_width() + ROW_LABEL + to_f32(column) * self.cell.x;
        Rect::from_min_size(pos2(x, COLUMN_LABEL + to_f32(row) * self.cell.y), self.cell)
    }

    /// The picture one step away: up and down stay in the block's rows, sideways goes on in the next block.
    #[must_use]
    pub fn neighbour(&self, row: usize, column: usize, down: isize, right: isize) -> (usize, usize) {
        let moved_row = row.saturating_add_signed(down).min(self.rows - 1);
        let moved_column = column.checked_add_signed(right).filter(|&column| column < self.columns);
        match moved_column {
            Some(column) => (moved_row, column),
            None if right > 0 && moved_row + self.rows_per_block < self.rows => {
                (moved_row + self.rows_per_block, 0)
            }
            None if right < 0 && moved_row >= self.rows_per_block => {
                (moved_row - self.rows_per_block, self.columns - 1)
            }
            None => (moved_row, column),
        }
    }

    fn block_width(&self) -> f32 {
        ROW_LABEL + to_f32(self.columns) * self.cell.x + BLOCK_GAP
    }
}

fn balanced(cell: Vec2) -> Vec2 {
    let cell = cell.max(Vec2::splat(0.0)).min(Vec2::splat(LARGEST));
    vec2(cell.x.min(cell.y * STRETCH), cell.y.min(cell.x * STRETCH))
}

fn to_f32(count: usize) -> f32 {
    count as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Vec2 = vec2(360.0, 350.0);

    #[test]
    fn flowing_pictures_fill_the_room_and_scroll_when_they_must() {
        let layout = GridLayout::flow(270, vec2(358.0, 300.0));
        assert!(layout.columns * layout.rows >= 270 && layout.size().y <= 300.0 && layout.size().x <= 358.0);
        assert!(layout.cell.x > 15.0, "no smaller than needed: {:?}", layout.cell);
        let many = GridLayout::flow(5120, vec2(358.0, 300.0));
        assert!(many.cell.x >= SMALLEST && many.size().y > 300.0 && many.size().x <= 358.0);
        assert_eq!(GridLayout::flow(0, vec2(0.0, 0.0)).rows, 1);
    }

    #[test]
    fn the_default_model_fits_without_scrolling() {
        let layout = GridLayout::fit(30, 9, ROOM);
        assert_eq!((layout.blocks, layout.rows_per_block), (2, 15));
        assert!(layout.size().x <= ROOM.x && layout.size().y <= ROOM.y, "{:?}", layout.size());
        assert!(layout.cell.min_elem() >= 16.0, "{:?}", layout.cell);
    }

    #[test]
    fn a_small_model_gets_large_pictures() {
        let layout = GridLayout::fit(4, 4, ROOM);
        assert_eq!(layout.blocks, 1);
        assert!(layout.cell.min_elem() > 60.0 && layout.cell.max_elem() <= LARGEST);
    }

    #[test]
    fn a_room_as_wide_as_the_grid_changes_nothing() {
        for (rows, columns) in [(30, 9), (12, 6), (4, 4), (32, 32), (1, 12)] {
            let layout = GridLayout::fit(rows, columns, ROOM);
            let again = GridLayout::fit(rows, columns, vec2(layout.size().x, ROOM.y));
            assert_eq!((again.blocks, again.rows_per_block), (layout.blocks, layout.rows_per_block));
            assert!((again.cell - layout.cell).length() < 0.01, "{layout:?} {again:?}");
        }
    }

    #[test]
    fn a_large_model_scrolls_at_the_smallest_size() {
        let layout = GridLayout::fit(80, 64, ROOM);
        assert_eq!((layout.blocks, layout.cell), (1, vec2(SMALLEST, SMALLEST)));
        assert!(layout.size().x > ROOM.x && layout.size().y > ROOM.y);
    }

    #[test]
    fn pictures_neither_overlap_nor_leave_the_grid() {
        for (rows, columns) in [(30, 9), (4, 4), (1, 1), (7, 3), (80, 64), (12, 12)] {
            let layout = GridLayout::fit(rows, columns, ROOM);
            let all = Rect::from_min_size(pos2(0.0, 0.0), layout.size()).expand(0.01);
            let rects: Vec<Rect> = (0..rows)
                .flat_map(|row| (0..columns).map(move |column| layout.cell_rect(row, column).shrink(0.01)))
                .collect();
            assert!(rects.iter().all(|&rect| all.contains_rect(rect)), "{rows} × {columns}");
            let overlapping = rects
                .iter()
                .enumerate()
                .take(200)
                .any(|(index, rect)| rects[index + 1..].iter().any(|other| rect.intersects(*other)));
            assert!(!overlapping, "{rows} × {columns}");
        }
    }

    #[test]
    fn arrows_stay_in_the_grid_and_cross_blocks() {
        let layout = GridLayout::fit(30, 9, ROOM);
        assert_eq!(layout.neighbour(0, 0, -1, 0), (0, 0));
        assert_eq!(layout.neighbour(29, 8, 1, 0), (29, 8));
        assert_eq!(layout.neighbour(3, 8, 0, 1), (18, 0));
        assert_eq!(layout.neighbour(18, 0, 0, -1), (3, 8));
        assert_eq!(layout.neighbour(18, 8, 0, 1), (18, 8));
        assert_eq!(layout.neighbour(14, 2, 1, 0), (15, 2));
    }

    #[test]
    fn no_room_and_no_rows_are_no_trouble() {
        assert!(GridLayout::fit(0, 0, Vec2::ZERO).size().is_finite());
    }
}
