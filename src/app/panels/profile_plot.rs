//! The plot of the mass profile: log₁₀ bars, the draggable log-MAD line, sink labels, the n/a region.

use super::plots::log_over_tokens;
use super::profile_axis::{LogRange, first_of_tail};
use super::profile_overlay::Overlay;
use crate::analysis::ProfileKind;
use crate::app::command::Command;
use crate::app::run::Run;
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::widgets::controls;
use egui::{Color32, Stroke, Ui};
use egui_plot::{Bar, BarChart, HLine, LineStyle, MarkerShape, PlotPoints, Points, Span, VLine};

/// Bars that are drawn at most; beyond, neighbours share one, which shows their largest.
const MOST_BARS: usize = 1200;

/// Where the virtual key's column stands.
pub(super) const VIRTUAL_POSITION: f64 = -2.0;

/// Draws the plot into the space that is left.
pub(super) fn ui(ui: &mut Ui, state: &AppState, run: &Run, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    let kind = run.analysis.options.profile;
    let values = run.analysis.profile(kind);
    let range = LogRange::of(values, &run.analysis.detection);
    let range = run.analysis.virtual_value(kind).map_or(range, |value| range.with(value));
    let (plain, flagged) = bars(run, values, range.low, palette);
    let n = values.len() as f64;
    let virtual_value = run.analysis.virtual_value(kind).filter(|value| *value > 0.0);
    // The virtual key has a column of its own, left of the first position.
    let first = if virtual_value.is_some() { 2.0 * VIRTUAL_POSITION - 1.0 } else { -1.0 };
    let is_low = ui.available_height() < 130.0;
    let unit = if is_low { String::new() } else { format!(" ({})", kind.unit()) };
    let y_label = format!("{}{unit}", kind.name());
    let plot = log_over_tokens(("mass profile", run.capture.id), range, palette)
        .default_x_bounds(first, n)
        .x_axis_label("")
        .y_axis_label(egui::RichText::new(y_label).size(11.0));
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
        let tops = run.analysis.sinks.iter().map(|sink| [sink.index as f64, sink.value.log10()]);
        let tops = Points::new("sink tops", tops.collect::<PlotPoints<'_>>());
        plot.points(
            tops.shape(MarkerShape::Down).radius(3.5).filled(true).color(palette.sink).allow_hover(false),
        );
        if let Some(value) = virtual_value {
            let height = (value.log10() - range.low).max(0.0);
            let bar = Bar::new(VIRTUAL_POSITION, height).base_offset(range.low).width(1.0);
            let bar = bar.fill(palette.sink.gamma_multiply(0.25)).stroke(Stroke::new(1.5, palette.sink));
            plot.bar_chart(BarChart::new("virtual key", vec![bar]).allow_hover(false));
        }
        if run.analysis.detection.tested {
            let line = HLine::new("threshold", run.analysis.detection.line.log10());
            plot.hline(
                line.color(palette.text.gamma_multiply(0.8)).width(1.0).style(LineStyle::dashed_loose()),
            );
        }
    });
    controls::name(&response.response, "Mass profile plot");
    let over = Overlay { run, values, kind, palette, transform: response.transform };
    over.tail_label(ui);
    over.sink_labels(ui);
    over.virtual_label(ui);
    let dragged = over.threshold_line(ui, commands);
    if let Some(token) = response.response.hover_pos().and_then(|pos| over.token_at(pos)).filter(|_| !dragged)
    {
        if response.response.clicked() {
            commands.push(Command::SelectToken(token));
        }
        over.hover_label(ui, token);
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
    // A sink stays visible where bars are thinner than a point.
    let wide = values.len().div_ceil(300);
    let flagged =
        run.analysis.sinks.iter().map(|sink| bar(sink.index, sink.value, wide, palette.sink)).collect();
    (plain, flagged)
}
