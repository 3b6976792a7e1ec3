//! Perplexity along the text under smaller caches: rolling perplexity above, ΔNLL below.

use super::ViewOptions;
use crate::capture::Capture;
use crate::eviction::{Curve, EvictionRun, PolicyName, rolling_mean, rolling_perplexity};
use crate::export::axes::{NOTE_SIZE, TICK_SIZE, compact, heading, nice_step};
use crate::export::drawing::{Anchor, Area, Drawing, Item, Label};
use crate::export::theme::{Palette, Rgb, Theme, ink_on};

/// Rows of the rolling perplexity and the rolling mean.
const ROLLING_ROWS: usize = 64;
const WIDTH: f32 = 730.0;
const LEFT: f32 = 64.0;
const PLOT_WIDTH: f32 = 620.0;
const TOP: f32 = 54.0;
const LEGEND_ROW: f32 = 14.0;
const UPPER: f32 = 220.0;
const LOWER: f32 = 120.0;
const GAP: f32 = 14.0;
const BADGE: f32 = 11.0;

/// Colours of runs: Paul Tol's bright scheme, apart for colour-blind readers; letters say the same.
const ON_LIGHT: [Rgb; 6] =
    [[200, 42, 69], [26, 111, 181], [26, 120, 56], [141, 42, 120], [138, 117, 0], [58, 63, 176]];
const ON_DARK: [Rgb; 6] =
    [[240, 127, 139], [102, 204, 238], [95, 196, 124], [201, 139, 216], [216, 200, 85], [143, 168, 255]];

/// Draws the curves of some runs over one text, always beside the full cache's.
pub(super) fn draw(capture: &Capture, runs: &[&EvictionRun], options: &ViewOptions) -> Drawing {
    let picture = Picture::new(capture, runs, options.theme);
    let legend = (picture.runs.len() + 1) as f32 * LEGEND_ROW + 6.0;
    let upper = Area::new(LEFT, TOP + legend, PLOT_WIDTH, UPPER);
    let lower = Area::new(LEFT, upper.bottom() + GAP, PLOT_WIDTH, LOWER);
    let title = format!("{} · perplexity under a smaller KV cache", capture.model.name);
    let mut drawing = Drawing::new(WIDTH, lower.bottom() + 44.0, picture.palette.background, &*title);
    let note = format!(
        "{} tokens · rolling over {ROLLING_ROWS} tokens · the dashed line marks where the cache is full",
        capture.len()
    );
    heading(&mut drawing, &picture.palette, LEFT, &title, &note);
    picture.legend(&mut drawing);
    picture.perplexities(&mut drawing, upper);
    picture.deltas(&mut drawing, lower);
    picture.x_axis(&mut drawing, lower);
    drawing
}

struct Picture<'a> {
    palette: Palette,
    full_nll_nats: Vec<f64>,
    runs: Vec<(&'a EvictionRun, Rgb)>,
}

impl<'a> Picture<'a> {
    fn new(capture: &Capture, runs: &[&'a EvictionRun], theme: Theme) -> Self {
        let colors = if theme == Theme::Dark { ON_DARK } else { ON_LIGHT };
        // The full cache is there already.
        let shown = runs.iter().copied().filter(|run| run.case.policy != PolicyName::Full);
        Self {
            palette: theme.palette(),
            full_nll_nats: capture.nll_nats.iter().map(|&nll| f64::from(nll)).collect(),
            runs: shown.enumerate().map(|(i, run)| (run, colors[i % colors.len()])).collect(),
        }
    }

    /// Each run's letter, name and result, one a line.
    fn legend(&self, drawing: &mut Drawing) {
        let mut y = TOP + 2.0;
        drawing.line((LEFT, y), (LEFT + BADGE, y), self.palette.ink, 1.2);
        let text = "Full cache";
        drawing.text(Label::new(LEFT + 18.0, y + 3.5, NOTE_SIZE, self.palette.ink, text));
        for (place, (run, color)) in self.runs.iter().enumerate() {
            y += LEGEND_ROW;
            badge(drawing, (LEFT + BADGE / 2.0, y), letter(place), *color);
            let text = format!("{}: {}", run.case.title(run.pins.tokens.len()), self.result(run));
            drawing.text(Label::new(LEFT + 18.0, y + 3.5, NOTE_SIZE, self.palette.ink, text));
        }
    }

    fn result(&self, run: &EvictionRun) -> String {
        let first_row = run.first_scored_row();
        let curve = Curve { nll_nats: &run.nll_nats, full_nll_nats: &self.full_nll_nats, first_row };
        match curve.perplexity_after_fill().zip(curve.full_perplexity_after_fill()) {
            Some((ours, full)) => format!(
                "perplexity {} from token {} on, full cache {} (×{:.2})",
                compact(ours),
                first_row + 1,
                compact(full),
                ours / full
            ),
            None => "the cache has not filled".to_owned(),
        }
    }

    fn perplexities(&self, drawing: &mut Drawing, area: Area) {
        let full = rolling_perplexity(&self.full_nll_nats, ROLLING_ROWS);
        let ours: Vec<Vec<f64>> =
            self.runs.iter().map(|(run, _)| rolling_perplexity(&run.nll_nats, ROLLING_ROWS)).collect();
        // The first rows' few tokens say little; they may leave the plot.
        let settled = full.iter().skip(ROLLING_ROWS.min(full.len() / 4));
        let (low, high) = bounds(settled.chain(ours.iter().zip(&self.runs).flat_map(|(curve, (run, _))| {
            curve.iter().skip(run.first_differing_row.unwrap_or(curve.len()))
        })));
        let axis = Axis { area, low: low.log10() - 0.03, high: high.log10() + 0.05, rows: full.len() };
        for value in log_ticks(axis.low, axis.high) {
            let y = axis.y(value.log10());
            self.tick(drawing, area, y, compact(value));
        }
        self.frame(drawing, area, "perplexity (log scale)");
        drawing.items.push(axis.curve(0, full.iter().map(|v| v.log10()), self.palette.ink, 1.1));
        let mut ends = Vec::new();
        for (place, (curve, (run, color))) in ours.iter().zip(&self.runs).enumerate() {
            let Some(first) = run.first_differing_row else { continue };
            self.fill_mark(drawing, &axis, first);
            let logs = curve.iter().skip(first - 1).map(|v| v.log10());
            drawing.items.push(axis.curve(first - 1, logs, *color, 1.4));
            ends.extend(curve.last().map(|last| (axis.y(last.log10()), place, *color)));
        }
        letters_at(drawing, area, ends);
    }

    fn deltas(&self, drawing: &mut Drawing, area: Area) {
        let curves: Vec<(usize, Vec<f64>, Rgb)> = self
            .runs
            .iter()
            .map(|(run, color)| {
                let first = run.first_differing_row.unwrap_or(run.nll_nats.len());
                let rows = run.nll_nats.iter().zip(&self.full_nll_nats).skip(first);
                let deltas: Vec<f64> = rows.map(|(ours, full)| ours - full).collect();
                (first, rolling_mean(&deltas, ROLLING_ROWS), *color)
            })
            .collect();
        let settled = curves.iter().flat_map(|(_, curve, _)| curve.iter().skip(ROLLING_ROWS / 4));
        let (low, high) = settled
            .filter(|v| v.is_finite())
            .fold((-0.2_f64, 0.2_f64), |(low, high), v| (low.min(*v), high.max(*v)));
        let margin = 0.08 * (high - low);
        let axis = Axis { area, low: low - margin, high: high + margin, rows: self.full_nll_nats.len() };
        let step = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .find(|step| (high - low) / step <= 5.0)
            .unwrap_or(20.0);
        for mark in (axis.low / step).ceil() as i64..=(axis.high / step).floor() as i64 {
            let value = mark as f64 * step;
            let text = if mark == 0 { "0".to_owned() } else { format!("{value:+.1}").replace('-', "−") };
            self.tick(drawing, area, axis.y(value), text);
        }
        self.frame(drawing, area, "mean ΔNLL (nats)");
        drawing.line((area.x, axis.y(0.0)), (area.right(), axis.y(0.0)), self.palette.ink, 1.1);
        let mut ends = Vec::new();
        for (place, (first, curve, color)) in curves.iter().enumerate().filter(|(_, run)| !run.1.is_empty()) {
            drawing.items.push(axis.curve(*first, curve.iter().copied(), *color, 1.4));
            ends.extend(curve.last().map(|last| (axis.y(*last), place, *color)));
        }
        letters_at(drawing, area, ends);
    }

    fn fill_mark(&self, drawing: &mut Drawing, axis: &Axis, first_row: usize) {
        let x = axis.x(first_row) - axis.pitch() / 2.0;
        drawing.dashed((x, axis.area.y), (x, axis.area.bottom() + GAP + LOWER), self.palette.line, 0.8);
    }

    fn tick(&self, drawing: &mut Drawing, area: Area, y: f32, text: String) {
        drawing.line((area.x, y), (area.right(), y), self.palette.faint, 0.5);
        let label = Label::new(area.x - 6.0, y + 3.0, TICK_SIZE, self.palette.soft, text);
        drawing.text(label.anchored(Anchor::End));
    }

    fn frame(&self, drawing: &mut Drawing, area: Area, title: &str) {
        drawing.frame(area, self.palette.line, 0.75);
        let middle = area.y + area.height / 2.0;
        let label = Label::new(area.x - 44.0, middle, NOTE_SIZE, self.palette.soft, title);
        drawing.text(label.turned().anchored(Anchor::Middle));
    }

    fn x_axis(&self, drawing: &mut Drawing, area: Area) {
        let axis = Axis { area, low: 0.0, high: 1.0, rows: self.full_nll_nats.len() };
        // Row i scores token i + 1.
        for token in (0..=axis.rows).step_by(nice_step(48.0 / axis.pitch())) {
            let x = axis.x(0) + (token as f32 - 1.0) * axis.pitch();
            drawing.line((x, area.bottom()), (x, area.bottom() + 4.0), self.palette.line, 0.6);
            let label = Label::new(x, area.bottom() + 14.0, TICK_SIZE, self.palette.soft, token.to_string());
            drawing.text(label.anchored(Anchor::Middle));
        }
        let middle = area.x + area.width / 2.0;
        let title = Label::new(
            middle,
            area.bottom() + 29.0,
            NOTE_SIZE,
            self.palette.soft,
            "token that is predicted (index)",
        );
        drawing.text(title.anchored(Anchor::Middle));
    }
}

/// Rows across, a value up.
struct Axis {
    area: Area,
    low: f64,
    high: f64,
    rows: usize,
}

impl Axis {
    fn pitch(&self) -> f32 {
        self.area.width / (self.rows + 1).max(1) as f32
    }

    fn x(&self, row: usize) -> f32 {
        self.area.x + (row as f32 + 1.5) * self.pitch()
    }

    fn y(&self, value: f64) -> f32 {
        let part = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.area.bottom() - part as f32 * self.area.height
    }

    fn curve(&self, first_row: usize, values: impl Iterator<Item = f64>, color: Rgb, width: f32) -> Item {
        let points = values.enumerate().filter(|(_, value)| !value.is_nan());
        let points = points.map(|(row, value)| (self.x(first_row + row), self.y(value))).collect();
        Item::Curve { points, color, width }
    }
}

fn letter(place: usize) -> char {
    char::from(b'A' + (place % 26) as u8)
}

fn badge(drawing: &mut Drawing, (x, y): (f32, f32), letter: char, color: Rgb) {
    let area = Area::new(x - BADGE / 2.0, y - BADGE / 2.0, BADGE, BADGE);
    drawing.items.push(Item::Fill(area, color, 2.0));
    let label = Label::new(x, y + 3.1, TICK_SIZE, ink_on(color), letter.to_string());
    drawing.text(label.mono().anchored(Anchor::Middle));
}

/// Letters at the right ends of curves, moved apart where they would cover each other.
fn letters_at(drawing: &mut Drawing, area: Area, mut ends: Vec<(f32, usize, Rgb)>) {
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free_from = area.y + BADGE / 2.0;
    for (y, place, color) in ends {
        let y = y.max(free_from).min(area.bottom() - BADGE / 2.0);
        free_from = y + BADGE + 1.0;
        badge(drawing, (area.right() + BADGE, y), letter(place), color);
    }
}

fn bounds<'a>(values: impl Iterator<Item = &'a f64>) -> (f64, f64) {
    let finite = values.copied().filter(|value| value.is_finite() && *value > 0.0);
    let (low, high) = finite.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
    if low > high { (1.0, 100.0) } else { (low, high.max(low * 1.2)) }
}

/// 1, 2 and 5 of each decade, only 1 where there are many decades.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let steps: &[f64] = if high - low > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let decades = low.floor() as i32..=high.ceil() as i32;
    let all = decades.flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade)));
    all.filter(|value| (low..=high).contains(&value.log10())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_lie_between_the_bounds() {
        assert_eq!(log_ticks(0.9, 2.2), [10.0, 20.0, 50.0, 100.0]);
        assert_eq!(log_ticks(0.0, 6.0).len(), 7);
        assert_eq!(bounds([f64::NAN, 0.0].iter()), (1.0, 100.0));
    }
}
