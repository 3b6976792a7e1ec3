//! The colour bar: the map from end to end, ticks in the values' own unit, and a legend of what has no value.

use crate::color::{ColorTable, ScaleKind};
use egui::{Align2, Color32, FontId, Mesh, Painter, Rect, Shape, Stroke, StrokeKind, pos2, vec2};

const BAR_WIDTH: f32 = 12.0;
const LEGEND_ROW: f32 = 14.0;
const STOPS: u8 = 64;
const HATCH_SPACING: f32 = 5.0;
const HIDDEN: &str = "hidden";

/// A colour bar and its legend.
pub struct ColorBar<'a> {
    /// What the colours mean.
    pub table: &'a ColorTable,
    /// Colour of numbers.
    pub text: Color32,
    /// Colour of captions and outlines.
    pub faint: Color32,
    /// Whether the legend explains hatched columns.
    pub hatched: bool,
    /// A value to point at.
    pub pointed: Option<f32>,
}

impl ColorBar<'_> {
    /// Draws into `rect`: the bar above, the legend below.
    pub fn paint(&self, painter: &Painter, rect: Rect) {
        let special = self.table.special();
        let mut legend = vec![("masked", special.masked), ("exactly 0", special.zero), ("NaN", special.nan)];
        legend.extend(self.hatched.then_some((HIDDEN, special.masked)));
        let legend_height = LEGEND_ROW * legend.len() as f32;
        let caption = 16.0;
        let bar = Rect::from_min_max(
            rect.min + vec2(0.0, caption),
            pos2(rect.left() + BAR_WIDTH, rect.bottom() - legend_height - 12.0),
        );
        let unit = format!("weight, {}", self.table.scale().kind.name());
        painter.text(rect.left_top(), Align2::LEFT_TOP, unit, FontId::proportional(10.0), self.faint);
        if bar.height() > 24.0 {
            self.bar(painter, bar);
        }
        let mut top = rect.bottom() - legend_height;
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
        if let Some(value) = self.pointed.filter(|value| *value > 0.0) {
            let y = egui::lerp(bar.bottom()..=bar.top(), self.table.scale().position(value));
            let tip = pos2(bar.left() - 1.0, y);
            let points = vec![tip, tip + vec2(-5.0, -3.5), tip + vec2(-5.0, 3.5)];
            painter.add(Shape::convex_polygon(points, self.text, Stroke::NONE));
        }
    }

    fn ticks(&self, painter: &Painter, bar: Rect) {
        let scale = self.table.scale();
        let mut above = f32::INFINITY;
        for (index, weight) in scale.ticks().into_iter().enumerate() {
            let y = egui::lerp(bar.bottom()..=bar.top(), scale.position(weight));
            if above - y < 11.0 {
                continue;
            }
            above = y;
            painter.line_segment([pos2(bar.right(), y), pos2(bar.right() + 3.0, y)], (1.0, self.faint));
            let below_counts = index == 0 && scale.kind == ScaleKind::Log;
            let number = short_number(weight);
            let text = if below_counts { format!("≤ {number}") } else { number };
            let at = pos2(bar.right() + 5.0, y);
            painter.text(at, Align2::LEFT_CENTER, text, FontId::proportional(10.0), self.text);
        }
    }
}

/// A weight as a tick writes it: `0.01`, `1e-4`.
#[must_use]
pub fn short_number(weight: f32) -> String {
    if weight > 0.0 && weight < 9e-4 { format!("{weight:e}") } else { format!("{weight}") }
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
