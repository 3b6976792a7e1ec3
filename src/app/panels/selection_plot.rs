//! The column of the selected tokens (who attends to them) or their row (to whom they attend), with the
//! locked selection's beside it.

use super::plots::log_over_tokens;
use super::profile_axis::LogRange;
use crate::analysis::Detection;
use crate::app::command::Command;
use crate::app::format;
use crate::app::partners::Partners;
use crate::app::run::Run;
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::widgets::controls;
use egui::{Align2, FontId, RichText, Sense, Stroke, Ui, vec2};
use egui_plot::{Bar, BarChart, Line, PlotPoint, PlotPoints};

/// Bars that are drawn at most; beyond, neighbours share one, which shows their largest.
const MOST_BARS: usize = 1200;

/// Draws the plot into the space that is left.
pub(super) fn ui(ui: &mut Ui, state: &AppState, run: &Run, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    let Some(partners) = state.selection_partners() else {
        let text = if state.view.selected.is_none() {
            "Select a token to see who attends to it"
        } else {
            "Computing…"
        };
        ui.centered_and_justified(|ui| ui.label(RichText::new(text).color(palette.weak)));
        return;
    };
    let locked = state.locked_partners();
    let range = range(partners, locked);
    let n = partners.weights.len();
    let name = if partners.key.outgoing { "weight given" } else { "weight received" };
    let id = ("selection", run.capture.id, partners.key.outgoing);
    let plot = log_over_tokens(id, range, palette)
        .default_x_bounds(-1.0, n as f64)
        .y_axis_label(RichText::new(format!("{name} (mean weight)")).size(11.0));
    let response = plot.show(ui, |plot| {
        plot.set_plot_bounds_y(range.low..=range.high);
        let bars = bars(partners, range.low, palette);
        plot.bar_chart(BarChart::new("selection", bars).allow_hover(false));
        if let Some(locked) = locked {
            let line = Line::new("locked", steps(locked, range.low)).color(palette.text).width(1.2);
            plot.line(line.allow_hover(false));
        }
    });
    let hovered = response.response.hover_pos().and_then(|pos| {
        let x = response.transform.value_from_position(pos).x.round();
        (x >= 0.0 && x < n as f64).then_some(x as usize)
    });
    controls::name(&response.response, "Attention of the selection");
    let said = hovered.map_or_else(|| summary(partners), |token| says(run, partners, locked, token));
    response.response.ctx.accesskit_node_builder(response.response.id, |node| node.set_value(said.as_str()));
    if let Some(token) = hovered {
        if response.response.clicked() {
            commands.push(Command::SelectToken(token));
        }
        let frame = *response.transform.frame();
        let galley = ui.painter().layout_no_wrap(said, FontId::monospace(11.0), palette.text);
        let rect = Align2::CENTER_TOP.anchor_size(frame.center_top() + vec2(0.0, 3.0), galley.size());
        ui.painter().rect_filled(rect.expand2(vec2(6.0, 2.0)), 3.0, palette.raised);
        ui.painter().galley(rect.min, galley, palette.text);
        let x = response.transform.position_from_point(&PlotPoint::new(token as f64, 0.0)).x;
        let line = Stroke::new(1.0, palette.weak.gamma_multiply(0.4));
        ui.painter_at(frame).vline(x, frame.y_range(), line);
    }
}

/// Which sign is whose.
pub(super) fn legend(ui: &mut Ui, state: &AppState, run: &Run) {
    let palette = Palette::of(ui);
    let name = |tokens: &[usize]| match tokens {
        [one] => format!("{one} {}", format::shorten(&run.capture.tokens.tokens[*one].label(), 12)),
        several => format!("{} tokens", several.len()),
    };
    let item = |ui: &mut Ui, text: String, is_line: bool| {
        ui.label(RichText::new(text).monospace().size(11.0).color(palette.weak));
        let (rect, _) = ui.allocate_exact_size(vec2(12.0, 10.0), Sense::hover());
        if is_line {
            ui.painter().hline(rect.x_range(), rect.center().y, Stroke::new(1.5, palette.text));
        } else {
            ui.painter().rect_filled(rect.shrink2(vec2(2.0, 0.0)), 0.0, palette.bar);
        }
    };
    if !state.tokens.locked.is_empty() {
        item(ui, format!("locked {}", name(&state.tokens.locked)), true);
    }
    let selection = state.view.selection().all();
    if !selection.is_empty() {
        item(ui, name(&selection), false);
    }
}

fn range(partners: &Partners, locked: Option<&Partners>) -> LogRange {
    let all = partners.weights.iter().chain(locked.iter().flat_map(|locked| &locked.weights));
    let values: Vec<Option<f64>> = all.map(|weight| weight.map(f64::from)).collect();
    LogRange::of(&values, &Detection::of(&[], 0.0))
}

fn log(weight: f32) -> f64 {
    f64::from(weight).max(f64::MIN_POSITIVE).log10()
}

/// The largest of each stretch of neighbours that share a bar, with the stretch's middle.
fn pooled(partners: &Partners) -> impl Iterator<Item = (f64, f64, Option<f32>)> + '_ {
    let pool = partners.weights.len().div_ceil(MOST_BARS).max(1);
    partners.weights.chunks(pool).enumerate().map(move |(chunk, weights)| {
        let most = weights.iter().flatten().copied().reduce(f32::max);
        ((chunk * pool + pool / 2) as f64, pool as f64, most)
    })
}

fn bars(partners: &Partners, floor: f64, palette: Palette) -> Vec<Bar> {
    let bar = |(at, width, most): (f64, f64, Option<f32>)| {
        let bar = Bar::new(at, (log(most?) - floor).max(0.0)).base_offset(floor).stroke(Stroke::NONE);
        Some(bar.fill(palette.bar).width(if width > 1.0 { width } else { 0.82 }))
    };
    pooled(partners).filter_map(bar).collect()
}

/// A line through the values, broken where there is none.
fn steps(partners: &Partners, floor: f64) -> PlotPoints<'static> {
    let point =
        |(at, _, most): (f64, f64, Option<f32>)| [at, most.map_or(f64::NAN, |weight| log(weight).max(floor))];
    pooled(partners).map(point).collect()
}

fn says(run: &Run, partners: &Partners, locked: Option<&Partners>, token: usize) -> String {
    let label = run.capture.tokens.tokens[token].label();
    let number = |partners: &Partners| {
        let weight = partners.weights.get(token).copied().flatten();
        weight.map_or_else(|| "n/a".to_owned(), |weight| format::significant(f64::from(weight)))
    };
    let beside = locked.map_or_else(String::new, |locked| format!("   locked {}", number(locked)));
    let verb = if partners.key.outgoing { "receives" } else { "gives" };
    format!("{token} {label}   {verb} {}{beside}", number(partners))
}

fn summary(partners: &Partners) -> String {
    partners.strongest(1).first().map_or_else(
        || "no other token".to_owned(),
        |(token, weight)| format!("strongest: token {token}, {weight:.3}"),
    )
}
