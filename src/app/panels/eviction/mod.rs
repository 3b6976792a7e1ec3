//! The eviction view: controls, a sentence that says what came out, curves over the text, and
//! what the cache holds.

mod colors;
mod compare;
mod controls;
mod headline;
mod plots;
mod readout;
mod strip;
mod sweep;

use crate::app::command::Command;
use crate::app::eviction::{EvictionCommand, Mode};
use crate::app::prompt::{PromptKind, Sample};
use crate::app::run::Run;
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::eviction::{CaseError, PinChoice};
use crate::model::tokenizer::BosChoice;
use crate::widgets::controls::{Sign, sign, warning};
use egui::{RichText, Ui};

/// Rows behind the fill that are too few to tell anything by.
const FEW_ROWS: usize = 64;

/// Draws the view into the space that is left.
pub(super) fn ui(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    let Some(run) = &state.run else { return };
    controls::ui(ui, state, run, commands);
    ui.add_space(2.0);
    let room = ui.available_height();
    // In a low window the plots keep their least height, and what stands below each other scrolls.
    egui::ScrollArea::vertical().id_salt("eviction").auto_shrink(false).show(ui, |ui| {
        let top = ui.cursor().top();
        notices(ui, state, run, commands);
        headline::ui(ui, state, run);
        compare::ui(ui, state, commands);
        let left = |ui: &Ui| room - (ui.cursor().top() - top);
        match state.eviction.mode {
            Mode::Curves => {
                readout::ui(ui, state, run, commands);
                plots::ui(ui, state, run, left(ui), commands);
            }
            Mode::Sweep => sweep::ui(ui, state, run, left, commands),
        }
    });
}

/// What stands in the way of a result, and the button that removes it.
fn notices(ui: &mut Ui, state: &AppState, run: &Run, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    let view = &state.eviction;
    if !state.run_fits_model() {
        warning(ui, "This text was run with another model: run it again to evict its cache", palette.warn);
        return;
    }
    let n = run.capture.len();
    if n < view.choices.budget + FEW_ROWS {
        ui.horizontal_wrapped(|ui| {
            sign(ui, Sign::Info, palette.accent);
            let line = format!("{n} tokens are few for a budget of {}:", view.choices.budget);
            ui.label(RichText::new(line).size(12.0));
            let tip = "The Declaration of Independence (1776), with exactly one BOS in front";
            let fits = ui.available_width() > 620.0;
            let about = if fits { " (about 1200 tokens, BOS prepended)" } else { "" };
            let button = ui.small_button(format!("Use the sample text{about}"));
            if button.on_hover_text(tip).clicked() {
                commands.push(Command::SetBos(BosChoice::Yes));
                commands.push(Command::LoadSample(Sample::Text));
            }
        });
    }
    if let Some(problem) = &view.problem {
        ui.horizontal_wrapped(|ui| {
            sign(ui, Sign::Warning, palette.error);
            ui.label(RichText::new(in_words(problem)).size(12.0).color(palette.error));
            if *problem == CaseError::NoBos {
                ways_without_bos(ui, state, commands);
            }
        });
    }
    if view.stopped && state.job.is_none() {
        ui.horizontal_wrapped(|ui| {
            sign(ui, Sign::Info, palette.accent);
            ui.label(RichText::new("Stopped: the curves end where they were.").size(12.0));
            if ui.small_button("Run again").on_hover_text("Compute the rest").clicked() {
                commands.push(Command::Eviction(EvictionCommand::RunAgain));
            }
        });
    }
}

/// What the message about BOS advises, one click each.
fn ways_without_bos(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    let tip = "Its position makes it a sink, whatever it says";
    if ui.small_button("Pin the first token").on_hover_text(tip).clicked() {
        commands.push(Command::Eviction(EvictionCommand::SetPins(PinChoice::First(1))));
    }
    let tip = "Run the text again with exactly one BOS in front";
    if state.prompt.kind == PromptKind::Text && ui.small_button("Prepend BOS").on_hover_text(tip).clicked() {
        commands.push(Command::SetBos(BosChoice::Yes));
        commands.push(Command::Run);
    }
}

/// A complaint as a sentence, with names as the controls write them.
fn in_words(problem: &CaseError) -> String {
    if *problem == CaseError::NoSlots {
        return "H2O, TOVA and Lowest take original positions only".to_owned();
    }
    let line = problem.to_string();
    let mut chars = line.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
