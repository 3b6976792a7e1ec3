//! The dialog that opens a model from the Hub: name, choices with sizes, what would be downloaded, progress.

mod choices;
mod footer;

use crate::app::command::Command;
use crate::app::hub::{HubCommand, HubPicker};
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::model::source::{Catalogue, RepoListing};
use crate::widgets::controls::{self, section};
use egui::{Align2, Frame, Key, Margin, RichText, TextEdit, Ui, vec2};

/// Width of the dialog's content, in points.
const WIDTH: f32 = 660.0;

const REVISION_WIDTH: f32 = 110.0;
const LIST_WIDTH: f32 = 92.0;
/// Where the dialog begins: it grows downwards and so stays where it is.
const TOP: f32 = 96.0;

/// Draws the dialog, when it is open.
pub(super) fn ui(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    if !state.hub.is_open {
        return;
    }
    let palette = Palette::of(ui);
    let frame = Frame::window(ui.style()).inner_margin(Margin::symmetric(18, 14));
    let id = egui::Id::unique("hub");
    let area = egui::Modal::default_area(id).anchor(Align2::CENTER_TOP, vec2(0.0, TOP));
    let modal = egui::Modal::new(id).area(area).frame(frame).show(ui.ctx(), |ui| {
        ui.set_width(WIDTH);
        ui.spacing_mut().item_spacing.y = 7.0;
        ui.heading("Open from the Hub");
        name_row(ui, &state.hub, commands);
        match (&state.hub.listing, state.hub.listing_job) {
            (Some(listing), _) => {
                about(ui, listing, commands, palette);
                choices::ui(ui, &state.hub, listing, commands, palette);
            }
            (None, Some(_)) => {
                let line = state.hub.notice.as_deref().unwrap_or("Asking the Hub…");
                ui.label(RichText::new(line).color(palette.weak));
            }
            (None, None) => help(ui, commands, palette),
        }
        failure(ui, &state.hub, commands, palette);
        footer::ui(ui, state, commands, palette);
    });
    if modal.should_close() {
        commands.push(Command::Hub(HubCommand::Show(false)));
    }
}

fn name_row(ui: &mut Ui, hub: &HubPicker, commands: &mut Vec<Command>) {
    ui.horizontal(|ui| {
        let mut name = hub.name.clone();
        let edit = TextEdit::singleline(&mut name)
            .hint_text("owner/name, or the address of a model's page")
            .margin(Margin::symmetric(8, 5))
            .desired_width(WIDTH - REVISION_WIDTH - LIST_WIDTH - 2.0 * ui.spacing().item_spacing.x);
        let named = ui.add(edit);
        controls::name(&named, "Repository");
        if named.changed() {
            commands.push(Command::Hub(HubCommand::SetName(name)));
        }
        let mut revision = hub.revision.clone();
        let edit = TextEdit::singleline(&mut revision)
            .hint_text("main")
            .margin(Margin::symmetric(8, 5))
            .desired_width(REVISION_WIDTH);
        let revised = ui.add(edit).on_hover_text("Branch, tag or commit; main when left empty");
        controls::name(&revised, "Revision");
        if revised.changed() {
            commands.push(Command::Hub(HubCommand::SetRevision(revision)));
        }
        let entered = (named.lost_focus() || revised.lost_focus()) && ui.input(|i| i.key_pressed(Key::Enter));
        let list = ui
            .add_enabled(
                !hub.name.trim().is_empty(),
                egui::Button::new("List files").min_size(vec2(LIST_WIDTH, 25.0)),
            )
            .on_hover_text("Ask the Hub what the repository has; downloads nothing");
        if list.clicked() || entered {
            commands.push(Command::Hub(HubCommand::List));
        }
        if hub.wants_focus {
            named.request_focus();
            commands.push(Command::Hub(HubCommand::Focused));
        }
    });
}

fn help(ui: &mut Ui, commands: &mut Vec<Command>, palette: Palette) {
    let line = "Its models are listed with their sizes first; nothing is downloaded before you choose.";
    ui.label(RichText::new(line).color(palette.weak));
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new("For example").color(palette.weak));
        for entry in &Catalogue::built_in().models {
            let Some(hub) = &entry.hub else { continue };
            if ui.link(&hub.repository).on_hover_text("List this repository").clicked() {
                commands.push(Command::Hub(HubCommand::SetName(hub.repository.clone())));
                commands.push(Command::Hub(HubCommand::List));
            }
        }
    });
}

/// Which repository this is, and what its owner or the network demands.
fn about(ui: &mut Ui, listing: &RepoListing, commands: &mut Vec<Command>, palette: Palette) {
    ui.horizontal(|ui| {
        ui.label(RichText::new(&listing.repository).strong());
        let revision = listing.revision.as_deref().unwrap_or("main");
        let commit: String = listing.commit.chars().take(8).collect();
        let at = if revision == listing.commit { String::new() } else { format!("{revision} · ") };
        ui.label(RichText::new(format!("{at}commit {commit}")).monospace().color(palette.weak))
            .on_hover_text(&listing.commit);
    });
    if let Some(why) = &listing.from_cache {
        controls::warning(ui, &format!("{why}. Listed is what the cache has"), palette.warn);
    }
    if listing.gated && !listing.with_token {
        gated(ui, listing, commands, palette);
    } else if listing.gated {
        ui.label(RichText::new("Gated; your token is shown to the Hub").size(12.0).color(palette.weak));
    }
}

fn gated(ui: &mut Ui, listing: &RepoListing, commands: &mut Vec<Command>, palette: Palette) {
    ui.horizontal_top(|ui| {
        let line = format!("Gated: ask for access at {}, then set HF_TOKEN", listing.page);
        controls::sign(ui, controls::Sign::Warning, palette.warn);
        let most = WIDTH - 130.0;
        ui.scope(|ui| {
            ui.set_max_width(most);
            ui.add(egui::Label::new(RichText::new(line).size(12.0).color(palette.warn)).wrap());
        });
        if ui.small_button("Copy address").on_hover_text(&listing.page).clicked() {
            commands.push(Command::Copy(listing.page.clone()));
        }
    });
}

fn failure(ui: &mut Ui, hub: &HubPicker, commands: &mut Vec<Command>, palette: Palette) {
    let unsuitable = hub.listing.as_ref().and_then(|listing| {
        listing.unsuitable.as_ref().map(|why| format!("{} can't be used: {why}", listing.repository))
    });
    let Some(why) = hub.failure.clone().or(unsuitable) else { return };
    ui.horizontal_top(|ui| {
        controls::sign(ui, controls::Sign::Warning, palette.error);
        ui.scope(|ui| {
            ui.set_max_width(WIDTH - 80.0);
            ui.add(egui::Label::new(RichText::new(&why).color(palette.error)).wrap());
        });
        if ui.small_button("Copy").on_hover_text("Copy this message").clicked() {
            commands.push(Command::Copy(why.clone()));
        }
    });
}

fn heading(ui: &mut Ui, title: &str) {
    section(ui, title);
}
