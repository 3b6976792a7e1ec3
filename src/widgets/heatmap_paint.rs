//! How a [`Heatmap`] is drawn: tiles, hatching, marks, crosshair, axes, colour bar, readout.

use super::axis::{AxisPainter, AxisSide, LABEL_GAP, ticks};
use super::color_bar::{BarEvent, ColorBar, hatch, rgb};
use super::heatmap::{BOTTOM, Heatmap, MatrixTile, READOUT, RIGHT};
use super::viewport::{Viewport, to_f32, to_f64};
use egui::text::{LayoutJob, TextWrapping};
use egui::{Align2, Color32, FontId, Id, Painter, Pos2, Rect, Shape, Stroke, StrokeKind, Ui, pos2, vec2};

/// Columns of this width and more are outlined by two lines, narrower ones by arrows only.
const OUTLINED: f32 = 3.0;
/// Hatched columns are at least this wide, in points.
const NARROWEST_STRIP: f32 = 3.0;
/// Seen on the darkest and the lightest cells alike.
const CROSSHAIR: Color32 = Color32::from_rgba_premultiplied(132, 132, 132, 220);

pub(super) fn paint(
    heatmap: &Heatmap<'_>,
    ui: &Ui,
    outer: Rect,
    plot: Rect,
    cell: Option<(usize, usize)>,
    readout: Option<&str>,
    focused: bool,
) {
    let painter = ui.painter().with_clip_rect(outer.intersect(ui.clip_rect()));
    let inside = painter.with_clip_rect(plot.intersect(painter.clip_rect()));
    let scene = Scene { heatmap, outer, plot, painter: &painter, inside: &inside };
    scene.tiles();
    scene.hatching();
    scene.marks(cell);
    scene.axes(cell);
    let outline = if focused { heatmap.colors.accent } else { heatmap.colors.line };
    painter.rect_stroke(plot, 0.0, Stroke::new(1.0, outline), StrokeKind::Outside);
    scene.readout(readout);
}

/// Shows the colour bar beside the plot.
pub(super) fn color_bar(
    heatmap: &Heatmap<'_>,
    ui: &Ui,
    id: Id,
    outer: Rect,
    plot: Rect,
    cell: Option<(usize, usize)>,
) -> Option<BarEvent> {
    let rect = Rect::from_min_size(plot.right_top() + vec2(14.0, 0.0), vec2(RIGHT - 14.0, plot.height()));
    let bar = ColorBar {
        table: heatmap.table,
        unit: heatmap.unit,
        text: heatmap.colors.text,
        faint: heatmap.colors.faint,
        hatched: !heatmap.hatched.is_empty(),
        not_available: heatmap.not_available,
        pointed: cell.and_then(|(row, column)| (heatmap.value)(row, column)),
    };
    let painter = ui.painter().with_clip_rect(outer.intersect(ui.clip_rect()));
    bar.show(ui, &painter, rect, id.with("colour bar"))
}

/// Draws the box that is being drawn by the user.
pub(super) fn paint_box(heatmap: &Heatmap<'_>, ui: &Ui, plot: Rect, boxed: Option<Rect>) {
    let Some(boxed) = boxed else { return };
    let painter = ui.painter().with_clip_rect(plot.intersect(ui.clip_rect()));
    painter.rect_filled(boxed, 0.0, heatmap.colors.accent.gamma_multiply(0.2));
    painter.rect_stroke(boxed, 0.0, Stroke::new(1.5, heatmap.colors.accent), StrokeKind::Inside);
}

struct Scene<'a> {
    heatmap: &'a Heatmap<'a>,
    outer: Rect,
    plot: Rect,
    painter: &'a Painter,
    /// Clipped to the plot.
    inside: &'a Painter,
}

impl Scene<'_> {
    fn view(&self) -> &Viewport {
        &self.heatmap.view
    }

    /// Points that a cell takes on screen.
    fn cell_size(&self) -> f64 {
        f64::from(self.plot.width()) / self.view().cells
    }

    fn x(&self, column: f64) -> f32 {
        self.plot.left() + to_f32((column - self.view().column) * self.cell_size())
    }

    fn y(&self, row: f64) -> f32 {
        self.plot.top() + to_f32((row - self.view().row) * self.cell_size())
    }

    fn tiles(&self) {
        self.inside.rect_filled(self.plot, 0.0, rgb(self.heatmap.table.special().masked));
        for tile in self.heatmap.tiles {
            if let Some((rect, uv)) = self.placed(tile) {
                self.inside.image(tile.texture, rect, uv, Color32::WHITE);
            }
        }
        if self.heatmap.tiles.is_empty() {
            let text = if self.heatmap.side == 0 { "Nothing to show yet" } else { "Computing…" };
            let font = FontId::proportional(13.0);
            let faint = self.heatmap.colors.faint;
            self.inside.text(self.plot.center(), Align2::CENTER_CENTER, text, font, faint);
        }
    }

    /// Where the visible part of a tile lies on screen, and in its texture.
    fn placed(&self, tile: &MatrixTile<'_>) -> Option<(Rect, Rect)> {
        let view = self.view();
        let (top, bottom) = overlap(tile.rows, view.row, view.cells)?;
        let (left, right) = overlap(tile.columns, view.column, view.cells)?;
        let u = |column: f64| {
            to_f32((column - to_f64(tile.columns.0)) / to_f64(tile.pool.max(1) * tile.width.max(1)))
        };
        let v =
            |row: f64| to_f32((row - to_f64(tile.rows.0)) / to_f64(tile.pool.max(1) * tile.height.max(1)));
        let rect = Rect::from_min_max(pos2(self.x(left), self.y(top)), pos2(self.x(right), self.y(bottom)));
        Some((rect, Rect::from_min_max(pos2(u(left), v(top)), pos2(u(right), v(bottom)))))
    }

    /// Hides columns behind a hatched strip; a narrow one is widened, so that it is seen.
    fn hatching(&self) {
        let visible = self.view().columns(self.heatmap.side);
        for &column in self.heatmap.hatched.iter().filter(|column| visible.contains(column)) {
            let top = self.y(to_f64(column)).max(self.plot.top());
            let bottom = self.y(to_f64(self.heatmap.side)).min(self.plot.bottom());
            let (left, right) = (self.x(to_f64(column)), self.x(to_f64(column + 1)));
            let strip = Rect::from_min_max(pos2(left, top), pos2(right.max(left + NARROWEST_STRIP), bottom));
            if strip.height() > 0.0 {
                let ground = rgb(self.heatmap.table.special().masked);
                hatch(self.inside, strip, ground, self.heatmap.colors.faint);
            }
        }
    }

    /// The selected position, the marked ones, and the crosshair.
    fn marks(&self, cell: Option<(usize, usize)>) {
        let colors = &self.heatmap.colors;
        for &position in self.heatmap.marked {
            self.arrow(position, colors.mark);
        }
        if let Some(position) = self.heatmap.selected {
            self.column_line(position, colors.accent);
            self.row_line(position, colors.accent);
            self.arrow(position, colors.accent);
        }
        if let Some((row, column)) = cell {
            self.column_line(column, CROSSHAIR);
            self.row_line(row, CROSSHAIR);
            let frame = Rect::from_min_max(
                pos2(self.x(to_f64(column)), self.y(to_f64(row))),
                pos2(self.x(to_f64(column + 1)), self.y(to_f64(row + 1))),
            );
            let frame = frame.expand((2.0 - frame.width() / 2.0).max(0.0));
            self.inside.rect_stroke(frame, 0.0, Stroke::new(1.0, Color32::WHITE), StrokeKind::Outside);
            self.inside.rect_stroke(frame.expand(1.0), 0.0, (1.0, Color32::BLACK), StrokeKind::Outside);
        }
    }

    fn column_line(&self, column: usize, color: Color32) {
        let (left, right) = (self.x(to_f64(column)), self.x(to_f64(column + 1)));
        for x in edges(left, right) {
            self.inside.vline(x, self.plot.y_range(), Stroke::new(1.0, color));
        }
    }

    fn row_line(&self, row: usize, color: Color32) {
        let (top, bottom) = (self.y(to_f64(row)), self.y(to_f64(row + 1)));
        for y in edges(top, bottom) {
            self.inside.hline(self.plot.x_range(), y, Stroke::new(1.0, color));
        }
    }

    /// A small triangle above the position's column.
    fn arrow(&self, position: usize, color: Color32) {
        let x = self.x(to_f64(position) + 0.5);
        if !self.plot.x_range().contains(x) {
            return;
        }
        let tip = pos2(x, self.plot.top() - 1.0);
        let points = vec![tip, tip + vec2(-3.5, -6.0), tip + vec2(3.5, -6.0)];
        self.painter.add(Shape::convex_polygon(points, color, Stroke::NONE));
    }

    fn axes(&self, cell: Option<(usize, usize)>) {
        let heatmap = self.heatmap;
        let last = heatmap.side.saturating_sub(1);
        // The longest number is near the end, where two texts may have drifted apart.
        let digits = (heatmap.number)(last).chars().count().max((heatmap.number)(last / 2).chars().count());
        for side in [AxisSide::Left, AxisSide::Bottom] {
            let (visible, at_cell, margin) = match side {
                AxisSide::Left => (
                    self.view().rows(heatmap.side),
                    cell.map(|cell| cell.0),
                    self.plot.left() - self.outer.left(),
                ),
                AxisSide::Bottom => (self.view().columns(heatmap.side), cell.map(|cell| cell.1), BOTTOM),
            };
            let always: Vec<usize> =
                at_cell.into_iter().chain(heatmap.selected).chain(heatmap.marked.iter().copied()).collect();
            let faint = heatmap.colors.faint;
            let axis = AxisPainter { painter: self.painter, plot: self.plot, margin, side, digits, faint };
            for position in ticks(visible, self.cell_size(), LABEL_GAP.into(), &always) {
                let middle = to_f64(position) + 0.5;
                let at = if side == AxisSide::Left { self.y(middle) } else { self.x(middle) };
                let range = if side == AxisSide::Left { self.plot.y_range() } else { self.plot.x_range() };
                if range.contains(at) {
                    axis.label(
                        at,
                        &(heatmap.number)(position),
                        heatmap.label(position),
                        self.label_color(position),
                    );
                }
            }
        }
    }

    fn label_color(&self, position: usize) -> Color32 {
        let colors = &self.heatmap.colors;
        if self.heatmap.selected == Some(position) {
            colors.accent
        } else if self.heatmap.marked.contains(&position) {
            colors.mark
        } else {
            colors.text
        }
    }

    fn readout(&self, readout: Option<&str>) {
        let (colors, outer) = (&self.heatmap.colors, self.outer);
        let at = Pos2::new(outer.left(), self.plot.bottom() + BOTTOM + 4.0);
        let color = if readout.is_some() { colors.text } else { colors.faint };
        let idle = "Point for the value · wheel zooms · drag moves · Shift-drag boxes · double-click fits";
        let font = if readout.is_some() { FontId::monospace(11.0) } else { FontId::proportional(11.0) };
        let mut job = LayoutJob::simple_singleline(readout.unwrap_or(idle).to_owned(), font, color);
        job.wrap = TextWrapping::truncate_at_width(outer.width());
        let galley = self.painter.layout_job(job);
        let row = Rect::from_min_size(at, vec2(outer.width(), READOUT - 4.0));
        self.painter.galley(row.left_center() - vec2(0.0, galley.size().y / 2.0), galley, color);
    }
}

/// Both edges of a wide cell, the middle of a narrow one.
fn edges(low: f32, high: f32) -> impl Iterator<Item = f32> {
    let lines =
        if high - low >= OUTLINED { [Some(low), Some(high)] } else { [Some(low.midpoint(high)), None] };
    lines.into_iter().flatten()
}

/// The part of `covered` that is shown.
fn overlap(covered: (usize, usize), first: f64, cells: f64) -> Option<(f64, f64)> {
    let (start, end) = (to_f64(covered.0).max(first), to_f64(covered.1).min(first + cells));
    (start < end).then_some((start, end))
}
