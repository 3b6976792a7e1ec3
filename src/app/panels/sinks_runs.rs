//! Which sinks of the shown run stay in the other open runs, which move, which fade.

use super::runs;
use crate::analysis::{Fate, RunSinks, fates, newcomers};
use crate::app::command::Command;
use crate::app::format;
use crate::app::run::Run;
use crate::app::shelf::RunsCommand;
use crate::app::state::AppState;
use crate::app::theme::Palette;
use egui::{RichText, ScrollArea, Ui};
use egui_extras::{Column, TableBuilder};

const ROW_HEIGHT: f32 = 19.0;

/// Draws the table: a row a sink, a column a run.
pub(super) fn ui(ui: &mut Ui, state: &AppState, run: &Run, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    let others = state.shelf.runs();
    if others.is_empty() {
        ui.label(RichText::new("Stability of sinks").size(12.0).strong());
        let text = "Run another prompt, or the same one with another model, precision, BOS or template: \
                    the last runs stay open, and this table says which sinks stay and which move.";
        ui.label(RichText::new(text).color(palette.weak));
        return;
    }
    for (number, other) in others.iter().enumerate() {
        ui.horizontal(|ui| {
            let letter = runs::letter(number);
            if ui.small_button(letter.to_string()).on_hover_text("Show this run").clicked() {
                commands.push(Command::Runs(RunsCommand::Show(other.capture.id)));
            }
            let text = RichText::new(runs::line(&other.capture)).size(11.5).color(palette.weak);
            ui.add(egui::Label::new(text).truncate()).on_hover_text(kept(run, other));
        });
    }
    ui.add_space(4.0);
    ScrollArea::horizontal().show(ui, |ui| table(ui, state, run, others, commands));
}

/// What differs between two runs.
fn kept(run: &Run, other: &Run) -> String {
    let same = run.capture.tokens.tokens == other.capture.tokens.tokens;
    let what = if same { "The same tokens" } else { "Other tokens: aligned by a diff of the two texts" };
    format!("{what}\n{} sinks there", other.analysis.sinks.len())
}

/// A sink of the shown run, or one that only another run has.
enum Row {
    Ours(usize),
    Theirs { run: usize, position: usize, here: Option<usize> },
}

fn table(ui: &mut Ui, state: &AppState, run: &Run, others: &[Run], commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    let ours = &run.analysis.detection.flagged;
    let places: Vec<Option<&[Option<usize>]>> =
        others.iter().map(|other| state.shelf.place(run.capture.id, other.capture.id)).collect();
    let fates: Vec<Option<Vec<Fate>>> = others
        .iter()
        .zip(&places)
        .map(|(other, place)| {
            let theirs =
                RunSinks { flagged: &other.analysis.detection.flagged, z: &other.analysis.detection.z };
            place.map(|place| fates(ours, theirs, |token| place.get(token).copied().flatten()))
        })
        .collect();
    let mut rows: Vec<Row> = (0..ours.len()).map(Row::Ours).collect();
    rows.extend(only_theirs(ours, others, &places));
    ui.spacing_mut().item_spacing.x = 6.0;
    TableBuilder::new(ui)
        .id_salt("stability")
        .striped(true)
        .sense(egui::Sense::click())
        .column(Column::exact(34.0))
        .column(Column::exact(82.0).clip(true))
        .columns(Column::exact(92.0), others.len())
        .header(20.0, |mut header| {
            let head = |ui: &mut Ui, text: String, tip: &str| {
                ui.label(RichText::new(text).size(11.0).color(palette.weak)).on_hover_text(tip);
            };
            header
                .col(|ui| head(ui, "#".into(), "Position in the shown run; – where it is not in this text"));
            header.col(|ui| head(ui, "token".into(), "The token"));
            for number in 0..others.len() {
                header.col(|ui| {
                    head(ui, format!("in {}", runs::letter(number)), "What became of the sink in that run");
                });
            }
        })
        .body(|body| {
            body.rows(ROW_HEIGHT, rows.len(), |mut line| match &rows[line.index()] {
                Row::Ours(sink) => {
                    let position = ours[*sink];
                    line.set_selected(state.view.selected == Some(position));
                    line.col(|ui| text(ui, &position.to_string(), palette.text));
                    line.col(|ui| text(ui, &run.capture.tokens.tokens[position].label(), palette.sink));
                    for fates in &fates {
                        line.col(|ui| match fates {
                            Some(fates) => fate(ui, fates[*sink], position),
                            None => text(ui, "…", palette.weak),
                        });
                    }
                    if line.response().clicked() {
                        commands.push(Command::SelectToken(position));
                    }
                }
                Row::Theirs { run: theirs, position, here } => {
                    let other = &others[*theirs];
                    line.col(|ui| {
                        text(ui, &here.map_or("–".to_owned(), |here| here.to_string()), palette.weak);
                    });
                    line.col(|ui| text(ui, &other.capture.tokens.tokens[*position].label(), palette.weak));
                    for number in 0..others.len() {
                        line.col(|ui| {
                            if number == *theirs {
                                let said = format!("+ new {position}");
                                let tip = "A sink of that run which is none in the shown one";
                                ui.label(RichText::new(said).monospace().size(11.5)).on_hover_text(tip);
                            }
                        });
                    }
                    if let (true, Some(here)) = (line.response().clicked(), *here) {
                        commands.push(Command::SelectToken(here));
                    }
                }
            });
        });
}

/// Sinks of the other runs whose token is no sink of the shown one.
fn only_theirs(ours: &[usize], others: &[Run], places: &[Option<&[Option<usize>]>]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (run, (other, place)) in others.iter().zip(places).enumerate() {
        let Some(place) = place else { continue };
        let new = newcomers(ours, &other.analysis.detection.flagged, place).into_iter();
        rows.extend(new.map(|(position, here)| Row::Theirs { run, position, here }));
    }
    rows
}

fn text(ui: &mut Ui, text: &str, color: egui::Color32) {
    ui.add(egui::Label::new(RichText::new(text).monospace().size(11.5).color(color)).truncate());
}

/// A fate in a word and a sign.
fn fate(ui: &mut Ui, fate: Fate, position: usize) {
    let palette = Palette::of(ui);
    let z = |z: Option<f64>| format!("z {}", format::z(z));
    let (said, tip) = match fate {
        Fate::Stays { z: there } => {
            ("● stays".to_owned(), format!("A sink at {position} there too, {}", z(there)))
        }
        Fate::Moves { to, z: there } => (
            format!("→ moves {to}"),
            format!("The same token stands at {to} there, and is a sink, {}", z(there)),
        ),
        Fate::PlaceStays { z: there } => (
            "○ place".to_owned(),
            format!("The token is not in that text, but what stands at {position} is a sink, {}", z(there)),
        ),
        Fate::Fades { to, z: there } => {
            (format!("× {}", z(there)), format!("No sink there: it stands at {to}, {}", z(there)))
        }
        Fate::Absent => ("– absent".to_owned(), "The token is not in that text".to_owned()),
    };
    let color = if fate.is_sink() { palette.text } else { palette.weak };
    ui.label(RichText::new(said).monospace().size(11.5).color(color)).on_hover_text(tip);
}
