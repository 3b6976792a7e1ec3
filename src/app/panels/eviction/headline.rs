//! The sentence that says what came out.

use super::colors;
use crate::app::eviction::{EvictionState, ShownRun};
use crate::app::run::Run;
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::eviction::{PinChoice, PolicyName};
use egui::text::{LayoutJob, TextFormat};
use egui::{Color32, FontFamily, FontId, Ui};

const SIZE: f32 = 15.0;

/// Draws the sentence; its place is as high while there is nothing to say.
pub(super) fn ui(ui: &mut Ui, state: &AppState, run: &Run) {
    let palette = Palette::of(ui);
    let mut job = LayoutJob::default();
    job.wrap.max_width = ui.available_width();
    for (text, color) in sentence(&state.eviction, run.capture.len(), palette) {
        let font = FontId::new(SIZE, FontFamily::Proportional);
        job.append(&text, 0.0, TextFormat::simple(font, color));
    }
    ui.label(job);
}

/// The sentence in parts, each with its colour.
fn sentence(view: &EvictionState, n: usize, palette: Palette) -> Vec<(String, Color32)> {
    let plain = |text: String| (text, palette.text);
    let Some(main) = view.main_run() else {
        return vec![("Nothing to compare yet.".to_owned(), palette.weak)];
    };
    let rows = view.full_nll_nats.len();
    let first = view.first_compared_row();
    if first >= rows {
        let budget = main.key.case.budget.unwrap_or(n);
        let text = format!(
            "The cache has not filled: the text has {n} tokens and the budget is {budget}, so no run differs from the full cache."
        );
        return vec![plain(text)];
    }
    // Runs are computed one after the other; what has no row yet is not spoken of.
    let begun: Vec<&ShownRun> = view.live_runs().filter(|run| run.nll_nats.len() > first).collect();
    let Some(done) = begun.iter().map(|run| run.nll_nats.len()).min() else {
        return vec![(format!("Computing from token {}…", first + 1), palette.weak)];
    };
    // Both runs and the full cache are compared over the same rows, also while they are computed.
    let compared = |run: &ShownRun| {
        let mut curve = view.curve(run);
        curve.nll_nats = &run.nll_nats[..done];
        curve.perplexity_after_fill().zip(curve.full_perplexity_after_fill())
    };
    let Some((_, full)) = compared(begun[0]) else { return Vec::new() };
    let so_far = if done < rows { format!(" so far (to token {done})") } else { String::new() };
    let mut parts = vec![
        plain(format!("Once the cache is full, perplexity{so_far} is ")),
        (format!("{full:.1}"), palette.text),
        plain(" with the full cache".to_owned()),
    ];
    for (place, run) in begun.iter().enumerate() {
        let Some((ours, _)) = compared(run) else { continue };
        parts.push(plain(if place + 1 == begun.len() { " and ".to_owned() } else { ", ".to_owned() }));
        let color = colors::of_slot(run.slot, palette);
        parts.push((format!("{} (×{})", number(ours), ratio(ours / full)), color));
        parts.push(plain(format!(" {}", clause(run, place == 0))));
    }
    parts.push(plain(".".to_owned()));
    parts
}

fn clause(run: &ShownRun, first: bool) -> String {
    let pinned = run.key.case.pins.title(run.key.pins.len());
    let what = |budget: usize| match run.key.case.policy {
        PolicyName::Fifo => format!("a window of {budget}"),
        PolicyName::Random => format!("{budget} random keys"),
        PolicyName::Lowest => format!("lowest-attention eviction at {budget}"),
        policy => format!("{} at {budget}", policy.title()),
    };
    match (&run.key.case.pins, first) {
        (PinChoice::None, _) => format!("with {}", what(run.key.case.budget.unwrap_or_default())),
        (_, true) => format!("with {}, {pinned}", what(run.key.case.budget.unwrap_or_default())),
        (_, false) => format!("with {pinned}"),
    }
}

/// A perplexity of any size, short.
pub(super) fn number(perplexity: f64) -> String {
    match perplexity {
        ..1000.0 => format!("{perplexity:.1}"),
        ..1e6 => format!("{perplexity:.0}"),
        _ => format!("{perplexity:.2e}"),
    }
}

fn ratio(ratio: f64) -> String {
    match ratio {
        ..100.0 => format!("{ratio:.2}"),
        ..1e6 => format!("{ratio:.0}"),
        _ => format!("{ratio:.1e}"),
    }
}

/// A perplexity on an axis.
pub(super) fn tick(perplexity: f64) -> String {
    match perplexity {
        ..9.95 if (perplexity - perplexity.round()).abs() > 0.05 => format!("{perplexity:.1}"),
        ..1e5 => format!("{perplexity:.0}"),
        _ => format!("{perplexity:.0e}"),
    }
}
