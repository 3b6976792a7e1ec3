//! The model card: what is loaded, how the search for it went, and the field for a Hub name.

use crate::app::command::Command;
use crate::app::format;
use crate::app::hub::HubCommand;
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::model::placement::{DeviceChoice, Precision};
use crate::model::{LoadOptions, ModelInfo};
use crate::widgets::controls::{self, Sign, fact, section, sign};
use egui::{RichText, TextEdit, Ui};

/// Draws the card.
pub(super) fn ui(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    section(ui, "MODEL");
    if let Some(model) = &state.model {
        facts(ui, model, commands);
    } else {
        ui.label(RichText::new("None loaded").color(Palette::of(ui).weak));
        if let Some(run) = &state.run {
            let model = &run.capture.model;
            let tip = format!("{}\nsha256 {}", model.source, model.sha256);
            ui.label(format!("Shown is a run of {}", model.name)).on_hover_text(tip);
        }
    }
    placement(ui, state.load, commands);
    search_steps(ui, state);
    hub_field(ui, state, commands);
    recents(ui, state, commands);
    ui.add_space(2.0);
}

fn facts(ui: &mut Ui, model: &ModelInfo, commands: &mut Vec<Command>) {
    ui.spacing_mut().item_spacing.y = 1.0;
    let spec = &model.spec;
    fact(
        ui,
        "Architecture",
        &format!("{} · {}", spec.architecture, format::parameters(model.parameters)),
        &format!("{} parameters", format::count(model.parameters)),
    );
    fact(
        ui,
        "Layers × heads",
        &format!("{} × {} ({} kv)", spec.layers, spec.heads, spec.kv_heads),
        &format!("Head width {}; each KV head serves {} query heads", spec.head_dim, spec.group()),
    );
    fact(
        ui,
        "Weights",
        &format!("{} from {}", model.dtype, model.stored_as),
        &format!(
            "{} in memory on {}: {}",
            format::bytes(model.weight_bytes),
            model.device,
            model.dtype_reason
        ),
    );
    for warning in &model.warnings {
        ui.horizontal(|ui| {
            sign(ui, Sign::Warning, Palette::of(ui).warn);
            ui.label(RichText::new(format::shorten(warning, 34)).size(11.0)).on_hover_text(warning);
        });
    }
    fact(
        ui,
        "Context",
        &format!("{} tokens", format::count(spec.context as u64)),
        "Positions that the model was trained for",
    );
    let short_hash: String = model.sha256.chars().take(8).collect();
    let tip = format!("{}\nsha256 {}", model.source, model.sha256);
    let source = fact(ui, "Source", &short_source(&model.source), &tip);
    if controls::pressed(ui, &source, "Copy source and sha256", &tip) {
        commands.push(Command::Copy(format!("{} sha256:{}", model.source, model.sha256)));
    }
    fact(ui, "sha256", &format!("{short_hash}…"), &format!("{}\nClick the source to copy it", model.sha256));
}

/// Where and how weights are kept; a change loads the model anew.
fn placement(ui: &mut Ui, load: LoadOptions, commands: &mut Vec<Command>) {
    let mut chosen = load;
    ui.horizontal(|ui| {
        let name = |precision: Option<Precision>| precision.map_or("auto", Precision::name);
        let precisions = [
            None,
            Some(Precision::F32),
            Some(Precision::Bf16),
            Some(Precision::F16),
            Some(Precision::Stored),
        ];
        let response = egui::ComboBox::from_id_salt("precision")
            .selected_text(format!("keep as {}", name(load.precision)))
            .width(104.0)
            .show_ui(ui, |ui| {
                for precision in precisions {
                    ui.selectable_value(&mut chosen.precision, precision, name(precision));
                }
            });
        controls::name(&response.response, "Precision of weights");
        response.response.on_hover_text(
            "How weights are kept: auto takes f32 where that fits, else 16 bits, else the file's own blocks. \
             All is computed in f32. A change loads the model anew",
        );
        let response = egui::ComboBox::from_id_salt("device")
            .selected_text(format!("on {}", load.device))
            .width(72.0)
            .show_ui(ui, |ui| {
                for device in DeviceChoice::offered() {
                    ui.selectable_value(&mut chosen.device, device, device.to_string());
                }
            });
        controls::name(&response.response, "Device");
        response
            .response
            .on_hover_text("What computes: auto takes a GPU where this build and the machine have one");
    });
    if chosen != load {
        commands.push(Command::SetLoad(chosen));
    }
}

/// A source in the width of the card: the repository with the beginning of its commit, else the end of a path.
fn short_source(source: &str) -> String {
    const MOST: usize = 24;
    if let Some((repository, commit)) = source.strip_prefix("hub:").and_then(|rest| rest.split_once('@')) {
        let commit: String = commit.chars().take(7).collect();
        return format!("{}@{commit}", format::shorten(repository, MOST - 8));
    }
    let length = source.chars().count();
    if length <= MOST {
        return source.to_owned();
    }
    let tail: String = source.chars().skip(length - (MOST - 1)).collect();
    format!("…{tail}")
}

fn search_steps(ui: &mut Ui, state: &AppState) {
    if state.notices.is_empty() {
        return;
    }
    egui::CollapsingHeader::new(RichText::new("How it was found").size(12.0))
        .id_salt("search")
        .show(ui, |ui| {
            egui::ScrollArea::vertical().max_height(90.0).show(ui, |ui| {
                for notice in &state.notices {
                    ui.label(RichText::new(notice).size(11.0));
                }
            });
        })
        .header_response
        .on_hover_text("Where the model was looked for, and why one place gave way to the next");
}

fn hub_field(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    ui.add_space(4.0);
    ui.horizontal(|ui| {
        let mut name = state.hub.name.clone();
        let edit = TextEdit::singleline(&mut name)
            .hint_text("Hub name: owner/model")
            .desired_width(ui.available_width() - 58.0);
        let response = ui
            .add(edit)
            .on_hover_text("A repository of the Hugging Face Hub; owner/model@revision for a revision");
        controls::name(&response, "Hub name");
        let entered = response.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
        if response.changed() {
            commands.push(Command::Hub(HubCommand::SetName(name.clone())));
        }
        let list = ui
            .add_enabled(!name.trim().is_empty(), egui::Button::new("List…"))
            .on_hover_text("See what the repository has, with sizes, before anything is downloaded");
        if list.clicked() || (entered && !name.trim().is_empty()) {
            commands.push(Command::Hub(HubCommand::List));
        }
    });
}

fn recents(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    if state.settings.recents.len() < 2 {
        return;
    }
    section(ui, "RECENT");
    for (index, recent) in state.settings.recents.iter().enumerate().skip(1).take(3) {
        let link = ui.add(egui::Button::new(recent.label()).frame(false).truncate());
        if link.clicked() {
            commands.push(Command::OpenModel(recent.model()));
        }
        link.on_hover_text(recent.place()).context_menu(|ui| {
            if ui.button("Forget").on_hover_text("Take it off this list").clicked() {
                commands.push(Command::ForgetRecent(index));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_keep_what_tells_them_apart() {
        assert_eq!(short_source("path:tiny.gguf"), "path:tiny.gguf");
        assert_eq!(short_source("path:/a/long/way/to/a/model.gguf"), "…ong/way/to/a/model.gguf");
        let hub = format!("hub:unsloth/SmolLM2-GGUF@{}", "0123456789".repeat(4));
        assert_eq!(short_source(&hub), "unsloth…LM2-GGUF@0123456");
    }
}
