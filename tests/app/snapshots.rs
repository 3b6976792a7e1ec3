//! How the window looks, pixel by pixel, on lavapipe. Another renderer draws other pixels, so these
//! are skipped unless `WGPU_BACKEND=vulkan` says that the software Vulkan is meant; CI says so.

use crate::stage::{SINKS, Stage, showing};
use crate::support;
use egui_kittest::kittest::Queryable as _;
use sinkscope::app::view::Tab;

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
