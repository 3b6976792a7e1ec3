//! The colour bar: the map from end to end, ticks in the values' own unit, and a legend of what has no value.

use crate::color::{ColorScale, ColorTable, ScaleKind};
use egui::{
    Align2, Color32, CursorIcon, FontId, Id, Mesh, Painter, Rect, Role, Sense, Shape, Stroke, StrokeKind, Ui,
    WidgetInfo, pos2, vec2,
};

const BAR_WIDTH: f32 = 12.0;
const LEGEND_ROW: f32 = 14.0;
const CAPTION: f32 = 16.0;
const STOPS: u8 = 64;
const HATCH_SPACING: f32 = 5.0;
const HIDDEN: &str = "hidden";

/// A colour bar and its legend.
pub struct ColorBar<'a> {
    /// What the colours mean.
    pub table: &'a ColorTable,
    /// What the values are, for example `weight`.
    pub unit: &'a str,
    /// Colour of numbers.
    pub text: Color32,
    /// Colour of captions and outlines.
    pub faint: Color32,
    /// Whether the legend explains hatched columns.
    pub hatched: bool,
    /// How the legend names cells that have no value, where there are some.
    pub not_available: Option<&'a str>,
    /// A value to point at.
    pub pointed: Option<f32>,
}

/// What the user did to a colour bar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BarEvent {
    /// Dragged an end: show this range.
    Range(ColorScale),
    /// Double-clicked.
    Reset,
}

impl ColorBar<'_> {
    /// Shows it in `rect`, the bar above, the legend below. Dragging the upper or the lower half moves
    /// that end of the range.
    pub fn show(&self, ui: &Ui, painter: &Painter, rect: Rect, id: Id) -> Option<BarEvent> {
        let bar = self.bar_rect(rect);
        if ui.is_rect_visible(rect) {
            self.paint(painter, rect);
        }
        if bar.height() <= 24.0 {
            return None;
        }
        let response = ui.interact(bar.expand2(vec2(4.0, 6.0)), id, Sense::click_and_drag());
        let scale = self.table.scale();
        response.widget_info(|| WidgetInfo {
            current_text_value: Some(format!("{} to {}", short_number(scale.min()), short_number(scale.max))),
            ..WidgetInfo::labeled(Role::Slider, true, "Colour range")
        });
        if response.double_clicked() {
            return Some(BarEvent::Reset);
        }
        let event = response.interact_pointer_pos().and_then(|at| {
            if response.drag_started() {
                let origin = ui.input(|input| input.pointer.press_origin()).unwrap_or(at);
                let start = (scale, origin.y, self.moves_upper_end(bar, origin.y));
                ui.data_mut(|data| data.insert_temp(id, start));
            }
            let (start, from, upper) = ui.data(|data| data.get_temp::<(ColorScale, f32, bool)>(id))?;
            response.dragged().then(|| BarEvent::Range(self.dragged(bar, start, from, at.y, upper)))
        });
        let tip = "Drag the upper or lower half to change the range · double-click resets";
        response.on_hover_cursor(CursorIcon::ResizeVertical).on_hover_text(tip);
        event
    }

    /// A diverging bar has two upper ends and no lower one.
    fn moves_upper_end(&self, bar: Rect, y: f32) -> bool {
        self.table.is_diverging() || y < bar.center().y
    }

    /// The range after a drag from `from` to `y` on a bar that showed `start`.
    fn dragged(&self, bar: Rect, start: ColorScale, from: f32, y: f32, upper: bool) -> ColorScale {
        let length = if self.table.is_diverging() { bar.height() / 2.0 } else { bar.height() };
        // On the lower half of a diverging bar, down is outwards.
        let outwards = if self.table.is_diverging() && from > bar.center().y { 1.0 } else { -1.0 };
        let by = outwards * (y - from) / length;
        if upper {
            start.over(start.min(), start.weight_at(1.0 + by).max(start.min() * 1.05))
        } else {
            start.over(start.weight_at(by), start.max)
        }
    }

    fn legend(&self) -> Vec<(&str, [u8; 3])> {
        let special = self.table.special();
        let mut legend = vec![("masked", special.masked)];
        if !self.table.is_diverging() {
            legend.push(("exactly 0", special.zero));
        }
        legend.push(("NaN", special.nan));
        legend.extend(self.not_available.map(|name| (name, special.not_available)));
        legend.extend(self.hatched.then_some((HIDDEN, special.masked)));
        legend
    }

    fn bar_rect(&self, rect: Rect) -> Rect {
        let legend_height = LEGEND_ROW * self.legend().len() as f32;
        Rect::from_min_max(
            rect.min + vec2(0.0, CAPTION),
            pos2(rect.left() + BAR_WIDTH, rect.bottom() - legend_height - 12.0),
        )
    }

    fn paint(&self, painter: &Painter, rect: Rect) {
        let legend = self.legend();
        let bar = self.bar_rect(rect);
        let unit = format!("{}, {}", self.unit, self.table.scale().kind.name());
        if bar.height() > 24.0 {
            painter.text(rect.left_top(), Align2::LEFT_TOP, unit, FontId::proportional(10.0), self.faint);
            self.bar(painter, bar);
        }
        let mut top = rect.bottom() - LEGEND_ROW * legend.len() as f32;
        for (name, color) in legend {
            let swatch = Rect::from_min_size(pos2(rect.left(), top + 2.0), vec2(BAR_WIDTH, LEGEND_ROW - 4.0));
            if name == HIDDEN {
                hatch(painter, swatch, rgb(color), self.faint);
            } else {
                painter.rect_filled(swatch, 0.0, rgb(color));
            }
            painter.rect_stroke(swatch, 0.0, Stroke::new(1.0, self.faint), StrokeKind::Inside);
            let at = swatch.right_center() + vec2(5.0, 0.0);
            painter.text(at, Align2::LEFT_CENTER, name, FontId::proportional(10.0), self.text);
            top += LEGEND_ROW;
        }
    }

    fn bar(&self, painter: &Painter, bar: Rect) {
        let mut mesh = Mesh::default();
        for stop in 0..=STOPS {
            let part = f32::from(stop) / f32::from(STOPS);
            let y = egui::lerp(bar.bottom()..=bar.top(), part);
            let color = rgb(self.table.at(part));
            mesh.colored_vertex(pos2(bar.left(), y), color);
            mesh.colored_vertex(pos2(bar.right(), y), color);
            if stop > 0 {
                let next = u32::from(stop) * 2;
                mesh.add_triangle(next - 2, next - 1, next);
                mesh.add_triangle(next - 1, next, next + 1);
            }
        }
        painter.add(mesh);
        painter.rect_stroke(bar, 0.0, Stroke::new(1.0, self.faint), StrokeKind::Outside);
        self.ticks(painter, bar);
        let shown = |value: &f32| if self.table.is_diverging() { *value >= -1.0 } else { *value > 0.0 };
        if let Some(value) = self.pointed.filter(shown) {
            let y = egui::lerp(bar.bottom()..=bar.top(), self.table.position(value));
            let tip = pos2(bar.left() - 1.0, y);
            let points = vec![tip, tip + vec2(-5.0, -3.5), tip + vec2(-5.0, 3.5)];
            painter.add(Shape::convex_polygon(points, self.text, Stroke::NONE));
        }
    }

    /// Round values, and the range's ends where no round value is near: a dragged end shows its number.
    fn ticks(&self, painter: &Painter, bar: Rect) {
        let (table, scale) = (self.table, self.table.scale());
        let lowest = if table.is_diverging() { -scale.max } else { scale.min() };
        let mut above = f32::INFINITY;
        let inner = table.ticks();
        let ends = [lowest, scale.max];
        let mut values: Vec<(f32, bool)> = ends.iter().map(|&end| (end, true)).collect();
        values.extend(inner.into_iter().filter(|tick| !ends.contains(tick)).map(|tick| (tick, false)));
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let y_of = |value: f32| egui::lerp(bar.bottom()..=bar.top(), table.position(value));
        let top = y_of(scale.max);
        for (value, is_end) in values {
            let y = y_of(value);
            if above - y < 11.0 || !is_end && y - top < 11.0 {
                continue;
            }
            above = y;
            painter.line_segment([pos2(bar.right(), y), pos2(bar.right() + 3.0, y)], (1.0, self.faint));
            let below_counts = value == lowest && scale.kind == ScaleKind::Log && !table.is_diverging();
            let number = short_number(value);
            let text = if below_counts { format!("≤ {number}") } else { number };
            let at = pos2(bar.right() + 5.0, y);
            painter.text(at, Align2::LEFT_CENTER, text, FontId::proportional(10.0), self.text);
        }
    }
}

/// A weight as a tick writes it: `0.01`, `1e-4`, `0.0234`; at most three digits.
#[must_use]
pub fn short_number(weight: f32) -> String {
    let size = weight.abs();
    if size > 0.0 && size < 9e-4 {
        let text = format!("{weight:.1e}");
        return text.replace(".0e", "e");
    }
    let digits = if size < 0.01 {
        4
    } else if size < 0.1 {
        3
    } else {
        2
    };
    let text = format!("{weight:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Fills a strip with diagonal lines.
pub(super) fn hatch(painter: &Painter, strip: Rect, ground: Color32, lines: Color32) {
    let painter = painter.with_clip_rect(strip.intersect(painter.clip_rect()));
    painter.rect_filled(strip, 0.0, ground);
    let shown = painter.clip_rect();
    let mut y = strip.top();
    while y < shown.bottom() + strip.width() {
        painter.line_segment([pos2(strip.left(), y), pos2(strip.right(), y - strip.width())], (1.0, lines));
        y += HATCH_SPACING;
    }
}

pub(super) fn rgb([red, green, blue]: [u8; 3]) -> Color32 {
    Color32::from_rgb(red, green, blue)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::{ColorMap, DivergingMap, SpecialColors};

    fn bar(table: &ColorTable) -> ColorBar<'_> {
        let (text, faint) = (Color32::WHITE, Color32::GRAY);
        ColorBar { table, unit: "weight", text, faint, hatched: false, not_available: None, pointed: None }
    }

    #[test]
    fn dragging_the_upper_half_moves_the_upper_end_by_as_much() {
        let table = ColorTable::new(ColorScale::default(), ColorMap::Magma, SpecialColors::DARK);
        let rect = Rect::from_min_size(pos2(0.0, 0.0), vec2(12.0, 100.0));
        let start = ColorScale::default();
        // A quarter of the default bar is a decade.
        let lower = bar(&table).dragged(rect, start, 10.0, 35.0, true);
        assert!((lower.max - 0.1).abs() < 1e-6 && (lower.floor - 1e-4).abs() < 1e-9, "{lower:?}");
        let raised = bar(&table).dragged(rect, start, 90.0, 65.0, false);
        assert!((raised.floor - 1e-3).abs() < 1e-7 && raised.max == 1.0, "{raised:?}");
        let beyond = bar(&table).dragged(rect, lower, 10.0, -200.0, true);
        assert_eq!(beyond.max, 1.0, "no weight exceeds 1");
    }

    #[test]
    fn both_ends_of_a_diverging_bar_move_together() {
        let table = ColorTable::diverging(
            ColorScale::of(ScaleKind::Linear),
            DivergingMap::BlueRed,
            SpecialColors::DARK,
        );
        let rect = Rect::from_min_size(pos2(0.0, 0.0), vec2(12.0, 100.0));
        let start = table.scale();
        assert!((bar(&table).dragged(rect, start, 10.0, 35.0, true).max - 0.5).abs() < 1e-6);
        assert!((bar(&table).dragged(rect, start, 90.0, 65.0, true).max - 0.5).abs() < 1e-6);
    }

    #[test]
    fn ticks_are_short() {
        let text = [1.0, 0.5, 0.25, 0.1, 0.0234, 1e-3, 1e-4, 3.33e-5, -0.25, 0.0].map(short_number);
        assert_eq!(text, ["1", "0.5", "0.25", "0.1", "0.023", "0.001", "1e-4", "3.3e-5", "-0.25", "0"]);
    }
}
