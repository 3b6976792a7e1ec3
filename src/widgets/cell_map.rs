//! A small map of cells, drawn as one mesh: layers × heads, layers × positions.

use egui::{Color32, Mesh, Rect, Response, Sense, Shape, Ui, pos2, vec2};

/// A map of `rows` × `columns` cells.
pub struct CellMap<'a> {
    /// Accessible name.
    pub name: &'a str,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Value of a cell; `None` where there is none.
    pub value: &'a dyn Fn(usize, usize) -> Option<f64>,
    /// Colour of a value.
    pub color: &'a dyn Fn(f64) -> Color32,
    /// Colour of a cell without a value.
    pub missing: Color32,
    /// A column to point at, and the pointer's colour.
    pub marked: Option<(usize, Color32)>,
}

/// What happened to a map.
pub struct CellMapOutput {
    /// The map as a widget.
    pub response: Response,
    /// Where its cells lie.
    pub rect: Rect,
    /// The cell under the pointer, as `(row, column)`.
    pub hovered: Option<(usize, usize)>,
}

impl CellMap<'_> {
    /// Draws the map into `size` points.
    pub fn show(&self, ui: &mut Ui, size: egui::Vec2) -> CellMapOutput {
        let (rect, response) = ui.allocate_exact_size(size, Sense::click());
        let hovered = response.hover_pos().and_then(|pos| self.cell_at(rect, pos));
        if self.rows > 0 && self.columns > 0 && ui.is_rect_visible(rect) {
            ui.painter().add(Shape::mesh(self.mesh(rect)));
            if let Some((column, color)) = self.marked.filter(|(column, _)| *column < self.columns) {
                self.paint_mark(ui, rect, column, color);
            }
        }
        response.widget_info(|| {
            let mut info = egui::WidgetInfo::labeled(egui::Role::Image, true, self.name);
            info.current_text_value = hovered.map(|(row, column)| match (self.value)(row, column) {
                Some(value) => format!("row {row}, column {column}: {value:.4}"),
                None => format!("row {row}, column {column}: n/a"),
            });
            info
        });
        CellMapOutput { response, rect, hovered }
    }

    /// Columns that share one drawn cell, so that none is narrower than a point.
    fn pool(&self, width: f32) -> usize {
        self.columns.div_ceil(width.max(1.0) as usize).max(1)
    }

    fn mesh(&self, rect: Rect) -> Mesh {
        let pool = self.pool(rect.width());
        let mut mesh = Mesh::default();
        for row in 0..self.rows {
            for first in (0..self.columns).step_by(pool) {
                let last = (first + pool).min(self.columns);
                let value = (first..last)
                    .filter_map(|column| (self.value)(row, column))
                    .reduce(|a, b| if b.is_nan() || b > a { b } else { a });
                let color = value.map_or(self.missing, |value| (self.color)(value));
                let (a, b) = (self.cell(rect, row, first), self.cell(rect, row, last - 1));
                mesh.add_colored_rect(a.union(b), color);
            }
        }
        mesh
    }

    fn cell(&self, rect: Rect, row: usize, column: usize) -> Rect {
        let size = vec2(rect.width() / self.columns as f32, rect.height() / self.rows as f32);
        let min = pos2(rect.left() + size.x * column as f32, rect.top() + size.y * row as f32);
        Rect::from_min_size(min, size)
    }

    fn cell_at(&self, rect: Rect, pos: egui::Pos2) -> Option<(usize, usize)> {
        if !rect.contains(pos) || self.rows == 0 || self.columns == 0 {
            return None;
        }
        let row = ((pos.y - rect.top()) / rect.height() * self.rows as f32) as usize;
        let column = ((pos.x - rect.left()) / rect.width() * self.columns as f32) as usize;
        Some((row.min(self.rows - 1), column.min(self.columns - 1)))
    }

    fn paint_mark(&self, ui: &Ui, rect: Rect, column: usize, color: Color32) {
        let x = self.cell(rect, 0, column).center().x;
        for (y, away) in [(rect.top() - 1.0, -5.0), (rect.bottom() + 1.0, 5.0)] {
            let points = vec![pos2(x, y), pos2(x - 3.5, y + away), pos2(x + 3.5, y + away)];
            ui.painter().add(Shape::convex_polygon(points, color, egui::Stroke::NONE));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(columns: usize, value: &dyn Fn(usize, usize) -> Option<f64>) -> CellMap<'_> {
        CellMap {
            name: "test",
            rows: 2,
            columns,
            value,
            color: &|v| if v > 0.5 { Color32::WHITE } else { Color32::BLACK },
            missing: Color32::RED,
            marked: None,
        }
    }

    #[test]
    fn a_lone_column_survives_where_cells_are_narrower_than_a_point() {
        let value = |_: usize, column: usize| Some(if column == 1003 { 1.0 } else { 0.0 });
        let mesh = map(4096, &value).mesh(Rect::from_min_size(pos2(0.0, 0.0), vec2(300.0, 20.0)));
        assert!(mesh.vertices.iter().any(|v| v.color == Color32::WHITE));
        assert!(mesh.vertices.len() <= 2 * 300 * 4, "no more cells than points");
    }

    #[test]
    fn the_pointer_finds_its_cell() {
        let value = |_: usize, _: usize| None;
        let map = map(4, &value);
        let rect = Rect::from_min_size(pos2(10.0, 10.0), vec2(40.0, 20.0));
        assert_eq!(map.cell_at(rect, pos2(10.0, 10.0)), Some((0, 0)));
        assert_eq!(map.cell_at(rect, pos2(49.9, 29.9)), Some((1, 3)));
        assert_eq!(map.cell_at(rect, pos2(9.0, 10.0)), None);
    }
}
