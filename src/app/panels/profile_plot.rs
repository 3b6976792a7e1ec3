//! The plot of the mass profile: log₁₀ bars, the draggable log-MAD line, sink labels, the n/a region.

use crate::analysis::{Detection, ProfileKind};
use crate::app::command::Command;
use crate::app::format;
use crate::app::run::Run;
use crate::app::state::AppState;
use crate::app::theme::Palette;
use egui::{Align2, Color32, CursorIcon, FontId, Pos2, Rect, Sense, Stroke, Ui, Vec2b, pos2, vec2};
use egui_plot::{Bar, BarChart, GridMark, HLine, LineStyle, Plot, PlotPoint, PlotTransform, Span, VLine};

/// Bars that are drawn at most; beyond, neighbours share one, which shows their largest.
const MOST_BARS: usize = 1200;

/// Draws the plot into the space that is left.
pub(super) fn ui(ui: &mut Ui, state: &AppState, run: &Run, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    let kind = run.analysis.options.profile;
    let values = run.analysis.profile(kind);
    let range = LogRange::of(values, &run.analysis.detection);
    let (plain, flagged) = bars(run, values, range.low, palette);
    let n = values.len() as f64;
    let plot = Plot::new(("mass profile", run.capture.id))
        .show_background(false)
        .show_grid(Vec2b::new(false, true))
        .show_crosshair(false)
        .allow_drag(Vec2b::new(true, false))
        .allow_zoom(Vec2b::new(true, false))
        .allow_scroll(false)
        .allow_boxed_zoom(false)
        .allow_axis_zoom_drag(false)
        .default_x_bounds(-1.0, n)
        .default_y_bounds(range.low, range.high)
        .set_margin_fraction(vec2(0.0, 0.0))
        .x_grid_spacer(|input| positions(input.bounds))
        .y_grid_spacer(|input| decades(input.bounds))
        .y_axis_formatter(|mark, _| tick(mark.value))
        .x_axis_formatter(|mark, _| position_tick(mark))
        .y_axis_min_width(44.0)
        .x_axis_label("")
        .y_axis_label(egui::RichText::new(format!("{} ({})", kind.name(), kind.unit())).size(11.0))
        .grid_color(palette.line)
        .label_formatter(|_| None);
    let response = plot.show(ui, |plot| {
        // The y range depends on the data only, so that dragging the line moves nothing else.
        plot.set_plot_bounds_y(range.low..=range.high);
        if let Some(first) = first_of_tail(values) {
            let span = Span::new("", first as f64 - 0.5..=n - 0.5);
            plot.span(
                span.fill(palette.line.gamma_multiply(0.55))
                    .border_width(0.0)
                    .border_color(Color32::TRANSPARENT),
            );
        }
        if matches!(kind, ProfileKind::FarLift | ProfileKind::Lift) {
            plot.hline(HLine::new("uniform", 0.0).color(palette.weak.gamma_multiply(0.5)).width(1.0));
        }
        if let Some(selected) = state.view.selected {
            plot.vline(
                VLine::new("selected", selected as f64).color(palette.accent.gamma_multiply(0.7)).width(1.5),
            );
        }
        plot.bar_chart(BarChart::new("tokens", plain).allow_hover(false));
        plot.bar_chart(BarChart::new("sinks", flagged).allow_hover(false));
        if run.analysis.detection.tested {
            let line = HLine::new("threshold", run.analysis.detection.line.log10());
            plot.hline(
                line.color(palette.text.gamma_multiply(0.8)).width(1.0).style(LineStyle::dashed_loose()),
            );
        }
    });
    let over = Overlay { run, values, kind, palette, transform: response.transform };
    over.tail_label(ui);
    over.sink_labels(ui);
    let dragged = over.threshold_line(ui, commands);
    if let Some(token) = response.response.hover_pos().and_then(|pos| over.token_at(pos)).filter(|_| !dragged)
    {
        if response.response.clicked() {
            commands.push(Command::SelectToken(token));
        }
        over.hover_label(ui, token);
    }
}

/// What is drawn over the plot, in screen positions.
struct Overlay<'a> {
    run: &'a Run,
    values: &'a [Option<f64>],
    kind: ProfileKind,
    palette: Palette,
    transform: PlotTransform,
}

impl Overlay<'_> {
    fn at(&self, token: usize, log: f64) -> Pos2 {
        self.transform.position_from_point(&PlotPoint::new(token as f64, log))
    }

    fn token_at(&self, pos: Pos2) -> Option<usize> {
        let x = self.transform.value_from_position(pos).x.round();
        (x >= 0.0 && self.transform.frame().contains(pos))
            .then_some(x as usize)
            .filter(|&i| i < self.values.len())
    }

    fn text(&self, ui: &Ui, pos: Pos2, align: Align2, text: &str, color: Color32) -> Rect {
        ui.painter_at(*self.transform.frame()).text(pos, align, text, FontId::monospace(10.5), color)
    }

    fn tail_label(&self, ui: &Ui) {
        let Some(first) = first_of_tail(self.values) else { return };
        let frame = *self.transform.frame();
        let middle = usize::midpoint(first, self.values.len());
        let x = self.at(middle, 0.0).x.clamp(frame.left(), frame.right());
        self.text(ui, pos2(x, frame.bottom() - 4.0), Align2::CENTER_BOTTOM, "n/a", self.palette.weak);
    }

    /// Labels of the sinks, the strongest first; one that would cover another is left out.
    fn sink_labels(&self, ui: &Ui) {
        let mut sinks: Vec<(usize, f64, f64)> =
            self.run.analysis.sinks.iter().map(|sink| (sink.index, sink.value, sink.z)).collect();
        sinks.sort_by(|a, b| b.2.total_cmp(&a.2));
        let frame = *self.transform.frame();
        let mut taken: Vec<Rect> = Vec::new();
        for (index, value, z) in sinks {
            let label = self.run.capture.tokens.tokens[index].label();
            let text = format!("{index} {label}\nz {}", format::z(Some(z)));
            let galley = ui.painter().layout_no_wrap(text, FontId::monospace(10.5), self.palette.sink);
            let top = self.at(index, value.log10());
            if !frame.contains(top) {
                continue;
            }
            let free = |rect: &Rect| {
                frame.contains_rect(rect.shrink(0.5)) && taken.iter().all(|other| !other.intersects(*rect))
            };
            if let Some(rect) = places(top, galley.size()).into_iter().find(free) {
                ui.painter_at(frame).rect_filled(
                    rect.expand(1.0),
                    2.0,
                    self.palette.base.gamma_multiply(0.75),
                );
                ui.painter_at(frame).galley(rect.min, galley, self.palette.sink);
                taken.push(rect);
            }
        }
    }

    /// The line's handle; whether it has the pointer.
    fn threshold_line(&self, ui: &Ui, commands: &mut Vec<Command>) -> bool {
        let detection = &self.run.analysis.detection;
        if !detection.tested {
            return false;
        }
        let frame = *self.transform.frame();
        let y = self.at(0, detection.line.log10()).y.clamp(frame.top(), frame.bottom());
        let handle = Rect::from_min_max(pos2(frame.left(), y - 5.0), pos2(frame.right(), y + 5.0));
        let response = ui.interact(handle, ui.scope_id().with("threshold"), Sense::drag());
        response.widget_info(|| {
            let mut info = egui::WidgetInfo::slider(true, detection.threshold, "Threshold line");
            info.current_text_value = Some(line_label(detection, self.kind));
            info
        });
        let held = response.hovered() || response.dragged();
        let color = if held { self.palette.accent } else { self.palette.text };
        if held {
            ui.ctx().set_cursor_icon(CursorIcon::ResizeVertical);
            ui.painter().hline(frame.x_range(), y, Stroke::new(2.0, self.palette.accent));
        }
        let label = line_label(detection, self.kind);
        let galley = ui.painter().layout_no_wrap(label, FontId::monospace(10.5), color);
        let rect = Align2::RIGHT_BOTTOM.anchor_size(pos2(frame.right() - 6.0, y - 2.0), galley.size());
        ui.painter_at(frame).rect_filled(rect.expand(2.0), 2.0, self.palette.base.gamma_multiply(0.8));
        ui.painter_at(frame).galley(rect.min, galley, color);
        if let Some(pos) = response.interact_pointer_pos().filter(|_| response.dragged()) {
            let log = self.transform.value_from_position(pos).y;
            if let Some(threshold) = threshold_at(detection, log) {
                commands.push(Command::SetThreshold(threshold));
            }
        }
        held
    }

    fn hover_label(&self, ui: &Ui, token: usize) {
        let label = self.run.capture.tokens.tokens[token].label();
        let value = format::profile_value(self.kind, self.values[token]);
        let z = format::z(self.run.analysis.detection.z[token]);
        let text = format!("{token} {label}   {} {value}   z {z}", self.kind.name());
        let frame = *self.transform.frame();
        let galley = ui.painter().layout_no_wrap(text, FontId::monospace(11.0), self.palette.text);
        let rect = Align2::CENTER_TOP.anchor_size(frame.center_top() + vec2(0.0, 3.0), galley.size());
        ui.painter().rect_filled(rect.expand2(vec2(6.0, 2.0)), 3.0, self.palette.raised);
        ui.painter().galley(rect.min, galley, self.palette.text);
        let x = self.at(token, 0.0).x;
        ui.painter_at(frame).vline(
            x,
            frame.y_range(),
            Stroke::new(1.0, self.palette.weak.gamma_multiply(0.4)),
        );
    }
}

/// Where a label may stand, the best place first: above its bar to the right or left, beside its top.
fn places(top: Pos2, size: egui::Vec2) -> [Rect; 5] {
    let at = |x: f32, y: f32| Rect::from_min_size(pos2(x, y), size);
    let above = top.y - size.y - 2.0;
    [
        at(top.x - 3.0, above),
        at(top.x + 3.0 - size.x, above),
        at(top.x + 5.0, top.y - 2.0),
        at(top.x - 5.0 - size.x, top.y - 2.0),
        at(top.x - 3.0, above - size.y),
    ]
}

/// The threshold whose line lies at this log₁₀ value.
fn threshold_at(detection: &Detection, log10: f64) -> Option<f64> {
    let threshold = (log10 * std::f64::consts::LN_10 - detection.median_ln) / detection.sigma_ln;
    threshold.is_finite().then_some(threshold)
}

fn line_label(detection: &Detection, kind: ProfileKind) -> String {
    format!("z {:.2} → {}", detection.threshold, format::profile_value(kind, Some(detection.line)))
}

/// The y axis in log₁₀ units.
#[derive(Debug, Clone, Copy, PartialEq)]
struct LogRange {
    low: f64,
    high: f64,
}

impl LogRange {
    /// A range that holds every positive value, with room for labels above. The line at the usual
    /// threshold is inside too, so that it can be reached.
    fn of(values: &[Option<f64>], detection: &Detection) -> Self {
        let usual = detection.median_ln + crate::analysis::DEFAULT_THRESHOLD * detection.sigma_ln;
        let logs = values.iter().flatten().filter(|&&v| v > 0.0 && v.is_finite()).map(|v| v.log10());
        let (low, high) = logs.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        if !low.is_finite() {
            return Self { low: -2.0, high: 1.0 };
        }
        let high = if detection.tested { high.max(usual / std::f64::consts::LN_10) } else { high };
        // Six decades are as many as can be read; what underflowed is drawn at the floor.
        let low = low.max(high - 6.0) - 0.15;
        Self { low, high: high + 0.14 * (high - low) + 0.05 }
    }
}

/// Bars of the ordinary and of the flagged tokens.
fn bars(run: &Run, values: &[Option<f64>], floor: f64, palette: Palette) -> (Vec<Bar>, Vec<Bar>) {
    let pool = values.len().div_ceil(MOST_BARS).max(1);
    let bar = |index: usize, value: f64, width: usize, fill: Color32| {
        let height = (value.max(f64::MIN_POSITIVE).log10() - floor).max(0.0);
        Bar::new(index as f64, height)
            .stroke(Stroke::NONE)
            .base_offset(floor)
            .fill(fill)
            .width(width as f64 * if width == 1 { 0.82 } else { 1.0 })
    };
    let plain = values
        .chunks(pool)
        .enumerate()
        .filter_map(|(chunk, values)| {
            let most = values.iter().flatten().copied().reduce(f64::max)?;
            Some(bar(chunk * pool + pool / 2, most, pool, palette.bar))
        })
        .collect();
    let flagged =
        run.analysis.sinks.iter().map(|sink| bar(sink.index, sink.value, 1, palette.sink)).collect();
    (plain, flagged)
}

/// The first key of the n/a region at the end, if there is one.
fn first_of_tail(values: &[Option<f64>]) -> Option<usize> {
    let tail = values.iter().rev().take_while(|value| value.is_none()).count();
    (tail > 0).then(|| values.len() - tail)
}

/// Grid marks at decades, and finer ones between.
fn decades((low, high): (f64, f64)) -> Vec<GridMark> {
    let mut marks = Vec::new();
    // A label must not stick out of the plot.
    let room = 0.03 * (high - low);
    let inside = |value: f64| value >= low + room && value <= high - room;
    for decade in low.floor() as i32..=high.ceil() as i32 {
        if inside(f64::from(decade)) {
            marks.push(GridMark { value: f64::from(decade), step_size: 1.0 });
        }
        let digits = (2..10).map(|digit| f64::from(decade) + f64::from(digit).log10());
        marks.extend(digits.map(|value| GridMark { value, step_size: 0.04 }));
    }
    marks
}

/// Grid marks at round positions, about ten of them.
fn positions((low, high): (f64, f64)) -> Vec<GridMark> {
    let step = round_step((high - low) / 10.0);
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (first..=last).map(|i| GridMark { value: i as f64 * step, step_size: step }).collect()
}

/// The smallest of 1, 2, 5, 10, 20, … that is at least `wanted`.
fn round_step(wanted: f64) -> f64 {
    let decade = 10_f64.powf(wanted.max(1.0).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * decade)
        .find(|&step| step >= wanted)
        .unwrap_or(1.0)
}

/// Only decades carry a label.
fn tick(log10: f64) -> String {
    let rounded = log10.round();
    if (log10 - rounded).abs() < 1e-6 { format::decade(rounded as i32) } else { String::new() }
}

fn position_tick(mark: GridMark) -> String {
    if mark.value >= 0.0 && mark.value.fract() == 0.0 { format!("{:.0}", mark.value) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detection() -> Detection {
        let values: Vec<Option<f64>> =
            (1..=40).map(|i| Some(f64::from(i) / 10.0)).chain([Some(300.0)]).collect();
        Detection::of(&values, 3.5)
    }

    #[test]
    fn the_line_and_the_threshold_are_inverses() {
        let detection = detection();
        let back = threshold_at(&detection, detection.line.log10()).expect("a spread");
        assert!((back - 3.5).abs() < 1e-9, "{back}");
    }

    #[test]
    fn the_range_does_not_follow_the_line() {
        let values = [Some(0.1), Some(1.0), Some(30.0)];
        let a = LogRange::of(&values, &detection());
        let moved = Detection { threshold: 9.0, line: 1e9, ..detection() };
        assert_eq!(a, LogRange::of(&values, &moved));
        assert!(a.low < -1.0 && a.high > 30_f64.log10());
    }

    #[test]
    fn the_tail_is_what_is_missing_at_the_end() {
        assert_eq!(first_of_tail(&[Some(1.0), None, Some(1.0), None, None]), Some(3));
        assert_eq!(first_of_tail(&[None, Some(1.0)]), None);
    }

    #[test]
    fn steps_are_round() {
        for (wanted, step) in [(0.3, 1.0), (1.1, 2.0), (14.3, 20.0), (50.0, 50.0), (99.0, 100.0)] {
            assert!((round_step(wanted) - step).abs() < 1e-9, "{wanted}: {}", round_step(wanted));
        }
    }

    #[test]
    fn only_decades_are_labelled() {
        assert_eq!(tick(-1.0), "0.1");
        assert_eq!(tick(2.0), "100");
        assert_eq!(tick(0.301), "");
    }
}
