//! The open runs as a menu: which one is shown, the others, what they hold.

use crate::app::command::Command;
use crate::app::format;
use crate::app::run::Run;
use crate::app::shelf::RunsCommand;
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::widgets::controls;
use egui::{Button, RichText, Ui};

/// Characters of a prompt that a line shows.
const EXCERPT: usize = 34;

/// Draws the button that opens the menu; nothing where only one run is open.
pub(super) fn menu(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    let Some(shown) = &state.run else { return };
    let others = state.shelf.runs();
    if others.is_empty() {
        return;
    }
    let palette = Palette::of(ui);
    let button = ui.menu_button(format!("Runs {} ▾", others.len() + 1), |ui| {
        ui.set_min_width(360.0);
        let _ = ui.add(Button::selectable(true, line(shown))).on_hover_text("Shown now");
        for run in others {
            entry(ui, run, commands);
        }
        ui.separator();
        ui.horizontal(|ui| {
            if ui.button("Close the others").on_hover_text("Frees what they hold").clicked() {
                commands.push(Command::Runs(RunsCommand::CloseOthers));
                ui.close();
            }
            let held = format!("They hold {}", format::bytes(state.shelf.bytes()));
            ui.label(RichText::new(held).size(11.0).color(palette.weak));
        });
    });
    button.response.on_hover_text("Open runs: show one again, or close it");
}

fn entry(ui: &mut Ui, run: &Run, commands: &mut Vec<Command>) {
    let id = run.capture.id;
    ui.horizontal(|ui| {
        let close = ui.small_button("×").on_hover_text("Close this run");
        controls::name(&close, &format!("Close run {}", line(run)));
        if close.clicked() {
            commands.push(Command::Runs(RunsCommand::Close(id)));
        }
        if ui.add(Button::selectable(false, line(run))).on_hover_text("Show this run").clicked() {
            commands.push(Command::Runs(RunsCommand::Show(id)));
            ui.close();
        }
    });
}

/// What a run is, in a line: prompt, tokens, model.
pub(super) fn line(run: &Run) -> String {
    let model = &run.capture.model;
    let name = format::shorten(&model.name, 24);
    format!("{} · {} tokens · {name} {}", run.excerpt(EXCERPT), run.capture.len(), model.dtype)
}
