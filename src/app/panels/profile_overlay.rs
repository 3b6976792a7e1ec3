//! What is drawn over the plot of the mass profile: labels, the line that is dragged, the readout.

use super::profile_axis::first_of_tail;
use super::profile_plot::VIRTUAL_POSITION;
use crate::analysis::{Detection, ProfileKind};
use crate::app::command::Command;
use crate::app::format;
use crate::app::run::Run;
use crate::app::theme::Palette;
use egui::{Align2, Color32, CursorIcon, FontId, Pos2, Rect, Sense, Stroke, Ui, pos2, vec2};
use egui_plot::{PlotPoint, PlotTransform};

/// What is drawn over the plot, in screen positions.
pub(super) struct Overlay<'a> {
    /// The run.
    pub(super) run: &'a Run,
    /// The shown profile.
    pub(super) values: &'a [Option<f64>],
    /// Its kind.
    pub(super) kind: ProfileKind,
    /// Colours.
    pub(super) palette: Palette,
    /// From plot to screen.
    pub(super) transform: PlotTransform,
}

impl Overlay<'_> {
    fn at(&self, token: usize, log: f64) -> Pos2 {
        self.transform.position_from_point(&PlotPoint::new(token as f64, log))
    }

    /// The token at a screen position inside the plot.
    pub(super) fn token_at(&self, pos: Pos2) -> Option<usize> {
        let x = self.transform.value_from_position(pos).x.round();
        (x >= 0.0 && self.transform.frame().contains(pos))
            .then_some(x as usize)
            .filter(|&i| i < self.values.len())
    }

    fn text(&self, ui: &Ui, pos: Pos2, align: Align2, text: &str, color: Color32) -> Rect {
        ui.painter_at(*self.transform.frame()).text(pos, align, text, FontId::monospace(10.5), color)
    }

    /// Names the region where the profile has no value.
    pub(super) fn tail_label(&self, ui: &Ui) {
        let Some(first) = first_of_tail(self.values) else { return };
        let frame = *self.transform.frame();
        let middle = usize::midpoint(first, self.values.len());
        let x = self.at(middle, 0.0).x.clamp(frame.left() + 12.0, frame.right() - 12.0);
        self.text(ui, pos2(x, frame.bottom() - 4.0), Align2::CENTER_BOTTOM, "n/a", self.palette.weak);
    }

    /// Labels of the sinks, the strongest first; one that would cover another is left out.
    pub(super) fn sink_labels(&self, ui: &Ui) {
        let mut sinks: Vec<(usize, f64, f64)> =
            self.run.analysis.sinks.iter().map(|sink| (sink.index, sink.value, sink.z)).collect();
        sinks.sort_by(|a, b| b.2.total_cmp(&a.2));
        let frame = *self.transform.frame();
        let mut taken: Vec<Rect> = self.line_label_place(ui).into_iter().collect();
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

    /// Says what the virtual key takes, above its column.
    pub(super) fn virtual_label(&self, ui: &Ui) {
        let Some(virtual_key) = &self.run.analysis.virtual_key else { return };
        let Some(value) = self.run.analysis.virtual_value(self.kind).filter(|value| *value > 0.0) else {
            return;
        };
        let top = self.transform.position_from_point(&PlotPoint::new(VIRTUAL_POSITION, value.log10()));
        let frame = *self.transform.frame();
        let text = format!("V virtual\n{} of all", format::percent(virtual_key.share));
        let galley = ui.painter().layout_no_wrap(text, FontId::monospace(10.5), self.palette.sink);
        let at = pos2(top.x + 8.0, (top.y - 4.0).max(frame.top() + 2.0));
        let rect = Rect::from_min_size(at, galley.size());
        ui.painter_at(frame).rect_filled(rect.expand(1.0), 2.0, self.palette.base.gamma_multiply(0.75));
        ui.painter_at(frame).galley(rect.min, galley, self.palette.sink);
        let column = Rect::from_center_size(pos2(top.x, frame.center().y), vec2(12.0, frame.height()));
        let response = ui.interact(column, ui.scope_id().with("virtual key"), Sense::hover());
        response.widget_info(|| {
            let mut info = egui::WidgetInfo::labeled(egui::Role::Image, true, "Virtual key");
            info.current_text_value =
                Some(format!("{} of all attention", format::percent(virtual_key.share)));
            info
        });
        response.on_hover_text(
            "The model's virtual key (a learned sink logit): never evicted, not in z.\n\
             In lift and far-lift it counts as a key that every query sees",
        );
    }

    /// The line's handle; whether it has the pointer.
    pub(super) fn threshold_line(&self, ui: &Ui, commands: &mut Vec<Command>) -> bool {
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
        let rect = self.line_label_rect(galley.size());
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

    /// Where the line's label stands; `None` where there is no line.
    fn line_label_place(&self, ui: &Ui) -> Option<Rect> {
        let detection = &self.run.analysis.detection;
        let label = line_label(detection, self.kind);
        let galley = ui.painter().layout_no_wrap(label, FontId::monospace(10.5), self.palette.text);
        detection.tested.then(|| self.line_label_rect(galley.size()).expand(2.0))
    }

    fn line_label_rect(&self, size: egui::Vec2) -> Rect {
        let frame = *self.transform.frame();
        let y = self.at(0, self.run.analysis.detection.line.log10()).y.clamp(frame.top(), frame.bottom());
        Align2::RIGHT_BOTTOM.anchor_size(pos2(frame.right() - 6.0, y - 2.0), size)
    }

    /// Says what the pointer is over.
    pub(super) fn hover_label(&self, ui: &Ui, token: usize) {
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
    let above = top.y - size.y - 5.0;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_and_the_threshold_are_inverses() {
        let values: Vec<Option<f64>> =
            (1..=40).map(|i| Some(f64::from(i) / 10.0)).chain([Some(300.0)]).collect();
        let detection = Detection::of(&values, 3.5);
        let back = threshold_at(&detection, detection.line.log10()).expect("a spread");
        assert!((back - 3.5).abs() < 1e-9, "{back}");
    }
}
