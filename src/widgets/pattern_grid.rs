//! A grid of small pictures, one of them in focus: all heads of a model at a glance.

use super::grid_layout::{COLUMN_LABEL, GridLayout};
use egui::emath::GuiRounding as _;
use egui::{
    Align2, Color32, EventFilter, FontId, Id, Key, Mesh, Painter, Rect, Role, ScrollArea, Sense, Shape,
    Stroke, StrokeKind, TextureId, Ui, Vec2, WidgetInfo, pos2, vec2,
};

const GAP: f32 = 1.0;
const FONT_SIZE: f32 = 9.0;

/// Colours of a [`PatternGrid`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GridColors {
    /// A picture that is not there yet.
    pub placeholder: Color32,
    /// Labels.
    pub faint: Color32,
    /// Labels of the focused row and column, and the frame under the pointer.
    pub text: Color32,
    /// Frame of the focused picture.
    pub accent: Color32,
}

/// Rows × columns of pictures from one texture.
pub struct PatternGrid<'a> {
    /// Accessible name.
    pub name: &'a str,
    /// Where the pictures go.
    pub layout: GridLayout,
    /// Label of a row; may be empty.
    pub row_label: &'a dyn Fn(usize) -> String,
    /// Label of a column; may be empty.
    pub column_label: &'a dyn Fn(usize) -> String,
    /// The texture with the pictures; `None` while there is none.
    pub texture: Option<TextureId>,
    /// What there is at (row, column); `None` for nothing.
    pub picture: &'a dyn Fn(usize, usize) -> Option<GridPicture>,
    /// Name of a picture, for example `Layer 3, head 4`.
    pub label: &'a dyn Fn(usize, usize) -> String,
    /// What there is to say about a picture, for example `α of key 0: 0.43`.
    pub describe: &'a dyn Fn(usize, usize) -> String,
    /// More about it, for the tooltip only.
    pub details: &'a dyn Fn(usize, usize) -> String,
    /// The picture in focus.
    pub focus: Option<(usize, usize)>,
    /// Colours.
    pub colors: GridColors,
}

/// What fills a place of the grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GridPicture {
    /// This part of the texture.
    Texture(Rect),
    /// One colour.
    Color(Color32),
    /// A picture that is not there yet.
    Coming,
}

/// What came of showing a [`PatternGrid`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GridOutput {
    /// The picture (row, column) that should have the focus.
    pub focused: Option<(usize, usize)>,
    /// The picture under the pointer.
    pub hovered: Option<(usize, usize)>,
    /// Size of a picture in physical pixels, to make the pictures as large.
    pub cell_px: [usize; 2],
}

impl PatternGrid<'_> {
    /// Shows the grid in all the space that is left; scrolls when it needs more.
    pub fn show(self, ui: &mut Ui) -> GridOutput {
        let layout = self.layout;
        ScrollArea::both()
            .id_salt("pattern grid")
            .auto_shrink([false, false])
            .show_viewport(ui, |ui, viewport| self.contents(ui, layout, viewport))
            .inner
    }

    fn contents(&self, ui: &mut Ui, layout: GridLayout, viewport: Rect) -> GridOutput {
        let (area, _) = ui.allocate_exact_size(layout.size().max(Vec2::splat(1.0)), Sense::hover());
        let id = ui.scope_id().with("pattern grid");
        let grid = ui.interact(area, id, Sense::focusable_noninteractive());
        let described = self.focus.map_or_else(String::new, |(row, column)| {
            format!("{}. {}", (self.label)(row, column), (self.describe)(row, column))
        });
        grid.widget_info(|| WidgetInfo {
            current_text_value: Some(described.clone()),
            ..WidgetInfo::labeled(Role::Grid, true, self.name)
        });

        let ppp = ui.pixels_per_point();
        let place = |row, column| {
            let rect = layout.cell_rect(row, column).translate(area.min.to_vec2());
            Rect::from_min_size(rect.min, rect.size() - Vec2::splat(GAP)).round_to_pixels(ppp)
        };
        let mut output = GridOutput {
            focused: self.key_focus(ui, id, layout),
            hovered: None,
            cell_px: texels((layout.cell - Vec2::splat(GAP)) * ppp),
        };
        let painter = ui.painter().clone();
        let mut mesh = self.texture.map(Mesh::with_texture);
        let shown = viewport.translate(area.min.to_vec2());
        for row in 0..layout.rows {
            for column in 0..layout.columns {
                let rect = place(row, column);
                if !rect.intersects(shown) {
                    continue;
                }
                let Some(picture) = (self.picture)(row, column) else { continue };
                match (picture, &mut mesh) {
                    (GridPicture::Texture(uv), Some(mesh)) => mesh.add_rect_with_uv(rect, uv, Color32::WHITE),
                    (GridPicture::Color(color), _) => {
                        painter.rect_filled(rect, 0.0, color);
                    }
                    _ => {
                        painter.rect_filled(rect, 0.0, self.colors.placeholder);
                    }
                }
                let cell = ui.interact(rect, id.with((row, column)), Sense::CLICK);
                cell.widget_info(|| WidgetInfo {
                    current_text_value: Some((self.describe)(row, column)),
                    ..WidgetInfo::selected(
                        Role::Button,
                        true,
                        self.focus == Some((row, column)),
                        (self.label)(row, column),
                    )
                });
                if cell.clicked() {
                    output.focused = Some((row, column));
                    ui.memory_mut(|memory| memory.request_focus(id));
                }
                if cell.hovered() {
                    output.hovered = Some((row, column));
                }
                cell.on_hover_ui_at_pointer(|ui| {
                    ui.strong((self.label)(row, column));
                    ui.label((self.describe)(row, column));
                    let details = (self.details)(row, column);
                    if !details.is_empty() {
                        ui.weak(details);
                    }
                });
            }
        }
        painter.extend(mesh.map(Shape::from));
        self.labels(&painter, layout, area);
        if let Some((row, column)) = output.hovered {
            frame(&painter, place(row, column), Stroke::new(1.0, self.colors.text));
        }
        if let Some((row, column)) = self.focus {
            let strong = if grid.has_focus() { 3.0 } else { 2.0 };
            let rect = place(row, column);
            frame(&painter, rect, Stroke::new(strong, self.colors.accent));
            // Seen on pictures of the accent's own colour, too.
            frame(&painter, rect.expand(strong), Stroke::new(1.0, self.colors.text));
        }
        if let Some((row, column)) = output.focused {
            ui.scroll_to_rect(place(row, column), None);
        }
        output
    }

    fn key_focus(&self, ui: &Ui, id: Id, layout: GridLayout) -> Option<(usize, usize)> {
        if !ui.memory(|memory| memory.has_focus(id)) {
            return None;
        }
        let arrows = EventFilter { horizontal_arrows: true, vertical_arrows: true, ..EventFilter::default() };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(id, arrows));
        let steps =
            [(Key::ArrowUp, -1, 0), (Key::ArrowDown, 1, 0), (Key::ArrowLeft, 0, -1), (Key::ArrowRight, 0, 1)];
        let from = self.focus.unwrap_or((0, 0));
        let moved = steps
            .iter()
            .filter(|(key, ..)| ui.input(|input| input.key_pressed(*key)))
            .fold(from, |(row, column), &(_, down, right)| layout.neighbour(row, column, down, right));
        (moved != from && (self.picture)(moved.0, moved.1).is_some()).then_some(moved)
    }

    fn labels(&self, painter: &Painter, layout: GridLayout, area: Rect) {
        let font = FontId::proportional(FONT_SIZE);
        let color = |focused: bool| if focused { self.colors.text } else { self.colors.faint };
        let row_step = stride(10.0, layout.cell.y);
        let is_focus = |row: Option<usize>, column: Option<usize>| {
            self.focus.is_some_and(|focus| row == Some(focus.0) || column == Some(focus.1))
        };
        let last = layout.rows.saturating_sub(1);
        for row in (0..layout.rows).filter(|row| {
            // The last row is another kind of row: it keeps its label.
            (row % layout.rows_per_block).is_multiple_of(row_step) || *row == last
        }) {
            let cell = layout.cell_rect(row, 0).translate(area.min.to_vec2());
            let at = cell.left_center() - vec2(3.0, 0.0);
            let color = color(is_focus(Some(row), None));
            painter.text(at, Align2::RIGHT_CENTER, (self.row_label)(row), font.clone(), color);
        }
        let column_step = stride(if layout.columns > 10 { 21.0 } else { 14.0 }, layout.cell.x);
        for block in 0..layout.blocks {
            for column in (0..layout.columns).step_by(column_step) {
                let cell = layout.cell_rect(block * layout.rows_per_block, column);
                let at =
                    pos2(cell.center().x, cell.top()) + area.min.to_vec2() - vec2(0.0, COLUMN_LABEL - 11.0);
                let color = color(is_focus(None, Some(column)));
                painter.text(at, Align2::CENTER_BOTTOM, (self.column_label)(column), font.clone(), color);
            }
        }
    }
}

/// Every how manieth label fits.
fn stride(label: f32, cell: f32) -> usize {
    (1..100_u8).find(|&step| f32::from(step) * cell >= label).map_or(100, usize::from)
}

fn frame(painter: &Painter, rect: Rect, stroke: Stroke) {
    painter.rect_stroke(rect, 0.0, stroke, StrokeKind::Outside);
}

fn texels(size: Vec2) -> [usize; 2] {
    [(size.x.round() as usize).max(1), (size.y.round() as usize).max(1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_thinned_to_what_fits() {
        assert_eq!((stride(10.0, 11.0), stride(21.0, 11.0), stride(21.0, 0.0)), (1, 2, 100));
    }
}
