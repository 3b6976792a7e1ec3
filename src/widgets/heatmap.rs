//! A square matrix on screen: zoom, pan, crosshair, the exact value under the cursor, labelled axes.
//!
//! The widget draws what it is given and says what the user did; it changes nothing itself. Values
//! come as textures (coarse ones first) and, for the readout, through a closure that knows every cell.

use super::color_bar::BarEvent;
use super::heatmap_paint;
use super::minimap;
use super::viewport::{Viewport, to_f64};
use crate::capture::NOT_AVAILABLE;
use crate::color::{ColorScale, ColorTable};
use egui::emath::GuiRounding as _;
use egui::{
    Color32, Event, EventFilter, Id, Key, PointerButton, Pos2, Rect, Response, Role, Sense, Ui, Vec2,
    WidgetInfo, pos2, vec2,
};
use std::ops::Range;

/// Room for labels, colour bar and readout around the plot, in points.
const LEFT: f32 = 76.0;
/// Width that the plot can't use goes to the row labels, up to this.
const WIDEST_LEFT: f32 = 140.0;
pub(super) const BOTTOM: f32 = 62.0;
pub(super) const RIGHT: f32 = 80.0;
pub(super) const READOUT: f32 = 20.0;
const TOP: f32 = 8.0;
const SMALLEST_SIDE: f32 = 48.0;
/// Points of wheel travel that magnify by e.
const WHEEL_PER_E: f32 = 220.0;
/// A smaller box was drawn by a trembling hand, in points.
const SMALLEST_BOX: f32 = 4.0;

/// A part of the matrix as a texture; drawn cells are max-pooled from `pool` × `pool` cells.
#[derive(Debug, Clone, Copy)]
pub struct MatrixTile<'a> {
    /// One texel per drawn cell.
    pub texture: egui::TextureId,
    /// Rows covered.
    pub rows: (usize, usize),
    /// Columns covered.
    pub columns: (usize, usize),
    /// Rows (and columns) that share one drawn cell.
    pub pool: usize,
    /// Texels across.
    pub width: usize,
    /// Texels down.
    pub height: usize,
    /// The drawn cells' values `[height, width]`, for the readout.
    pub values: &'a [f32],
    /// Whether the values are only guessed from some of the rows: drawn, never read out.
    pub sketch: bool,
}

impl MatrixTile<'_> {
    /// Rows covered.
    #[must_use]
    pub fn row_range(&self) -> Range<usize> {
        self.rows.0..self.rows.1
    }

    /// Columns covered.
    #[must_use]
    pub fn column_range(&self) -> Range<usize> {
        self.columns.0..self.columns.1
    }

    /// The drawn value that stands for a cell.
    #[must_use]
    pub fn drawn(&self, row: usize, column: usize) -> Option<f32> {
        let inside = self.row_range().contains(&row) && self.column_range().contains(&column);
        if !inside {
            return None;
        }
        let (y, x) = ((row - self.rows.0) / self.pool.max(1), (column - self.columns.0) / self.pool.max(1));
        self.values.get(y * self.width + x).copied()
    }
}

/// Colours beside those of the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeatmapColors {
    /// Labels and readout.
    pub text: Color32,
    /// Positions, ticks, captions.
    pub faint: Color32,
    /// The plot's outline.
    pub line: Color32,
    /// What is selected.
    pub accent: Color32,
    /// What is marked.
    pub mark: Color32,
}

/// A square matrix to show. Rows and columns carry the same labels.
pub struct Heatmap<'a> {
    /// Accessible name.
    pub name: &'a str,
    /// What a row is, for example `query`.
    pub row_name: &'a str,
    /// What a column is, for example `key`.
    pub column_name: &'a str,
    /// Cells along each side.
    pub side: usize,
    /// What is shown of it.
    pub view: Viewport,
    /// What there is to draw, coarse first.
    pub tiles: &'a [MatrixTile<'a>],
    /// One label for each position.
    pub labels: &'a [String],
    /// How a position is written on the axes.
    pub number: &'a dyn Fn(usize) -> String,
    /// How a position is written in the readout.
    pub full_number: &'a dyn Fn(usize) -> String,
    /// The exact value at (row, column); `None` where the cell is masked.
    pub value: &'a dyn Fn(usize, usize) -> Option<f32>,
    /// What else there is to say about a cell; may be empty.
    pub note: &'a dyn Fn(usize, usize) -> String,
    /// What the values are, for the colour bar.
    pub unit: &'a str,
    /// How the legend names cells that have no value, where there are some.
    pub not_available: Option<&'a str>,
    /// Whether a plain drag draws a box to zoom to; with Shift or the secondary button it always does.
    pub box_zoom: bool,
    /// Colours of the values.
    pub table: &'a ColorTable,
    /// The selected position: its column and row are marked.
    pub selected: Option<usize>,
    /// Positions that always carry their label and a mark.
    pub marked: &'a [usize],
    /// Columns that are drawn hatched, their values hidden.
    pub hatched: &'a [usize],
    /// The cell (row, column) that a click or the keyboard chose.
    pub cursor: Option<(usize, usize)>,
    /// The other colours.
    pub colors: HeatmapColors,
}

/// Something the user did to a [`Heatmap`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HeatmapEvent {
    /// Show this part.
    View(Viewport),
    /// A click or the keyboard moved the cursor to (row, column).
    Cursor(usize, usize),
    /// The cell (row, column) was clicked.
    Picked(usize, usize),
    /// Show this range of values.
    Range(ColorScale),
    /// Show the range of the first day.
    ResetRange,
}

/// What came of showing a [`Heatmap`].
#[derive(Debug)]
pub struct HeatmapOutput {
    /// The plot's response.
    pub response: Response,
    /// The cell (row, column) under the pointer, else the keyboard's.
    pub cell: Option<(usize, usize)>,
    /// What the user did, in order.
    pub events: Vec<HeatmapEvent>,
    /// Side of the plot in physical pixels, to choose the level of detail.
    pub side_px: f64,
}

impl Heatmap<'_> {
    /// Shows the matrix in all the space that is left.
    pub fn show(self, ui: &mut Ui) -> HeatmapOutput {
        let (outer, _) = ui.allocate_exact_size(ui.available_size(), Sense::hover());
        let plot = plot_rect(outer).round_to_pixels(ui.pixels_per_point());
        let id = ui.scope_id().with("heatmap");
        let response = ui.interact(plot, id, Sense::click_and_drag());

        let hovered = response.hover_pos().and_then(|at| self.cell_at(plot, at));
        let cursor = self.cursor.filter(|&(row, column)| row < self.side && column < self.side);
        let cell = if keyboard_leads(ui, id) { cursor.or(hovered) } else { hovered.or(cursor) };
        let mut events = Vec::new();
        let over_map = minimap::events(&self, ui, id, plot, &mut events);
        let boxed = self.box_events(ui, id, &response, plot, &mut events);
        if !over_map {
            self.pointer_events(ui, &response, plot, cell, boxed.is_some(), &mut events);
        }
        self.key_events(ui, id, cell, &mut events);

        let readout = cell.map(|(row, column)| self.readout(row, column));
        response.widget_info(|| WidgetInfo {
            current_text_value: Some(readout.clone().unwrap_or_default()),
            ..WidgetInfo::labeled(Role::Canvas, true, self.name)
        });
        if ui.is_rect_visible(outer) {
            heatmap_paint::paint(&self, ui, outer, plot, cell, readout.as_deref(), response.has_focus());
            heatmap_paint::paint_box(&self, ui, plot, boxed);
            minimap::paint(&self, ui, plot);
        }
        events.extend(heatmap_paint::color_bar(&self, ui, id, outer, plot, cell).map(|event| match event {
            BarEvent::Range(scale) => HeatmapEvent::Range(scale),
            BarEvent::Reset => HeatmapEvent::ResetRange,
        }));
        let response =
            if over_map || boxed.is_some() { response } else { self.with_tooltip(response, hovered) };
        let side_px = f64::from(plot.width() * ui.pixels_per_point());
        HeatmapOutput { response, cell, events, side_px }
    }

    fn cell_at(&self, plot: Rect, at: Pos2) -> Option<(usize, usize)> {
        let part = (at - plot.min) / plot.width();
        self.view.cell_at(part.x.into(), part.y.into(), self.side)
    }

    fn pointer_events(
        &self,
        ui: &Ui,
        response: &Response,
        plot: Rect,
        cell: Option<(usize, usize)>,
        boxing: bool,
        events: &mut Vec<HeatmapEvent>,
    ) {
        // Also by Enter or Space, and then at the keyboard's cell.
        if response.clicked() {
            response.request_focus();
            let at = response.interact_pointer_pos().and_then(|at| self.cell_at(plot, at)).or(cell);
            if let Some((row, column)) = at {
                events.extend([HeatmapEvent::Cursor(row, column), HeatmapEvent::Picked(row, column)]);
            }
        }
        if response.double_clicked() {
            events.push(HeatmapEvent::View(Viewport::fit(self.side)));
        } else if response.dragged() && !boxing {
            let cells = response.drag_delta() / plot.width() * -1.0;
            let (rows, columns) = (f64::from(cells.y), f64::from(cells.x));
            let view = self.view.panned(rows * self.view.cells, columns * self.view.cells, self.side);
            self.push_view(view, events);
        }
        if let Some(at) = response.hover_pos() {
            let factor = ui.input_mut(|input| {
                let wheel = std::mem::take(&mut input.smooth_scroll_delta);
                input.zoom_delta() * ((wheel.x + wheel.y) / WHEEL_PER_E).exp()
            });
            let part = (at - plot.min) / plot.width();
            let view = self.view.zoomed(factor.into(), part.x.into(), part.y.into(), self.side);
            self.push_view(view, events);
        }
    }

    /// A box that is being drawn, in screen coordinates; zooms to it when the button is let go.
    fn box_events(
        &self,
        ui: &Ui,
        id: Id,
        response: &Response,
        plot: Rect,
        events: &mut Vec<HeatmapEvent>,
    ) -> Option<Rect> {
        let id = id.with("box");
        if response.drag_started() {
            let boxing = self.box_zoom
                || response.dragged_by(PointerButton::Secondary)
                || ui.input(|i| i.modifiers.shift);
            ui.data_mut(|data| data.insert_temp(id, boxing));
        }
        if !(response.dragged() || response.drag_stopped())
            || !ui.data(|data| data.get_temp(id)).unwrap_or(false)
        {
            return None;
        }
        let (origin, at) = ui.input(|input| (input.pointer.press_origin(), input.pointer.latest_pos()));
        let origin = ui.data_mut(|data| *data.get_temp_mut_or_insert_with(id.with("from"), || origin));
        let drawn = Rect::from_two_pos(origin?, at?).intersect(plot);
        if response.drag_stopped() {
            ui.data_mut(|data| {
                data.remove::<bool>(id);
                data.remove::<Option<Pos2>>(id.with("from"));
            });
            let part = |pos: Pos2| (pos - plot.min) / plot.width();
            let (from, to) = (part(drawn.min), part(drawn.max));
            if drawn.width().max(drawn.height()) > SMALLEST_BOX {
                let corner = |part: Vec2| (f64::from(part.x), f64::from(part.y));
                self.push_view(self.view.boxed(corner(from), corner(to), self.side), events);
            }
        }
        Some(drawn)
    }

    fn key_events(&self, ui: &Ui, id: Id, cell: Option<(usize, usize)>, events: &mut Vec<HeatmapEvent>) {
        if !ui.memory(|memory| memory.has_focus(id)) {
            return;
        }
        let arrows = EventFilter { horizontal_arrows: true, vertical_arrows: true, ..EventFilter::default() };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(id, arrows));
        let pressed: Vec<(Key, bool)> = ui.input(|input| {
            let keys = input.events.iter().filter_map(|event| match event {
                Event::Key { key, pressed: true, modifiers, .. } if !modifiers.command && !modifiers.alt => {
                    Some((*key, modifiers.shift))
                }
                _ => None,
            });
            keys.collect()
        });
        for (key, far) in pressed {
            let moves = matches!(key, Key::ArrowUp | Key::ArrowDown | Key::ArrowLeft | Key::ArrowRight);
            if moves {
                ui.data_mut(|data| data.insert_temp(id, true));
            }
            match key {
                Key::Plus | Key::Equals => self.push_view(self.zoomed_at_cell(1.5, cell), events),
                Key::Minus => self.push_view(self.zoomed_at_cell(1.0 / 1.5, cell), events),
                Key::Num0 | Key::Home => self.push_view(Viewport::fit(self.side), events),
                Key::ArrowUp => self.step(cell, (-1, 0), far, events),
                Key::ArrowDown => self.step(cell, (1, 0), far, events),
                Key::ArrowLeft => self.step(cell, (0, -1), far, events),
                Key::ArrowRight => self.step(cell, (0, 1), far, events),
                _ => {}
            }
        }
    }

    /// Moves the cursor by one drawn cell (`far`: by ten), and the view along with it.
    fn step(
        &self,
        cell: Option<(usize, usize)>,
        by: (isize, isize),
        far: bool,
        events: &mut Vec<HeatmapEvent>,
    ) {
        let size = self.tiles.last().map_or(1, |tile| tile.pool) * if far { 10 } else { 1 };
        let moved = |from: usize, by: isize| {
            from.saturating_add_signed(by * isize::try_from(size).unwrap_or(1))
                .min(self.side.saturating_sub(1))
        };
        let (row, column) = cell.map_or_else(
            || self.selected.map_or((self.side / 2, 0), |position| (position, position)),
            |(row, column)| (moved(row, by.0), moved(column, by.1)),
        );
        events.push(HeatmapEvent::Cursor(row, column));
        self.push_view(self.view.revealing(row, column, self.side), events);
    }

    fn zoomed_at_cell(&self, factor: f64, cell: Option<(usize, usize)>) -> Viewport {
        let part = |cell: usize, first: f64| ((to_f64(cell) + 0.5 - first) / self.view.cells).clamp(0.0, 1.0);
        let (x, y) = cell
            .map_or((0.5, 0.5), |(row, column)| (part(column, self.view.column), part(row, self.view.row)));
        self.view.zoomed(factor, x, y, self.side)
    }

    pub(super) fn push_view(&self, view: Viewport, events: &mut Vec<HeatmapEvent>) {
        if view != self.view {
            events.push(HeatmapEvent::View(view));
        }
    }

    /// The value comes first: it stays in its place while the labels change, and is never cut.
    fn readout(&self, row: usize, column: usize) -> String {
        let value = self.value_text((self.value)(row, column));
        let note = (self.note)(row, column);
        let note = if note.is_empty() { note } else { format!(" · {note}") };
        let others = self.drawn_with_others(row, column).map_or_else(String::new, |(pool, drawn)| {
            format!(" · heaviest of {pool} × {pool}: {}", self.value_text(Some(drawn)))
        });
        let (row_name, column_name) = (self.row_name, self.column_name);
        let (row_label, column_label) = (self.label(row), self.label(column));
        let (row, column) = ((self.full_number)(row), (self.full_number)(column));
        format!(
            "{value}{note} · {row_name} {row} {row_label} → {column_name} {column} {column_label}{others}"
        )
    }

    /// A difference carries its sign.
    fn value_text(&self, value: Option<f32>) -> String {
        let text = value_text(value);
        if self.table.is_diverging() && value.is_some_and(|value| value > 0.0) {
            format!("+{text}")
        } else {
            text
        }
    }

    /// What is drawn at a cell, where it stands for several.
    fn drawn_with_others(&self, row: usize, column: usize) -> Option<(usize, f32)> {
        let tiles = self.tiles.iter().rev().filter(|tile| !tile.sketch);
        let top = tiles.into_iter().find_map(|tile| Some((tile.pool, tile.drawn(row, column)?)));
        top.filter(|&(pool, drawn)| pool > 1 && drawn > NOT_AVAILABLE)
    }

    pub(super) fn label(&self, position: usize) -> &str {
        self.labels.get(position).map_or("", String::as_str)
    }

    fn with_tooltip(&self, response: Response, hovered: Option<(usize, usize)>) -> Response {
        let Some((row, column)) = hovered.filter(|_| !response.dragged()) else { return response };
        response.on_hover_ui_at_pointer(|ui| {
            ui.strong(self.value_text((self.value)(row, column)));
            let note = (self.note)(row, column);
            if !note.is_empty() {
                ui.label(note);
            }
            for (name, position) in [(self.row_name, row), (self.column_name, column)] {
                ui.horizontal(|ui| {
                    ui.weak(format!("{name} {}", (self.full_number)(position)));
                    ui.monospace(self.label(position));
                });
            }
            if let Some((pool, drawn)) = self.drawn_with_others(row, column) {
                ui.weak(format!(
                    "drawn: heaviest of {pool} × {pool} cells, {}",
                    self.value_text(Some(drawn))
                ));
            }
        })
    }
}

/// A weight as the readout writes it: enough digits to tell neighbours apart.
#[must_use]
pub fn value_text(value: Option<f32>) -> String {
    match value {
        None => "masked".to_owned(),
        Some(NOT_AVAILABLE) => "n/a".to_owned(),
        Some(value) if value.is_nan() => "NaN".to_owned(),
        Some(0.0) => "0".to_owned(),
        Some(value) if value.abs() >= 1e-3 => format!("{value:.5}"),
        Some(value) => format!("{value:.3e}"),
    }
}

/// Whether the keyboard was used since the pointer moved: then a resting pointer gives way to it.
fn keyboard_leads(ui: &Ui, id: Id) -> bool {
    let pointer_moves = ui.input(|input| input.pointer.delta() != Vec2::ZERO);
    ui.data_mut(|data| {
        let leads = data.get_temp_mut_or_default::<bool>(id);
        *leads &= !pointer_moves;
        *leads
    })
}

fn plot_rect(outer: Rect) -> Rect {
    let room = outer.size() - vec2(LEFT + RIGHT, TOP + BOTTOM + READOUT);
    let side = room.min_elem().max(SMALLEST_SIDE);
    let left = (outer.width() - RIGHT - side).clamp(LEFT, WIDEST_LEFT);
    Rect::from_min_size(pos2(outer.left() + left, outer.top() + TOP), vec2(side, side))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_with_the_digits_that_matter() {
        assert_eq!(value_text(Some(0.431_234_5)), "0.43123");
        assert_eq!(value_text(Some(1.5e-7)), "1.500e-7");
        assert_eq!(value_text(Some(0.0)), "0");
        assert_eq!(value_text(Some(f32::NAN)), "NaN");
        assert_eq!(value_text(None), "masked");
    }

    #[test]
    fn a_tile_knows_what_it_draws_for_a_cell() {
        let tile = MatrixTile {
            texture: egui::TextureId::default(),
            rows: (8, 16),
            columns: (0, 8),
            pool: 4,
            width: 2,
            height: 2,
            sketch: false,
            values: &[0.1, 0.2, 0.3, 0.4],
        };
        assert_eq!(tile.drawn(13, 3), Some(0.3));
        assert_eq!(tile.drawn(7, 3), None);
    }
}
