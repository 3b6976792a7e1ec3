//! What a run says as a whole, in words, for somebody who sees it for the first time.

use crate::app::command::Command;
use crate::app::format;
use crate::app::run::Run;
use crate::app::theme::Palette;
use crate::widgets::controls::{fact, pressed, section};
use egui::{RichText, Ui};

/// Draws the overview.
pub(super) fn ui(ui: &mut Ui, run: &Run, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    section(ui, "THIS PROMPT");
    ui.label(RichText::new(headline(run)).size(14.0));
    ui.add_space(4.0);
    let virtual_key = run.analysis.virtual_key.as_ref().map(|virtual_key| {
        let share = format::percent(virtual_key.share);
        format!("The model's virtual key takes {share}; it is never evicted.")
    });
    for line in explanation(run).into_iter().chain(virtual_key) {
        ui.label(RichText::new(line).color(palette.weak).size(12.0));
    }
    section(ui, if run.analysis.detection.tested { "SINKS, BY Z" } else { "EVIDENCE" });
    for index in strongest_first(run).into_iter().take(5) {
        let label = run.capture.tokens.tokens[index].label();
        let share = run.analysis.share[index].map_or_else(|| "n/a".to_owned(), format::percent);
        let value = format!("{share:>5}  z {:>5}", format::z(run.analysis.detection.z[index]));
        let tip = "Share of all attention, and z; click to select";
        let row = fact(ui, &format!("{index}  {label}"), &value, tip);
        if pressed(ui, &row, &format!("Select token {index}"), tip) {
            commands.push(Command::SelectToken(index));
        }
    }
    ui.add_space(4.0);
    let hint = "Click a token to see who attends to it; ← → moves on, Ctrl adds more.";
    ui.label(RichText::new(hint).color(palette.weak).size(12.0));
    ui.add_space(2.0);
}

fn headline(run: &Run) -> String {
    let Some(first) = run.strongest() else { return String::new() };
    let label = run.capture.tokens.tokens[first].label();
    let share = run.analysis.share[first].map_or_else(|| "n/a".to_owned(), format::percent);
    format!("Token {first} {label} receives {share} of all attention.")
}

fn explanation(run: &Run) -> Vec<String> {
    if let Some(why) = run.analysis.not_tested() {
        return vec![format!("{why}. Profile and sink rate are shown as evidence.")];
    }
    match run.analysis.sinks.len() {
        0 => vec!["No token stands out: nothing is flagged.".to_owned()],
        1 => vec![format!("It is the only attention sink at z > {}.", run.analysis.detection.threshold)],
        count => vec![format!(
            "{count} tokens are attention sinks (z > {:.1}); together they hold {}.",
            run.analysis.detection.threshold,
            format::percent(run.sinks_share())
        )],
    }
}

fn strongest_first(run: &Run) -> Vec<usize> {
    if !run.analysis.detection.tested {
        return run.analysis.evidence();
    }
    let mut sinks: Vec<(usize, f64)> = run.analysis.sinks.iter().map(|sink| (sink.index, sink.z)).collect();
    sinks.sort_by(|a, b| b.1.total_cmp(&a.1));
    sinks.into_iter().map(|(index, _)| index).collect()
}
