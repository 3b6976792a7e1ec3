//! How the window looks, pixel by pixel, on lavapipe. Another renderer draws other pixels, so these
//! are skipped unless `WGPU_BACKEND=vulkan` says that the software Vulkan is meant; CI says so.

use crate::stage::{SINKS, Stage, showing};
use crate::support;
use egui_kittest::kittest::Queryable as _;
use sinkscope::app::Command;
use sinkscope::app::hub::HubCommand;
use sinkscope::app::panels::attention::{AttentionCommand, HeadOrder, Hiding};
use sinkscope::app::view::Tab;
use sinkscope::engine::Event;
use sinkscope::model::source::{ModelChoice, ModelFormat, ModelRef, RepoFile, RepoListing};
use sinkscope::widgets::viewport::Viewport;
use std::collections::BTreeMap;

fn is_skipped() -> bool {
    let skipped = std::env::var_os("WGPU_BACKEND").is_none();
    if skipped {
        eprintln!("skipped: set WGPU_BACKEND=vulkan and install a software Vulkan to run it");
    }
    skipped
}

fn snapshot(name: &str, theme: egui::Theme, arrange: impl FnOnce(&mut Stage)) {
    if is_skipped() {
        return;
    }
    let mut stage = showing(theme, support::CHAT, &SINKS);
    arrange(&mut stage);
    stage.harness.remove_cursor();
    stage.step_until("all thumbnails", |state| {
        let (done, all) = state.attention.thumbnails_done();
        state.view.tab != Tab::Attention || (done == all && all > 0 && state.attention.is_settled())
    });
    // How long the analysis took is not the same twice.
    let clock = stage.harness.get_by_label_contains("analysis ").rect();
    stage.harness.mask(clock.expand2(egui::vec2(60.0, 2.0)));
    stage.harness.snapshot(name);
}

#[test]
fn dark() {
    snapshot("window_dark", egui::Theme::Dark, |_| {});
}

#[test]
fn light() {
    snapshot("window_light", egui::Theme::Light, |_| {});
}

#[test]
fn sinks_dark() {
    snapshot("sinks_dark", egui::Theme::Dark, |stage| stage.click("Sinks"));
}

#[test]
fn sinks_light() {
    snapshot("sinks_light", egui::Theme::Light, |stage| stage.click("Sinks"));
}

/// What a repository of quantisations might answer: one of them here, one half here.
fn listing() -> RepoListing {
    let choice = |label: &str, mib: u64, cached_mib: u64| {
        let file = RepoFile {
            path: format!("SmolLM2-135M-Instruct-{label}.gguf"),
            size_bytes: Some(mib << 20),
            cached_bytes: cached_mib << 20,
            is_cached: cached_mib == mib,
        };
        let name = format!("owner/SmolLM2-135M-Instruct-GGUF:{label}");
        ModelChoice {
            model: ModelRef::Hub { repository: name.clone(), revision: None },
            name,
            format: ModelFormat::Gguf,
            quantisation: Some(label.to_owned()),
            files: vec![file],
        }
    };
    RepoListing {
        repository: "owner/SmolLM2-135M-Instruct-GGUF".into(),
        revision: None,
        commit: "0123456789abcdef0123456789abcdef01234567".into(),
        page: "https://hub.example/owner/SmolLM2-135M-Instruct-GGUF".into(),
        gated: true,
        with_token: false,
        choices: vec![choice("Q4_K_M", 101, 101), choice("Q8_0", 138, 69), choice("F16", 258, 0)],
        meant: Some(1),
        unsuitable: None,
        from_cache: None,
        parameters: BTreeMap::new(),
        free_bytes: Some(50 << 30),
        cache: "/home/user/.cache/huggingface/hub".into(),
    }
}

fn hub_snapshot(name: &str, theme: egui::Theme) {
    snapshot(name, theme, |stage| {
        let state = stage.harness.state_mut().state_mut();
        let repository = "owner/SmolLM2-135M-Instruct-GGUF".to_owned();
        state.handle(Command::Hub(HubCommand::SetName(repository)));
        state.handle(Command::Hub(HubCommand::List));
        stage.engine.say(Event::Listed(Box::new(listing())));
        stage.settle();
    });
}

#[test]
fn hub_dark() {
    hub_snapshot("hub_dark", egui::Theme::Dark);
}

#[test]
fn hub_light() {
    hub_snapshot("hub_light", egui::Theme::Light);
}

fn eviction_snapshot(name: &str, theme: egui::Theme) {
    if is_skipped() {
        return;
    }
    let mut stage = crate::eviction::opened(theme);
    crate::eviction::finish(&mut stage);
    stage.harness.remove_cursor();
    stage.settle();
    let clock = stage.harness.get_by_label_contains("analysis ").rect();
    stage.harness.mask(clock.expand2(egui::vec2(60.0, 2.0)));
    stage.harness.snapshot(name);
}

#[test]
fn eviction_dark() {
    eviction_snapshot("eviction_dark", egui::Theme::Dark);
}

#[test]
fn eviction_light() {
    eviction_snapshot("eviction_light", egui::Theme::Light);
}

/// Waits until the large half of the attention view is as sharp as it gets.
fn sharp(stage: &mut Stage) {
    stage.step_until("a sharp matrix", |state| {
        let (done, all) = state.attention.thumbnails_done();
        done == all && all > 0 && state.attention.is_settled()
    });
}

fn difference(stage: &mut Stage) {
    stage.click("Difference");
    sharp(stage);
}

fn lines(stage: &mut Stage) {
    stage.click("Lines");
    stage.click("All heads");
    sharp(stage);
}

/// Zoomed in, sinks hidden and the rest renormalised, heads by how much they look at the sinks.
fn zoomed(stage: &mut Stage) {
    let n = stage.state().run.as_ref().expect("a run").capture.len();
    let view = Viewport::fit(n).zoomed(4.0, 0.1, 0.5, n);
    for command in [
        AttentionCommand::SetHiding(Hiding::Renormalised),
        AttentionCommand::SetOrder(HeadOrder::OnSinks),
        AttentionCommand::Zoom(view),
    ] {
        stage.harness.state_mut().state_mut().handle(Command::Attention(command));
        stage.settle();
    }
    sharp(stage);
}

#[test]
fn difference_dark() {
    snapshot("attention_difference_dark", egui::Theme::Dark, difference);
}

#[test]
fn difference_light() {
    snapshot("attention_difference_light", egui::Theme::Light, difference);
}

#[test]
fn lines_dark() {
    snapshot("attention_lines_dark", egui::Theme::Dark, lines);
}

#[test]
fn lines_light() {
    snapshot("attention_lines_light", egui::Theme::Light, lines);
}

#[test]
fn zoomed_dark() {
    snapshot("attention_zoomed_dark", egui::Theme::Dark, zoomed);
}

#[test]
fn zoomed_light() {
    snapshot("attention_zoomed_light", egui::Theme::Light, zoomed);
}
