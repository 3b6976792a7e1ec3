//! The colour bar: the map from end to end, ticks in the values' own unit, and a legend of what has no value.

use crate::color::{ColorTable, ScaleKind};
use egui::{Align2, Color32, FontId, Mesh, Painter, Rect, Stroke, StrokeKind, pos2, vec2};

const BAR_WIDTH: f32 = 12.0;
const LEGEND_ROW: f32 = 14.0;
const STOPS: u8 = 64;

/// A colour bar and its legend.
pub struct ColorBar<'a> {
    /// What the colours mean.
    pub table: &'a ColorTable,
    /// Colour of numbers.
    pub text: Color32,
    /// Colour of captions and outlines.
    pub faint: Color32,
}

impl ColorBar<'_> {
    /// Draws into `rect`: the bar above, the legend below.
    pub fn paint(&self, painter: &Painter, rect: Rect) {
        let special = self.table.special();
        let legend = [("masked", special.masked), ("exactly 0", special.zero), ("NaN", special.nan)];
        let legend_height = LEGEND_ROW * 3.0;
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
            painter.rect(swatch, 0.0, rgb(color), Stroke::new(1.0, self.faint), StrokeKind::Inside);
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
            let text = if below_counts { format!("≤ {weight}") } else { format!("{weight}") };
            let at = pos2(bar.right() + 5.0, y);
            painter.text(at, Align2::LEFT_CENTER, text, FontId::proportional(10.0), self.text);
        }
    }
}

pub(super) fn rgb([red, green, blue]: [u8; 3]) -> Color32 {
    Color32::from_rgb(red, green, blue)
}
