//! How the window looks, pixel by pixel, on lavapipe. Another renderer draws other pixels, so these
//! are skipped unless `WGPU_BACKEND=vulkan` says that the software Vulkan is meant; CI says so.

use crate::stage::{SINKS, Stage, showing_on};
use crate::support;
use egui_kittest::kittest::Queryable as _;
use egui_kittest::{SnapshotError, SnapshotResult};
use sinkscope::app::hub::HubCommand;
use sinkscope::app::layout::{LayoutCommand, Side};
use sinkscope::app::panels::attention::{AttentionCommand, HeadOrder, Hiding};
use sinkscope::app::view::{HeadId, Tab};
use sinkscope::app::{AppState, Command};
use sinkscope::color::ColorMap;
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
    snapshot_on(name, theme, 1.0, arrange);
}

/// The same on a screen with two pixels for each point.
fn fine_snapshot(name: &str, theme: egui::Theme, arrange: impl FnOnce(&mut Stage)) {
    snapshot_on(name, theme, 2.0, arrange);
}

fn snapshot_on(name: &str, theme: egui::Theme, pixels_per_point: f32, arrange: impl FnOnce(&mut Stage)) {
    if is_skipped() {
        return;
    }
    let mut stage = showing_on(theme, pixels_per_point, support::CHAT, &SINKS);
    arrange(&mut stage);
    ready(&mut stage);
    stage.harness.snapshot(name);
}

/// Waits until nothing changes any more, and covers what is not the same twice.
fn ready(stage: &mut Stage) {
    stage.harness.remove_cursor();
    stage.step_until("all thumbnails", |state| {
        let (done, all) = state.attention.thumbnails_done();
        state.view.tab != Tab::Attention || (done == all && all > 0 && state.attention.is_settled())
    });
    // How long the analysis took.
    let clock = stage.harness.get_by_label_contains("analysis ").rect();
    stage.harness.mask(clock.expand2(egui::vec2(60.0, 2.0)));
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
pub(crate) fn listing() -> RepoListing {
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

fn eviction_snapshot(name: &str, theme: egui::Theme, pixels_per_point: f32) {
    if is_skipped() {
        return;
    }
    let mut stage = crate::eviction::opened(theme);
    crate::eviction::finish(&mut stage);
    stage.move_to_screen(pixels_per_point);
    ready(&mut stage);
    stage.harness.snapshot(name);
}

#[test]
fn eviction_dark() {
    eviction_snapshot("eviction_dark", egui::Theme::Dark, 1.0);
}

#[test]
fn eviction_light() {
    eviction_snapshot("eviction_light", egui::Theme::Light, 1.0);
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

#[test]
fn fine_dark() {
    fine_snapshot("window_2x_dark", egui::Theme::Dark, |_| {});
}

#[test]
fn fine_light() {
    fine_snapshot("window_2x_light", egui::Theme::Light, |_| {});
}

#[test]
fn fine_sinks_dark() {
    fine_snapshot("sinks_2x_dark", egui::Theme::Dark, |stage| stage.click("Sinks"));
}

#[test]
fn fine_sinks_light() {
    fine_snapshot("sinks_2x_light", egui::Theme::Light, |stage| stage.click("Sinks"));
}

#[test]
fn fine_difference_dark() {
    fine_snapshot("attention_difference_2x_dark", egui::Theme::Dark, difference);
}

#[test]
fn fine_difference_light() {
    fine_snapshot("attention_difference_2x_light", egui::Theme::Light, difference);
}

#[test]
fn fine_eviction_dark() {
    eviction_snapshot("eviction_2x_dark", egui::Theme::Dark, 2.0);
}

#[test]
fn fine_eviction_light() {
    eviction_snapshot("eviction_2x_light", egui::Theme::Light, 2.0);
}

/// A window moved to a finer screen draws its matrices anew, a texel for each pixel there.
#[test]
fn a_finer_screen_is_the_same_layout_with_more_pixels() {
    let mut stage = showing_on(egui::Theme::Dark, 1.0, support::CHAT, &SINKS);
    sharp(&mut stage);
    let run = stage.harness.get_by_label("▶ Run").rect();
    let plot = stage.harness.get_by_label("Attention pattern").rect();
    stage.move_to_screen(2.0);
    sharp(&mut stage);
    assert_eq!(stage.harness.ctx.pixels_per_point(), 2.0);
    assert_eq!(stage.harness.ctx.content_rect().size(), egui::vec2(1280.0, 800.0));
    let moved = stage.harness.get_by_label("▶ Run").rect();
    assert!((moved.center() - run.center()).length() < 2.0, "{run:?} → {moved:?}");
    let finer = stage.harness.get_by_label("Attention pattern").rect();
    assert!((finer.center() - plot.center()).length() < 2.0, "{plot:?} → {finer:?}");
    if !is_skipped() {
        let picture = stage.harness.render().expect("a picture");
        assert_eq!(picture.dimensions(), (2560, 1600));
    }
}

/// Compares with a committed picture, and keeps what differs out of the source.
fn compared(stage: &mut Stage, name: &str) -> SnapshotResult {
    let folder = tempfile::tempdir().expect("a folder");
    let file = format!("{name}.png");
    std::fs::copy(std::path::Path::new("tests/snapshots").join(&file), folder.path().join(file))
        .expect("copied");
    ready(stage);
    let picture = stage.harness.render().expect("a picture");
    let options = egui_kittest::SnapshotOptions::new().output_path(folder.path());
    egui_kittest::try_image_snapshot_options(&picture, name, &options)
}

/// Something that looks wrong, and what makes it so.
type Change = (&'static str, fn(&mut AppState));

#[test]
fn a_picture_that_is_wrong_is_refused() {
    if is_skipped() {
        return;
    }
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        eprintln!("skipped: pictures are being redrawn");
        return;
    }
    let wrong: [Change; 5] = [
        ("a panel is missing", |state| {
            state.handle(Command::Layout(LayoutCommand::Show(Side::Inspector, false)));
        }),
        ("another colour map", |state| {
            state.handle(Command::Attention(AttentionCommand::SetMap(ColorMap::Viridis)));
        }),
        ("another head", |state| state.handle(Command::FocusHead(HeadId { layer: 0, head: 5 }))),
        ("the threshold has moved by a hundredth", |state| state.handle(Command::SetThreshold(3.51))),
        ("a token is selected", |state| state.handle(Command::SelectToken(22))),
    ];
    for (what, change) in wrong {
        let mut stage = showing_on(egui::Theme::Dark, 1.0, support::CHAT, &SINKS);
        compared(&mut stage, "window_dark").expect("nothing is wrong yet");
        change(stage.harness.state_mut().state_mut());
        stage.settle();
        let refused = compared(&mut stage, "window_dark").expect_err(what);
        assert!(matches!(refused, SnapshotError::Diff { diff, .. } if diff > 20), "{what}: {refused}");
    }
    let mut finer = showing_on(egui::Theme::Dark, 2.0, support::CHAT, &SINKS);
    let refused = compared(&mut finer, "window_dark").expect_err("another size");
    assert!(matches!(refused, SnapshotError::SizeMismatch { .. }), "{refused}");
}
