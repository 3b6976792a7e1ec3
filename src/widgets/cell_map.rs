//! A small map of cells, layers × heads or layers × positions: drawn as one mesh, or as a picture that is
//! kept while nothing changes.

use egui::{
    Color32, ColorImage, Id, Mesh, Rect, Response, Sense, Shape, TextureHandle, TextureOptions, Ui, pos2,
    vec2,
};

/// The width of a picture is a multiple of this where cells share a column, so that few widths need a new one.
const WIDTH_STEP: usize = 16;

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
    /// A hash of all that values and colours follow from: while it stays, no value is read again to draw the
    /// map. `None`: the values are few, and read in every frame.
    pub key: Option<u64>,
}

/// A picture of a map, and what it shows.
#[derive(Clone)]
struct Picture {
    of: (u64, usize, usize),
    texture: TextureHandle,
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
            match self.key {
                Some(key) => self.paint_picture(ui, response.id, rect, key),
                None => {
                    ui.painter().add(Shape::mesh(self.mesh(rect)));
                }
            }
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

    /// Columns that are drawn in so many points or pixels: all, or as many as are not narrower than one.
    fn drawn_columns(&self, room: usize) -> usize {
        if self.columns <= room {
            self.columns
        } else {
            (room / WIDTH_STEP * WIDTH_STEP).max(room.min(WIDTH_STEP)).max(1)
        }
    }

    /// The colour of one of `drawn` columns: that of its largest value, so that a lone one is seen.
    fn drawn_color(&self, row: usize, column: usize, drawn: usize) -> Color32 {
        let first = |column: usize| (column * self.columns).div_ceil(drawn);
        let value = (first(column)..first(column + 1))
            .filter_map(|column| (self.value)(row, column))
            .reduce(|a, b| if b.is_nan() || b > a { b } else { a });
        value.map_or(self.missing, |value| (self.color)(value))
    }

    fn mesh(&self, rect: Rect) -> Mesh {
        let drawn = self.drawn_columns(rect.width() as usize);
        let size = vec2(rect.width() / drawn as f32, rect.height() / self.rows as f32);
        let mut mesh = Mesh::default();
        for row in 0..self.rows {
            for column in 0..drawn {
                let min = rect.min + size * vec2(column as f32, row as f32);
                mesh.add_colored_rect(Rect::from_min_size(min, size), self.drawn_color(row, column, drawn));
            }
        }
        mesh
    }

    fn image(&self, drawn: usize) -> ColorImage {
        let cells = (0..self.rows).flat_map(|row| (0..drawn).map(move |column| (row, column)));
        let pixels = cells.map(|(row, column)| self.drawn_color(row, column, drawn)).collect();
        ColorImage::new([drawn, self.rows], pixels)
    }

    fn paint_picture(&self, ui: &Ui, id: Id, rect: Rect, key: u64) {
        let drawn = self.drawn_columns((rect.width() * ui.pixels_per_point()) as usize);
        let of = (key, self.rows, drawn);
        let known = ui.data(|data| data.get_temp::<Picture>(id)).filter(|picture| picture.of == of);
        let picture = known.unwrap_or_else(|| {
            let texture = ui.ctx().load_texture(self.name, self.image(drawn), TextureOptions::NEAREST);
            let picture = Picture { of, texture };
            ui.data_mut(|data| data.insert_temp(id, picture.clone()));
            picture
        });
        let whole = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
        ui.painter().image(picture.texture.id(), rect, whole, Color32::WHITE);
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
            key: None,
        }
    }

    /// Draws a map once; how many values were read.
    fn values_read(ctx: &egui::Context, key: Option<u64>, width: f32) -> usize {
        let read = std::cell::Cell::new(0);
        let value = |row: usize, column: usize| {
            read.set(read.get() + 1);
            Some((row + column) as f64)
        };
        let _ = ctx.run_ui(egui::RawInput::default(), |ui| {
            CellMap { key, ..map(5000, &value) }.show(ui, vec2(width, 20.0));
        });
        read.get()
    }

    #[test]
    fn a_map_that_does_not_change_is_not_read_again() {
        let ctx = egui::Context::default();
        let all = 2 * 5000;
        assert_eq!(values_read(&ctx, Some(1), 200.0), all);
        assert_eq!(values_read(&ctx, Some(1), 200.0), 0);
        assert_eq!(values_read(&ctx, Some(1), 205.0), 0, "a little wider");
        assert_eq!(values_read(&ctx, Some(2), 200.0), all, "something else");
        assert_eq!(values_read(&ctx, Some(2), 300.0), all, "much wider");
        assert_eq!(values_read(&ctx, None, 200.0), all, "without a key");
    }

    #[test]
    fn a_lone_value_is_seen_in_the_picture_where_it_lies() {
        const COLUMNS: usize = 32_768;
        for sink in [0, 1, 113, 114, 1003, 16_384, COLUMNS - 2, COLUMNS - 1] {
            let value = |row: usize, column: usize| Some(f64::from(u8::from(row == 1 && column == sink)));
            let map = map(COLUMNS, &value);
            for room in [1, 15, 16, 300, 777, 4000] {
                let drawn = map.drawn_columns(room);
                assert!(drawn <= room, "none is narrower than a pixel");
                let image = map.image(drawn);
                let light: Vec<usize> =
                    (0..image.pixels.len()).filter(|&pixel| image.pixels[pixel] == Color32::WHITE).collect();
                assert_eq!(light, [drawn + sink * drawn / COLUMNS], "{sink} of {room}");
            }
        }
    }

    #[test]
    fn every_column_has_a_cell_of_its_own_where_there_is_room() {
        let value = |_: usize, column: usize| (column != 1).then_some(column as f64);
        let image = map(3, &value).image(map(3, &value).drawn_columns(200));
        assert_eq!(image.size, [3, 2]);
        assert_eq!(image.pixels[..3], [Color32::BLACK, Color32::RED, Color32::WHITE]);
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
