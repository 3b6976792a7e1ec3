//! The profile's axes: positions across, a logarithmic scale up.

use super::{LABEL_HEIGHT, PLOT};
use crate::export::axes::{NOTE_SIZE, TICK_SIZE, compact, nice_step};
use crate::export::drawing::{Anchor, Drawing, Label};
use crate::export::views::Scene;

/// The logarithmic vertical axis.
pub(super) struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    pub(super) fn of(scene: &Scene<'_>, values: &[Option<f64>]) -> Self {
        let positive = values.iter().flatten().copied().filter(|value| value.is_finite() && *value > 0.0);
        let low = positive.clone().reduce(f64::min).unwrap_or(0.1);
        let mut high = positive.reduce(f64::max).unwrap_or(10.0);
        let line = scene.analysis.detection.line;
        if scene.analysis.detection.tested && line.is_finite() {
            high = high.max(line);
        }
        let low = low / 1.4;
        // Leave room above the highest bar for the labels.
        let headroom = match scene.analysis.sinks.len() {
            0 => 10.0,
            1..=4 => LABEL_HEIGHT + 8.0,
            _ => 2.0 * LABEL_HEIGHT + 12.0,
        };
        let stretch = f64::from(PLOT.height / (PLOT.height - headroom));
        Self { low, high: low * (high / low).powf(stretch) }
    }

    /// Height above the plot's floor, in points.
    pub(super) fn height(&self, value: f64) -> f32 {
        let part = (value.max(self.low) / self.low).ln() / (self.high / self.low).ln();
        part.min(1.0) as f32 * PLOT.height
    }

    pub(super) fn y(&self, value: f64) -> f32 {
        PLOT.bottom() - self.height(value)
    }

    /// Values with a label, at 1, or at 1, 2 and 5 of each decade where there are few decades.
    fn ticks(&self) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let steps: &[f64] = if decades > 4.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let all = (first..=last).flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
        all.filter(|tick| (self.low..=self.high).contains(tick)).collect()
    }
}

pub(super) fn y_axis(drawing: &mut Drawing, scene: &Scene<'_>, axis: &Axis) {
    let palette = &scene.palette;
    for tick in axis.ticks() {
        let y = axis.y(tick);
        drawing.line((PLOT.x, y), (PLOT.right(), y), palette.faint, 0.5);
        let label = Label::new(PLOT.x - 6.0, y + 3.0, TICK_SIZE, palette.soft, compact(tick));
        drawing.text(label.anchored(Anchor::End));
    }
    let kind = scene.analysis.options.profile;
    let title = format!("{} ({}, log scale)", kind.name(), kind.unit());
    let middle = PLOT.y + PLOT.height / 2.0;
    let label = Label::new(PLOT.x - 44.0, middle, NOTE_SIZE, palette.soft, title);
    drawing.text(label.turned().anchored(Anchor::Middle));
}

/// Width of one position, in points.
pub(super) fn pitch(n: usize) -> f32 {
    PLOT.width / n.max(1) as f32
}

pub(super) fn center_x(n: usize, index: usize) -> f32 {
    PLOT.x + (index as f32 + 0.5) * pitch(n)
}

pub(super) fn x_axis(drawing: &mut Drawing, scene: &Scene<'_>) {
    let palette = &scene.palette;
    let n = scene.capture.len();
    for index in (0..n).step_by(nice_step(44.0 / pitch(n))) {
        let x = center_x(n, index);
        drawing.line((x, PLOT.bottom()), (x, PLOT.bottom() + 4.0), palette.line, 0.6);
        let label = Label::new(x, PLOT.bottom() + 14.0, TICK_SIZE, palette.soft, index.to_string());
        drawing.text(label.anchored(Anchor::Middle));
    }
    let title = Label::new(
        PLOT.x + PLOT.width / 2.0,
        PLOT.bottom() + 29.0,
        NOTE_SIZE,
        palette.soft,
        "key (token index)",
    );
    drawing.text(title.anchored(Anchor::Middle));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_lie_on_the_axis() {
        let axis = Axis { low: 0.04, high: 37.0 };
        let ticks = axis.ticks();
        assert_eq!(ticks.first().copied().map(compact).as_deref(), Some("0.05"));
        assert_eq!(ticks.last().copied().map(compact).as_deref(), Some("20"));
        assert!((axis.y(37.0) - PLOT.y).abs() < 1e-3 && (axis.y(0.04) - PLOT.bottom()).abs() < 1e-3);
    }
}
