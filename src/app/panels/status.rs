//! The status line: checks, timings, memory.

use crate::app::actions::ACTIONS;
use crate::app::command::Command;
use crate::app::format;
use crate::app::guide::GuideCommand;
use crate::app::layout::{LayoutCommand, Side};
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::capture::Checks;
use crate::widgets::controls::{Sign, name, sign};
use egui::{
    Color32, Key, KeyboardShortcut, Layout, Modifiers, Rect, RichText, Stroke, StrokeKind, Ui, UiBuilder,
    vec2,
};

/// Row sums may be off by this much in f32 before the sign turns.
const ROW_SUM_TOLERANCE: f64 = 1e-4;

/// Height of the line, in points.
const LINE_HEIGHT: f32 = 22.0;

/// In a narrower line, or a larger zoom, the timings are left out, in points.
const TIMINGS_FIT: f32 = 1040.0;

/// Draws the line.
pub(super) fn ui(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    // The line is as high without a result as with one.
    let (_, rect) = ui.allocate_space(vec2(ui.available_width(), LINE_HEIGHT));
    let line = UiBuilder::new().max_rect(rect).layout(Layout::left_to_right(egui::Align::Center));
    ui.scope_builder(line, |ui| {
        ui.spacing_mut().item_spacing.x = 12.0;
        let wide = ui.available_width() > TIMINGS_FIT;
        if let Some(run) = &state.run {
            checks(ui, &run.capture.checks, palette, commands);
            ui.separator();
            let item = |ui: &mut Ui, text: String, tip: &str| {
                ui.label(RichText::new(text).monospace().size(11.0).color(palette.weak)).on_hover_text(tip);
            };
            let timings = |ui: &mut Ui| {
                item(
                    ui,
                    format!("load {:>7}", format::millis(run.capture.model.load_ms)),
                    "Time to load the model",
                );
                item(
                    ui,
                    format!("prefill {:>7}", format::millis(run.capture.prefill_ms)),
                    "Time to run the model over the prompt and capture its attention",
                );
                item(
                    ui,
                    format!("analysis {:>7}", format::millis(run.analysis_ms)),
                    "Time from column sums to sinks",
                );
            };
            if wide {
                timings(ui);
            }
            if let Some(perplexity) = run.capture.perplexity() {
                let tip = "exp(mean NLL) over the prompt's own tokens";
                item(ui, format!("PPL {perplexity:.2}"), tip);
            }
        }
        ui.with_layout(Layout::right_to_left(egui::Align::Center), |ui| {
            help(ui, commands);
            panel_buttons(ui, state, palette, commands);
            ui.separator();
            memory(ui, state, palette);
        });
    });
}

fn checks(ui: &mut Ui, checks: &Checks, palette: Palette, commands: &mut Vec<Command>) {
    let rows = format!("rows sum to 1 ± {:.0e}", checks.max_row_sum_error).replace("e-", "e−");
    let leak = if checks.causal_leak == 0.0 {
        "leak 0".to_owned()
    } else {
        format!("leak {:.1e}", checks.causal_leak)
    };
    let nan = format!("NaN {}", checks.nan_count);
    let where_nan = checks.first_nan.map_or_else(
        || "Rows whose weights are not finite".to_owned(),
        |(layer, head, query)| {
            format!("First at layer {layer}, head {head}, query {query}; kept out of every sum")
        },
    );
    let shown = [
        (
            rows,
            checks.max_row_sum_error < ROW_SUM_TOLERANCE,
            "Largest error of a row's sum, measured on every row".to_owned(),
        ),
        (leak, checks.causal_leak == 0.0, "Largest weight on a key that its query must not see".to_owned()),
        (nan, checks.nan_count == 0, where_nan),
    ];
    for (text, holds, tip) in shown {
        let (shape, color) = if holds { (Sign::Good, palette.good) } else { (Sign::Warning, palette.error) };
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = 4.0;
            sign(ui, shape, color);
            let said = RichText::new(&text).monospace().size(11.0).color(text_color(holds, palette));
            // The sense belongs to the label from the start: sensed later, Tab would stop here for good.
            let label = ui.add(egui::Label::new(said).sense(egui::Sense::click()));
            if label.on_hover_text(format!("{tip}\nClick to copy")).clicked() {
                commands.push(Command::Copy(text));
            }
        });
    }
}

fn help(ui: &mut Ui, commands: &mut Vec<Command>) {
    let keys = ui.add(egui::Button::new("?").frame(false).min_size(vec2(16.0, 16.0)));
    name(&keys, "Keys");
    let palette = ui.ctx().format_shortcut(&KeyboardShortcut::new(Modifiers::COMMAND, Key::K));
    if keys.on_hover_text(format!("Keys (?); {palette} finds commands")).clicked() {
        commands.push(Command::Guide(GuideCommand::ShowSheet(true)));
    }
}

/// A button for each panel that can be closed: a small window with that part filled while it is open.
fn panel_buttons(ui: &mut Ui, state: &AppState, palette: Palette, commands: &mut Vec<Command>) {
    ui.spacing_mut().item_spacing.x = 2.0;
    for side in Side::ALL.into_iter().rev() {
        let is_open = state.settings.layout.is_open(side);
        let button = ui.add(egui::Button::new("").frame(false).min_size(vec2(22.0, 18.0)));
        button.widget_info(|| egui::WidgetInfo::selected(egui::Role::CheckBox, true, is_open, side.name()));
        paint_panel_sign(
            ui,
            button.rect,
            side,
            is_open,
            if button.hovered() { palette.text } else { palette.weak },
        );
        let keys = ACTIONS.iter().find(|action| action.words == side.name()).and_then(|it| it.keys.first());
        let keys = keys.map(|keys| ui.ctx().format_shortcut(keys)).unwrap_or_default();
        let verb = if is_open { "Close" } else { "Open" };
        if button.on_hover_text(format!("{verb}: {} ({keys})", side.name())).clicked() {
            commands.push(Command::Layout(LayoutCommand::Show(side, !is_open)));
        }
    }
}

fn paint_panel_sign(ui: &Ui, rect: Rect, side: Side, is_open: bool, color: Color32) {
    let frame = Rect::from_center_size(rect.center(), vec2(15.0, 12.0));
    let part = match side {
        Side::Prompt => frame.with_max_x(frame.left() + 5.0),
        Side::Inspector => frame.with_min_x(frame.right() - 5.0),
        Side::Strip => frame.with_max_y(frame.top() + 4.0),
        Side::Profile => frame.with_min_y(frame.bottom() - 4.0),
    };
    let stroke = Stroke::new(1.0, color);
    if is_open {
        ui.painter().rect_filled(part, 1.0, color);
    } else {
        ui.painter().rect_stroke(part, 1.0, stroke, StrokeKind::Inside);
    }
    ui.painter().rect_stroke(frame, 2.0, stroke, StrokeKind::Inside);
}

fn text_color(holds: bool, palette: Palette) -> Color32 {
    if holds { palette.weak } else { palette.error }
}

fn memory(ui: &mut Ui, state: &AppState, palette: Palette) {
    let now = state.memory_now_bytes.map_or_else(|| "–".to_owned(), format::bytes);
    let open = state.open_runs_bytes();
    let predicted = state.plan.map(|plan| plan.weight_bytes + plan.capture_bytes + plan.scratch_bytes + open);
    let text = match predicted {
        Some(bytes) => format!("memory {now} · predicted {}", format::bytes(bytes)),
        None => format!("memory {now}"),
    };
    let tip = state.plan.map_or_else(
        || "Resident memory of this process".to_owned(),
        |plan| {
            format!(
                "Resident now {now}\nPredicted: weights {} + capture {} + scratch {} + other open runs {}\nAvailable {}",
                format::bytes(plan.weight_bytes),
                format::bytes(plan.capture_bytes),
                format::bytes(plan.scratch_bytes),
                format::bytes(open),
                format::bytes(plan.available_bytes),
            )
        },
    );
    ui.label(RichText::new(text).monospace().size(11.0).color(palette.weak)).on_hover_text(tip);
}
