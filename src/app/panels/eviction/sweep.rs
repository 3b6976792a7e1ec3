//! Perplexity against budget, both on logarithmic axes.

use super::colors;
use super::headline::{number, tick};
use super::plots::{Over, named, y_axis};
use crate::app::command::Command;
use crate::app::eviction::{BUDGET_STEPS, EvictionCommand, Mode, Purpose, ShownRun, SweepPoint};
use crate::app::run::Run;
use crate::app::running::RunningJob;
use crate::app::state::AppState;
use crate::app::theme::Palette;
use egui::{RichText, Ui, Vec2b, vec2};
use egui_plot::{GridMark, Line, LineStyle, MarkerShape, Plot, PlotPoint, Points, VLine};

/// Height in which the sweep can still be read.
const LEAST: f32 = 150.0;

/// Draws the sweep into the height that is left.
pub(super) fn ui(
    ui: &mut Ui,
    state: &AppState,
    run: &Run,
    left: impl Fn(&Ui) -> f32,
    commands: &mut Vec<Command>,
) {
    let view = &state.eviction;
    let curves: Vec<(&ShownRun, Vec<SweepPoint>)> =
        view.live_runs().map(|live| (live, view.sweep_points(&live.key))).collect();
    header(ui, state, run, &curves, commands);
    let height = left(ui).max(LEAST);
    plot(ui, state, &curves, height, commands);
}

fn header(
    ui: &mut Ui,
    state: &AppState,
    run: &Run,
    curves: &[(&ShownRun, Vec<SweepPoint>)],
    commands: &mut Vec<Command>,
) {
    let palette = Palette::of(ui);
    let left = state.eviction.keys_to_sweep(run.capture.len()).len();
    ui.horizontal(|ui| {
        ui.set_height(22.0);
        let sweeping = state.eviction_job().filter(|job| job.purpose == Purpose::Sweep);
        if let Some(job) = sweeping {
            let line = state.job.as_ref().map(RunningJob::line).unwrap_or_default();
            let (current, all) = ((job.done + 1).min(job.keys.len()), job.keys.len());
            ui.label(RichText::new(format!("Run {current} of {all} · {line}")).size(12.0));
            if ui.small_button("Stop").on_hover_text("Stop the sweep; what is computed stays (Esc)").clicked()
            {
                commands.push(Command::Cancel);
            }
        } else if left > 0 {
            let begun = curves.iter().any(|(_, points)| points.len() > 1);
            let verb = if begun { "Compute the rest" } else { "Run the sweep" };
            let tip = "One run for each budget, log-spaced, without and with pins; the largest first";
            if ui.button(format!("{verb} ({left} runs)")).on_hover_text(tip).clicked() {
                commands.push(Command::Eviction(EvictionCommand::Sweep));
            }
            let hint = "Every budget that you tried is there already.";
            ui.label(RichText::new(hint).size(12.0).color(palette.weak));
        } else {
            let hint = "Click a point to see its curves along the text.";
            ui.label(RichText::new(hint).size(12.0).color(palette.weak));
        }
    });
}

fn plot(
    ui: &mut Ui,
    state: &AppState,
    curves: &[(&ShownRun, Vec<SweepPoint>)],
    height: f32,
    commands: &mut Vec<Command>,
) {
    let palette = Palette::of(ui);
    let n = state.eviction.full_nll_nats.len() as f64 + 1.0;
    let values = curves.iter().flat_map(|(_, points)| points).flat_map(|p| [p.perplexity, p.full_perplexity]);
    let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
    let (low, high) = if low > high { (10.0, 100.0) } else { (low / 1.15, high * 1.4) };
    let response = Plot::new(("sweep", state.run.as_ref().map(|run| run.capture.id)))
        .height(height)
        .show_background(false)
        .allow_drag(false)
        .allow_zoom(false)
        .allow_scroll(false)
        .allow_boxed_zoom(false)
        .allow_axis_zoom_drag(false)
        .allow_double_click_reset(false)
        .show_crosshair(false)
        .set_margin_fraction(vec2(0.0, 0.0))
        .show_grid(Vec2b::TRUE)
        .grid_color(palette.line)
        .label_formatter(|_| None)
        .x_grid_spacer(|input| budget_marks(input.bounds))
        .x_axis_formatter(|mark, _| format!("{:.0}", 10_f64.powf(mark.value)))
        .x_axis_label(RichText::new("budget (tokens, log scale)").size(11.0))
        .y_grid_spacer(move |input| super::plots::log_marks(input.bounds, height))
        .custom_y_axes(vec![y_axis("perplexity after the cache fills", |mark, _| {
            tick(10_f64.powf(mark.value))
        })])
        .show(ui, |plot| {
            plot.set_plot_bounds_x(7_f64.log10() - 0.05..=n.log10() + 0.05);
            plot.set_plot_bounds_y(low.log10()..=high.log10());
            let now = VLine::new("budget", (state.eviction.choices.budget as f64).log10());
            plot.vline(
                now.color(palette.accent.gamma_multiply(0.6)).width(1.0).style(LineStyle::dashed_dense()),
            );
            // Each point's full perplexity is over its own rows, so it varies with the budget.
            if let Some((_, points)) = curves.iter().max_by_key(|(_, points)| points.len()) {
                let full: Vec<[f64; 2]> = points.iter().map(|p| at(p.budget, p.full_perplexity)).collect();
                plot.line(Line::new("full", full).color(palette.text).width(1.3).allow_hover(false));
            }
            for (run, points) in curves {
                let color = colors::of_slot(run.slot, palette);
                let line: Vec<[f64; 2]> = points.iter().map(|p| at(p.budget, p.perplexity)).collect();
                let style = colors::style_of_slot(run.slot);
                plot.line(
                    Line::new("line", line.clone()).color(color).width(2.0).style(style).allow_hover(false),
                );
                let shape = if run.slot % 2 == 0 { MarkerShape::Circle } else { MarkerShape::Square };
                plot.points(
                    Points::new("points", line).color(color).radius(4.0).shape(shape).allow_hover(false),
                );
            }
        });
    let over = Over { ui, transform: &response.transform, palette };
    over.title("Perplexity against budget", "each over the rows behind its own fill");
    for (run, points) in curves {
        // The left end is where the curves part.
        let Some(first) = points.first() else { continue };
        let [x, y] = at(first.budget, first.perplexity);
        let place = response.transform.position_from_point(&PlotPoint::new(x, y));
        let color = colors::of_slot(run.slot, palette);
        colors::badge(ui.painter(), place - vec2(12.0, 0.0), run.letter(), color, palette);
    }
    named(&response.response, "Budget sweep plot", &in_words(curves));
    let pointer = response.response.hover_pos();
    let budget = pointer.and_then(|pos| nearest(curves, response.transform.value_from_position(pos).x));
    if let Some(budget) = budget {
        let clicked = response.response.clicked();
        response.response.on_hover_text_at_pointer(values_at(curves, budget));
        if clicked {
            commands.push(Command::Eviction(EvictionCommand::SetBudget { budget, sliding: false }));
            commands.push(Command::Eviction(EvictionCommand::SetMode(Mode::Curves)));
        }
    }
}

fn at(budget: usize, perplexity: f64) -> [f64; 2] {
    [(budget as f64).log10(), perplexity.log10()]
}

/// The computed budget nearest to a place on the axis, if one is near.
fn nearest(curves: &[(&ShownRun, Vec<SweepPoint>)], log_budget: f64) -> Option<usize> {
    let distance = |budget: usize| ((budget as f64).log10() - log_budget).abs();
    let budgets = curves.iter().flat_map(|(_, points)| points).map(|point| point.budget);
    budgets.min_by(|a, b| distance(*a).total_cmp(&distance(*b))).filter(|budget| distance(*budget) < 0.09)
}

fn values_at(curves: &[(&ShownRun, Vec<SweepPoint>)], budget: usize) -> String {
    let mut lines = vec![format!("budget {budget}")];
    for (run, points) in curves {
        if let Some(point) = points.iter().find(|point| point.budget == budget) {
            let ratio = point.perplexity / point.full_perplexity;
            lines.push(format!(
                "{}: {} (×{ratio:.2}; full {})",
                run.letter(),
                number(point.perplexity),
                number(point.full_perplexity)
            ));
        }
    }
    lines.push("Click for its curves".to_owned());
    lines.join("\n")
}

fn in_words(curves: &[(&ShownRun, Vec<SweepPoint>)]) -> String {
    let words = curves.iter().map(|(run, points)| {
        let values: Vec<String> =
            points.iter().map(|point| format!("{} → {}", point.budget, number(point.perplexity))).collect();
        format!("{}: {}", run.letter(), values.join(", "))
    });
    words.collect::<Vec<_>>().join("; ")
}

fn budget_marks((low, high): (f64, f64)) -> Vec<GridMark> {
    let doublings = BUDGET_STEPS.into_iter().filter(|step| step.is_power_of_two());
    let marks = doublings.map(|step| (step as f64).log10()).filter(|value| (low..=high).contains(value));
    marks.map(|value| GridMark { value, step_size: 1.0 }).collect()
}
