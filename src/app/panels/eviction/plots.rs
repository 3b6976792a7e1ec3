//! Three plots over one axis of token positions: rolling perplexity, ΔNLL, retained keys.

use super::{colors, readout, strip};
use crate::app::command::Command;
use crate::app::eviction::{EvictionCommand, ShownRun};
use crate::app::panels::plots::over_tokens;
use crate::app::run::Run;
use crate::app::state::AppState;
use crate::app::theme::Palette;
use egui::{Color32, FontId, Response, Ui, pos2, vec2};
use egui_plot::{
    AxisHints, GridMark, HLine, HPlacement, Line, LineStyle, Plot, PlotPoint, PlotPoints, PlotTransform,
    Points, VLine,
};

/// Width of the room left of all three plots.
pub(super) const LEFT: f32 = 54.0;
/// Height of the axis below the last plot.
const AXIS: f32 = 20.0;

/// Draws the plots into the height that is left, or a little more where that is too little to read them.
pub(super) fn ui(ui: &mut Ui, state: &AppState, run: &Run, height: f32, commands: &mut Vec<Command>) {
    ui.spacing_mut().item_spacing.y = 3.0;
    let rows = strip::rows(state);
    let strip_height = strip::height(rows.len()) + AXIS;
    let left = (height - strip_height - 6.0).max(120.0);
    let (upper, lower) = (left * 0.62, left * 0.38);
    let rolling = perplexity_plot(ui, state, run, upper);
    let delta = delta_plot(ui, state, run, lower);
    let strip = strip::ui(ui, state, run, &rows, strip_height, commands);
    for (response, transform, selects) in
        [(&rolling.0, &rolling.1, true), (&delta.0, &delta.1, true), (&strip.0, &strip.1, false)]
    {
        point(response, transform, run.capture.len(), selects, state, commands);
    }
    let over = [&rolling.0, &delta.0, &strip.0].iter().any(|response| response.hovered());
    if !over && state.eviction.hovered.is_some() {
        commands.push(Command::Eviction(EvictionCommand::Hover(None)));
    }
}

/// What the pointer does on a plot: it names a token, and a click selects it.
fn point(
    response: &Response,
    transform: &PlotTransform,
    n: usize,
    selects: bool,
    state: &AppState,
    commands: &mut Vec<Command>,
) {
    let Some(pos) = response.hover_pos() else { return };
    let Some(token) = token_at(transform, pos, n) else { return };
    if state.eviction.hovered != Some(token) {
        commands.push(Command::Eviction(EvictionCommand::Hover(Some(token))));
    }
    if selects && response.clicked() {
        commands.push(Command::SelectToken(token));
    }
}

/// The token at a place on the screen.
pub(super) fn token_at(transform: &PlotTransform, pos: egui::Pos2, n: usize) -> Option<usize> {
    let x = transform.value_from_position(pos).x.round();
    (x >= 0.0 && x < n as f64 && transform.frame().x_range().contains(pos.x)).then_some(x as usize)
}

/// What the three plots have in common.
pub(super) fn plot<'a>(name: &str, run: &Run, height: f32, palette: Palette) -> Plot<'a> {
    let n = run.capture.len() as f64;
    let link = egui::Id::unique(("eviction axis", run.capture.id));
    over_tokens((name, run.capture.id), palette)
        .height(height)
        .default_x_bounds(-n * 0.005, n * 1.03)
        .link_axis(link, [true, false])
}

/// The marks that stand across all plots: the fill, the selected token, the one under the pointer.
pub(super) fn marks(plot: &mut egui_plot::PlotUi<'_>, state: &AppState, palette: Palette) {
    if let Some(main) = state.eviction.main_run() {
        let first = main.first_differing_row(state.eviction.full_nll_nats.len());
        if first < state.eviction.full_nll_nats.len() {
            let fill = VLine::new("cache full", first as f64 + 0.5);
            plot.vline(
                fill.color(palette.weak.gamma_multiply(0.8)).width(1.0).style(LineStyle::dashed_dense()),
            );
        }
    }
    if let Some(selected) = state.view.selected {
        let line = VLine::new("selected", selected as f64);
        plot.vline(line.color(palette.accent.gamma_multiply(0.7)).width(1.5));
    }
    if let Some(hovered) = state.eviction.hovered {
        plot.vline(VLine::new("pointer", hovered as f64).color(palette.weak.gamma_multiply(0.6)).width(1.0));
    }
}

fn perplexity_plot(ui: &mut Ui, state: &AppState, run: &Run, height: f32) -> (Response, PlotTransform) {
    let palette = Palette::of(ui);
    let view = &state.eviction;
    let shown: Vec<&ShownRun> = in_order(state);
    let values = shown.iter().flat_map(|run| &run.series.rolling_log10).chain(skip_start(state));
    let (low, high) = range(values.map(|point| point.y), 0.05);
    let response = plot("rolling perplexity", run, height, palette)
        .show_axes([false, true])
        .y_grid_spacer(move |input| log_marks(input.bounds, height))
        .custom_y_axes(vec![y_axis("perplexity", |mark, _| super::headline::tick(10_f64.powf(mark.value)))])
        .show(ui, |plot| {
            plot.set_plot_bounds_y(low..=high);
            marks(plot, state, palette);
            let full = PlotPoints::Borrowed(&view.full.rolling_log10);
            plot.line(Line::new("full", full).color(palette.text).width(1.3).allow_hover(false));
            for run in &shown {
                let (color, width) = pen(state, run, palette);
                let points = PlotPoints::Borrowed(&run.series.rolling_log10);
                let line = Line::new(run.letter().to_string(), points).color(color).width(width);
                plot.line(line.style(colors::style_of_slot(run.slot)).allow_hover(false));
            }
        });
    let over = Over { ui, transform: &response.transform, palette };
    over.title("Rolling perplexity", "log scale");
    over.letters(&shown, |run| run.series.rolling_log10.last().copied());
    named(&response.response, "Rolling perplexity plot", &curves_in_words(state));
    (response.response, response.transform)
}

fn delta_plot(ui: &mut Ui, state: &AppState, run: &Run, height: f32) -> (Response, PlotTransform) {
    let palette = Palette::of(ui);
    let shown: Vec<&ShownRun> = in_order(state);
    let (low, high) = delta_range(&shown);
    let response = plot("delta", run, height, palette)
        .show_axes([false, true])
        .y_grid_spacer(move |_| linear_marks(low, high))
        .custom_y_axes(vec![y_axis("ΔNLL (nats)", |mark, _| {
            if mark.value == 0.0 { "0".to_owned() } else { format!("{:+}", mark.value).replace('-', "−") }
        })])
        .show(ui, |plot| {
            plot.set_plot_bounds_y(low..=high);
            marks(plot, state, palette);
            plot.hline(HLine::new("full", 0.0).color(palette.text).width(1.3));
            for run in &shown {
                let (color, width) = pen(state, run, palette);
                let clamped = |point: &PlotPoint| [point.x, point.y.clamp(low, high)];
                if state.eviction.is_live(run) {
                    let dots: Vec<[f64; 2]> = run.series.delta_nats.iter().map(clamped).collect();
                    let dots = Points::new("tokens", dots).radius(1.1).color(color.gamma_multiply(0.45));
                    plot.points(dots.allow_hover(false));
                }
                let mean: Vec<[f64; 2]> = run.series.mean_delta_nats.iter().map(clamped).collect();
                let line = Line::new("mean", mean).color(color).width(width);
                plot.line(line.style(colors::style_of_slot(run.slot)).allow_hover(false));
            }
        });
    let over = Over { ui, transform: &response.transform, palette };
    over.title("ΔNLL against the full cache", "dots: each token · line: rolling mean");
    over.fill_label(state);
    over.letters(&shown, |run| {
        let last = run.series.mean_delta_nats.last()?;
        Some(PlotPoint::new(last.x, last.y.clamp(low, high)))
    });
    named(&response.response, "ΔNLL plot", "");
    (response.response, response.transform)
}

/// A y axis whose labels leave the same room in every plot.
pub(super) fn y_axis<'a>(
    label: &str,
    formatter: impl Fn(GridMark, &std::ops::RangeInclusive<f64>) -> String + 'a,
) -> AxisHints<'a> {
    AxisHints::new_y()
        .placement(HPlacement::Left)
        .label(egui::RichText::new(label).size(11.0))
        .formatter(formatter)
        .min_thickness(LEFT)
}

/// The runs whose curves are drawn, those that the controls ask for on top.
fn in_order(state: &AppState) -> Vec<&ShownRun> {
    let view = &state.eviction;
    let mut shown: Vec<&ShownRun> = view.runs.iter().filter(|run| run.shown).collect();
    shown.sort_by_key(|run| view.is_live(run));
    shown
}

fn pen(state: &AppState, run: &ShownRun, palette: Palette) -> (Color32, f32) {
    let color = colors::of_slot(run.slot, palette);
    if state.eviction.is_live(run) { (color, 2.0) } else { (color.gamma_multiply(0.6), 1.2) }
}

/// The full cache's points without the first rows, whose few tokens say little.
fn skip_start(state: &AppState) -> impl Iterator<Item = &PlotPoint> {
    let points = &state.eviction.full.rolling_log10;
    points.iter().skip(state.eviction.width_rows.min(points.len() / 4))
}

fn range(values: impl Iterator<Item = f64>, margin: f64) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
    if low > high {
        return (0.0, 2.0);
    }
    // Room for the title above the curves.
    let spread = (high - low).max(0.2);
    (low - margin * spread, high + (margin + 0.12) * spread)
}

/// All but the rarest values; those are drawn at the edge.
fn delta_range(shown: &[&ShownRun]) -> (f64, f64) {
    let mut values: Vec<f64> =
        shown.iter().flat_map(|run| &run.series.delta_nats).map(|p| p.y).filter(|y| y.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    let at =
        |share: f64| values.get(((values.len() as f64 - 1.0) * share).round().max(0.0) as usize).copied();
    let (low, high) = (at(0.02).unwrap_or(-1.0).min(-0.5), at(0.98).unwrap_or(1.0).max(0.5));
    (low - 0.04 * (high - low), high + 0.2 * (high - low))
}

/// Least distance of two ticks' labels, in points.
const TICK_ROOM: f32 = 17.0;

/// Round values in log₁₀, as many as have room in a height of points.
pub(super) fn log_marks((low, high): (f64, f64), height: f32) -> Vec<GridMark> {
    const FINE: [f64; 11] = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
    let marks = |steps: &[f64]| -> Vec<GridMark> {
        let decades = low.floor() as i32..=high.ceil() as i32;
        let all = decades.flat_map(|decade| steps.iter().map(move |step| step.log10() + f64::from(decade)));
        let seen = all.filter(|value| (low..=high).contains(value));
        seen.map(|value| GridMark { value, step_size: 1.0 }).collect()
    };
    let points_per_log = f64::from(height) / (high - low).max(1e-9);
    let room = |marks: &[GridMark]| {
        marks.windows(2).all(|pair| (pair[1].value - pair[0].value) * points_per_log >= f64::from(TICK_ROOM))
    };
    let choices = [&FINE[..], &[1.0, 2.0, 3.0, 5.0, 7.0], &[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
    choices.into_iter().map(marks).find(|marks| room(marks)).unwrap_or_else(|| {
        let every = (f64::from(TICK_ROOM) / points_per_log).ceil().max(1.0) as usize;
        marks(&[1.0]).into_iter().step_by(every).collect()
    })
}

/// About four round values.
fn linear_marks(low: f64, high: f64) -> Vec<GridMark> {
    let steps = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0];
    let step = steps.into_iter().find(|step| (high - low) / step <= 5.0).unwrap_or(100.0);
    let first = (low / step).ceil() as i64;
    let last = (high / step).floor() as i64;
    let tidy = |mark: i64| (mark as f64 * step * 1e6).round() / 1e6;
    (first..=last).map(|mark| GridMark { value: tidy(mark), step_size: step }).collect()
}

/// What is painted over a plot.
pub(super) struct Over<'a> {
    pub(super) ui: &'a Ui,
    pub(super) transform: &'a PlotTransform,
    pub(super) palette: Palette,
}

impl Over<'_> {
    /// The plot's name at its upper left.
    pub(super) fn title(&self, title: &str, note: &str) {
        let frame = *self.transform.frame();
        let painter = self.ui.painter_at(frame);
        let at = frame.left_top() + vec2(6.0, 3.0);
        let ground = self.palette.base.gamma_multiply(0.8);
        let title = painter.layout_no_wrap(title.to_owned(), FontId::proportional(12.0), self.palette.text);
        let note = painter.layout_no_wrap(note.to_owned(), FontId::proportional(11.0), self.palette.weak);
        let width = title.size().x + note.size().x + 8.0;
        let back = egui::Rect::from_min_size(at, vec2(width, title.size().y)).expand(2.0);
        painter.rect_filled(back, 2.0, ground);
        let beside = at + vec2(title.size().x + 8.0, 1.0);
        painter.galley(at, title, self.palette.text);
        painter.galley(beside, note, self.palette.weak);
    }

    /// What the dashed line means, left of it where there is room: no run differs there.
    fn fill_label(&self, state: &AppState) {
        let Some(main) = state.eviction.main_run() else { return };
        let rows = state.eviction.full_nll_nats.len();
        let first = main.first_differing_row(rows);
        if first >= rows {
            return;
        }
        let frame = *self.transform.frame();
        let x = self.transform.position_from_point(&PlotPoint::new(first as f64 + 0.5, 0.0)).x;
        let painter = self.ui.painter_at(frame);
        let budget = main.key.case.budget.unwrap_or(first);
        let fits = |text: String| {
            let galley = painter.layout_no_wrap(text, FontId::proportional(10.5), self.palette.weak);
            (x - galley.size().x - 4.0 > frame.left()).then_some(galley)
        };
        // A shorter one where the cache fills early.
        let galley = fits(format!("cache full · {budget} keys")).or_else(|| fits("cache full".to_owned()));
        if let Some(galley) = galley {
            let at = pos2(x - galley.size().x - 4.0, frame.bottom() - galley.size().y - 3.0);
            painter.galley(at, galley, self.palette.weak);
        }
    }

    /// Each run's letter at the end of its curve, moved apart where they would cover each other.
    fn letters(&self, shown: &[&ShownRun], end: impl Fn(&ShownRun) -> Option<PlotPoint>) {
        let frame = self.transform.frame().shrink(colors::BADGE / 2.0);
        let mut places: Vec<(egui::Pos2, &ShownRun)> = shown
            .iter()
            .filter_map(|run| Some((self.transform.position_from_point(&end(run)?), *run)))
            .filter(|(at, _)| frame.x_range().contains(at.x))
            .collect();
        places.sort_by(|a, b| a.0.y.total_cmp(&b.0.y));
        let wanted: Vec<f32> = places.iter().map(|(at, _)| at.y).collect();
        let painter = self.ui.painter_at(*self.transform.frame());
        for ((at, run), y) in places.iter().zip(spread(&wanted, frame.y_range(), colors::BADGE + 1.0)) {
            let center = pos2((at.x + colors::BADGE).min(frame.right()), y);
            let color = colors::of_slot(run.slot, self.palette);
            colors::badge(&painter, center, run.letter(), color, self.palette);
        }
    }
}

/// Ascending places moved apart to the least distance, within a range as far as they fit.
fn spread(wanted: &[f32], range: egui::Rangef, distance: f32) -> Vec<f32> {
    let mut free_from = range.min;
    let mut places: Vec<f32> = Vec::with_capacity(wanted.len());
    for y in wanted {
        let y = y.max(free_from);
        free_from = y + distance;
        places.push(y);
    }
    let mut free_to = range.max;
    for y in places.iter_mut().rev() {
        *y = y.min(free_to);
        free_to = *y - distance;
    }
    places
}

/// What a reader of the screen is told of the curves.
fn curves_in_words(state: &AppState) -> String {
    let drawn = |run: &ShownRun| {
        let end = run.series.rolling_log10.last().map_or(0, |point| point.x as usize);
        format!("{} {} to token {end}", run.letter(), run.key.name())
    };
    let runs: Vec<String> = state.eviction.runs.iter().filter(|run| run.shown).map(drawn).collect();
    let token = readout::shown_token(state).map_or(String::new(), |token| format!("; at token {token}"));
    format!("Full cache; {}{token}", runs.join("; "))
}

/// Gives a plot its name and its value for readers of the screen.
pub(super) fn named(response: &Response, name: &str, value: &str) {
    response.ctx.accesskit_node_builder(response.id, |node| {
        node.set_label(name);
        node.set_value(value);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_few() {
        let texts =
            |marks: Vec<GridMark>| marks.iter().map(|m| 10_f64.powf(m.value).round()).collect::<Vec<_>>();
        assert_eq!(texts(log_marks((0.95, 2.4), 120.0)), [10.0, 20.0, 50.0, 100.0, 200.0]);
        assert_eq!(texts(log_marks((0.95, 2.4), 60.0)), [10.0, 30.0, 100.0]);
        assert_eq!(texts(log_marks((0.95, 6.4), 60.0)), [10.0, 1e3, 1e5], "every other decade");
        let marks: Vec<f64> = linear_marks(-0.7, 1.3).iter().map(|mark| mark.value).collect();
        assert_eq!(marks, [-0.5, 0.0, 0.5, 1.0]);
    }

    #[test]
    fn letters_move_apart_and_stay_inside() {
        let range = egui::Rangef::new(0.0, 100.0);
        assert_eq!(spread(&[10.0, 12.0, 98.0, 99.0], range, 14.0), [10.0, 24.0, 86.0, 100.0]);
        assert_eq!(spread(&[], range, 14.0), Vec::<f32>::new());
    }

    #[test]
    fn nothing_drawn_has_a_range_all_the_same() {
        assert_eq!(range(std::iter::empty(), 0.05), (0.0, 2.0));
        let (low, high) = range([1.0, f64::NAN, f64::INFINITY, 2.0].into_iter(), 0.0);
        assert!((low - 1.0).abs() < 1e-9 && high > 2.0 && high < 2.5);
    }
}
