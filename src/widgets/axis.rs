//! Which positions of an axis are labelled, and their labels.

use super::viewport::{to_f64, to_usize};
use egui::epaint::TextShape;
use egui::text::{LayoutJob, TextFormat, TextWrapping};
use egui::{Align2, Color32, FontId, Galley, Painter, Pos2, Rect, Vec2, pos2, vec2};
use std::f32::consts::FRAC_PI_2;
use std::ops::Range;
use std::sync::Arc;

/// Distance between labels that keeps them apart, in points.
pub const LABEL_GAP: f32 = 12.0;
const FONT_SIZE: f32 = 10.0;
/// Between plot, label and number.
const GAP: f32 = 4.0;

/// Positions to label, ascending: `always` first, then a round step that leaves `min_gap` between any two.
///
/// `cell` is the size of one position on screen, in the unit of `min_gap`.
#[must_use]
pub fn ticks(visible: Range<usize>, cell: f64, min_gap: f64, always: &[usize]) -> Vec<usize> {
    if visible.is_empty() || cell <= 0.0 {
        return Vec::new();
    }
    let apart = |a: usize, b: usize| to_f64(a.abs_diff(b)) * cell >= min_gap;
    let mut kept: Vec<usize> = Vec::new();
    for &position in always.iter().filter(|position| visible.contains(position)) {
        if kept.iter().all(|&other| apart(position, other)) {
            kept.push(position);
        }
    }
    let step = round_step(min_gap / cell);
    let first = visible.start.div_ceil(step) * step;
    let marked = kept.len();
    for position in (first..visible.end).step_by(step) {
        if kept[..marked].iter().all(|&other| apart(position, other)) {
            kept.push(position);
        }
    }
    kept.sort_unstable();
    kept
}

/// The smallest of 1, 2, 5, 10, 20, 50, … that is at least `wanted`.
fn round_step(wanted: f64) -> usize {
    let mut decade = 1.0;
    while decade * 10.0 < wanted {
        decade *= 10.0;
    }
    let step = [1.0, 2.0, 5.0, 10.0].iter().map(|factor| factor * decade).find(|&step| step >= wanted);
    to_usize(step.unwrap_or(decade)).max(1)
}

/// On which side of a matrix the labels stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisSide {
    /// Left of the rows.
    Left,
    /// Under the columns, turned upwards.
    Bottom,
}

/// Draws labels along one side of a plot.
pub struct AxisPainter<'a> {
    /// Where to draw.
    pub painter: &'a Painter,
    /// The plot that the labels belong to.
    pub plot: Rect,
    /// Room beside it, in points.
    pub margin: f32,
    /// Which side.
    pub side: AxisSide,
    /// Characters of the longest number.
    pub digits: usize,
    /// Colour of positions and tick marks.
    pub faint: Color32,
}

impl AxisPainter<'_> {
    /// Draws number and label of a position whose cell's middle is `at` along the axis (a screen coordinate).
    pub fn label(&self, at: f32, number: &str, label: &str, color: Color32) {
        match self.side {
            AxisSide::Left => {
                self.tick(pos2(self.plot.left(), at), vec2(-3.0, 0.0));
                let numbers = self.number_width();
                let label = self.fitted(&[(label, color)], self.margin - numbers - 3.0 * GAP);
                self.add(pos2(self.plot.left() - GAP, at), label, 0.0);
                let number = self.fitted(&[(number, self.faint)], f32::INFINITY);
                self.add(pos2(self.plot.left() - self.margin + numbers, at), number, 0.0);
            }
            AxisSide::Bottom => {
                // No column of numbers here: what a short number leaves is room for the label.
                self.tick(pos2(at, self.plot.bottom()), vec2(0.0, 3.0));
                let text = [(number, self.faint), (" ", self.faint), (label, color)];
                let text = self.fitted(&text, self.margin - GAP);
                self.add(pos2(at, self.plot.bottom() + GAP), text, -FRAC_PI_2);
            }
        }
    }

    fn number_width(&self) -> f32 {
        let glyph = self.painter.fonts_mut(|fonts| fonts.glyph_width(&FontId::monospace(FONT_SIZE), '0'));
        glyph * self.digits as f32
    }

    /// The parts on one line, cut with an ellipsis where it is wider than `max_width`.
    fn fitted(&self, parts: &[(&str, Color32)], max_width: f32) -> Arc<Galley> {
        let mut job = LayoutJob::default();
        for &(text, color) in parts {
            job.append(text, 0.0, TextFormat::simple(FontId::monospace(FONT_SIZE), color));
        }
        job.wrap = TextWrapping::truncate_at_width(max_width.max(0.0));
        self.painter.layout_job(job)
    }

    /// Text whose end lies at `end`, turned by `angle`.
    fn add(&self, end: Pos2, text: Arc<Galley>, angle: f32) {
        let anchor = Align2::RIGHT_CENTER;
        let origin = end - anchor.pos_in_rect(&text.rect).to_vec2();
        self.painter.add(TextShape::new(origin, text, self.faint).with_angle_and_anchor(angle, anchor));
    }

    fn tick(&self, from: Pos2, length: Vec2) {
        self.painter.line_segment([from, from + length], (1.0, self.faint));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_position_is_labelled_where_there_is_room() {
        assert_eq!(ticks(3..8, 14.0, 12.0, &[]), [3, 4, 5, 6, 7]);
    }

    #[test]
    fn labels_thin_out_to_round_positions() {
        assert_eq!(ticks(0..100, 1.0, 12.0, &[]), [0, 20, 40, 60, 80]);
        assert_eq!(ticks(130..260, 2.0, 12.0, &[])[..3], [130, 140, 150]);
    }

    #[test]
    fn what_is_always_labelled_drives_its_neighbours_away() {
        assert_eq!(ticks(0..100, 1.0, 12.0, &[43]), [0, 20, 43, 60, 80]);
        assert_eq!(ticks(0..100, 1.0, 12.0, &[43, 44, 400]), [0, 20, 43, 60, 80]);
    }

    #[test]
    fn nothing_to_see_is_no_label() {
        assert!(ticks(5..5, 10.0, 12.0, &[5]).is_empty());
        assert!(ticks(0..5, 0.0, 12.0, &[]).is_empty());
    }

    proptest! {
        #[test]
        fn labels_never_overlap(
            start in 0_usize..5000, length in 1_usize..5000, cell in 0.05..40.0_f64,
            always in proptest::collection::vec(0_usize..10_000, 0..8),
        ) {
            let labelled = ticks(start..start + length, cell, 12.0, &always);
            prop_assert!(labelled.windows(2).all(|pair| to_f64(pair[1] - pair[0]) * cell >= 12.0 - 1e-9));
            prop_assert!(labelled.iter().all(|tick| (start..start + length).contains(tick)));
        }
    }
}
