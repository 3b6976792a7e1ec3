//! What the cache holds after the token under the pointer: one row a run, one column a key.
//! A click pins or unpins a token.

use super::plots::{self, Over, named, plot, token_at, y_axis};
use super::{colors, readout};
use crate::app::command::Command;
use crate::app::eviction::{EvictionCommand, ShownRun};
use crate::app::run::Run;
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::eviction::{Retention, Schedule};
use crate::model::tokenizer::Token;
use egui::{Color32, Pos2, Rect, Response, Shape, Stroke, Ui, pos2, vec2};
use egui_plot::{GridMark, PlotPoint, PlotTransform};

/// Height of a run's row in points.
const ROW: f32 = 15.0;
/// Height of the line above the rows, with the title.
const HEAD: f32 = 18.0;
/// Side of a pin's mark.
const PIN: f32 = 6.0;

/// The runs that have a row.
pub(super) fn rows(state: &AppState) -> Vec<&ShownRun> {
    state.eviction.runs.iter().filter(|run| run.shown).collect()
}

/// Height of the strip with so many rows, without its axis.
pub(super) fn height(rows: usize) -> f32 {
    HEAD + rows.max(1) as f32 * ROW + 3.0
}

/// Draws the strip.
pub(super) fn ui(
    ui: &mut Ui,
    state: &AppState,
    run: &Run,
    rows: &[&ShownRun],
    height: f32,
    commands: &mut Vec<Command>,
) -> (Response, PlotTransform) {
    let palette = Palette::of(ui);
    let n = run.capture.len();
    let step = readout::shown_token(state).unwrap_or(n.saturating_sub(1)).min(n.saturating_sub(1));
    let response = plot("retained", run, height, palette)
        .show_grid([false, false])
        .y_grid_spacer(|_| vec![])
        .x_grid_spacer(|input| positions(input.bounds))
        .x_axis_formatter(|mark, _| format!("{:.0}", mark.value))
        .custom_y_axes(vec![y_axis("", |_, _| String::new())])
        .show(ui, |plot| {
            plot.set_plot_bounds_y(0.0..=1.0);
            plots::marks(plot, state, palette);
        });
    let transform = response.transform;
    let over = Over { ui, transform: &transform, palette };
    let label = run.capture.tokens.tokens.get(step).map(Token::label).unwrap_or_default();
    over.title(
        &format!("Keys in the cache after token {step} {label}"),
        "▴ pinned · click to pin or unpin a token",
    );
    let mut words = Vec::new();
    for (row, shown) in rows.iter().enumerate() {
        let top = transform.frame().top() + HEAD + row as f32 * ROW;
        let band = Rect::from_x_y_ranges(transform.frame().x_range(), top + 1.0..=top + ROW - 2.0);
        let held = share_after(shown, n, step);
        draw_row(ui, &transform, shown, held.as_deref(), band, step, palette);
        words.push(in_words(shown, held.as_deref()));
    }
    named(&response.response, "Retained keys", &words.join("; "));
    let response = response.response;
    if let Some(token) = response.hover_pos().and_then(|pos| token_at(&transform, pos, n)) {
        pin_tip(state, run, token, &response);
        if response.clicked() {
            commands.push(Command::Eviction(EvictionCommand::TogglePin(token)));
        }
    }
    (response, transform)
}

/// For each key up to `step` the share of caches that hold it then; `None` while that is not known.
fn share_after(run: &ShownRun, n: usize, step: usize) -> Option<Vec<f32>> {
    match &run.finished {
        Some(finished) => Some(finished.retention.share_after(step)),
        // Positions alone decide: known before anything is computed.
        None if run.key.case.policy.is_position_only() => {
            Some(Retention::Shared(Schedule::of(&run.key.case, &run.key.pins, n)).share_after(step))
        }
        None => None,
    }
}

fn in_words(run: &ShownRun, held: Option<&[f32]>) -> String {
    match held {
        Some(held) => {
            let count = held.iter().filter(|share| **share > 0.0).count();
            format!("{}: {count} keys held", run.letter())
        }
        None => format!("{}: not known yet", run.letter()),
    }
}

fn draw_row(
    ui: &Ui,
    transform: &PlotTransform,
    run: &ShownRun,
    held: Option<&[f32]>,
    band: Rect,
    step: usize,
    palette: Palette,
) {
    let color = colors::of_slot(run.slot, palette);
    let frame = *transform.frame();
    let letter = pos2(frame.left() - colors::BADGE, band.center().y);
    colors::badge(ui.painter(), letter, run.letter(), color, palette);
    let painter = ui.painter_at(frame);
    let x_of = |edge: f64| transform.position_from_point(&PlotPoint::new(edge, 0.0)).x;
    let past = Rect::from_x_y_ranges(x_of(-0.5)..=x_of(step as f64 + 0.5), band.y_range());
    painter.rect_filled(past, 0.0, palette.raised.gamma_multiply(0.6));
    let Some(held) = held else {
        let text = "known when the run is finished";
        let font = egui::FontId::proportional(10.5);
        painter.text(
            past.left_center() + vec2(4.0, 0.0),
            egui::Align2::LEFT_CENTER,
            text,
            font,
            palette.weak,
        );
        return;
    };
    let mut shapes = Vec::new();
    for (first, end, share) in runs_of_equal_share(held, transform, frame) {
        let rect = Rect::from_x_y_ranges(x_of(first as f64 - 0.5)..=x_of(end as f64 - 0.5), band.y_range());
        // A key is never thinner than a pixel.
        let rect = if rect.width() < 1.0 {
            Rect::from_center_size(rect.center(), vec2(1.0, rect.height()))
        } else {
            rect
        };
        shapes.push(Shape::rect_filled(rect, 0.0, shade(color, share, palette)));
    }
    painter.extend(shapes);
    for &pin in &run.key.pins {
        pin_mark(&painter, pos2(x_of(pin as f64), band.bottom() + 1.0), palette);
    }
}

/// Opaque, so that keys that touch show no seam; a share of a few caches can still be seen.
fn shade(color: Color32, share: f32, palette: Palette) -> Color32 {
    palette.raised.lerp_to_gamma(color, 0.12 + 0.88 * share.clamp(0.0, 1.0))
}

/// Keys that are held, as ranges of equal share; where many keys share a pixel, the largest counts.
fn runs_of_equal_share(held: &[f32], transform: &PlotTransform, frame: Rect) -> Vec<(usize, usize, f32)> {
    let per_pixel = transform.dvalue_dpos()[0].abs();
    let bin = if per_pixel > 1.0 { per_pixel.ceil() as usize } else { 1 };
    let from = transform.value_from_position(frame.left_top()).x.floor().max(0.0) as usize;
    let to =
        (transform.value_from_position(frame.right_top()).x.ceil().max(0.0) as usize + 1).min(held.len());
    let mut out: Vec<(usize, usize, f32)> = Vec::new();
    let mut first = from / bin * bin;
    while first < to {
        let end = (first + bin).min(held.len());
        let share = held[first..end].iter().copied().fold(0.0, f32::max);
        match out.last_mut() {
            Some(last) if last.1 == first && (last.2 - share).abs() < 1e-6 => last.1 = end,
            _ => out.push((first, end, share)),
        }
        first = end;
    }
    out.retain(|(_, _, share)| *share > 0.0);
    out
}

fn pin_mark(painter: &egui::Painter, tip: Pos2, palette: Palette) {
    let corners = vec![tip + vec2(0.0, -PIN), tip + vec2(PIN * 0.7, 0.0), tip + vec2(-PIN * 0.7, 0.0)];
    painter.add(Shape::convex_polygon(corners, palette.text, Stroke::new(1.0, palette.base)));
}

fn pin_tip(state: &AppState, run: &Run, token: usize, response: &Response) {
    let verb = if state.eviction.pinned_now().contains(&token) { "unpin" } else { "pin" };
    let label = run.capture.tokens.tokens[token].label();
    response.clone().on_hover_text_at_pointer(format!("{token} {label}: click to {verb}"));
}

/// Round positions, a label every hundred points or so.
fn positions((low, high): (f64, f64)) -> Vec<GridMark> {
    let steps = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0];
    let step = steps.into_iter().find(|step| (high - low) / step <= 12.0).unwrap_or(10_000.0);
    let marks = (low / step).ceil().max(0.0) as u64..=(high / step).floor().max(0.0) as u64;
    marks.map(|mark| GridMark { value: mark as f64 * step, step_size: step }).collect()
}
