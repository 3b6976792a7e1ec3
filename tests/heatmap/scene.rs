//! A small application around the attention view, and how the tests talk to it.

use egui::{Pos2, Rect, Role, Vec2, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use sinkscope::app::panels::attention::{AttentionAction, AttentionState, AttentionView, Shown, draw};
use sinkscope::capture::Capture;
use sinkscope::widgets::heatmap::HeatmapColors;
use sinkscope::widgets::lines::LinesColors;
use sinkscope::widgets::pattern_grid::GridColors;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) const SIZE: Vec2 = vec2(780.0, 396.0);

pub(crate) struct Scene {
    pub(crate) attention: AttentionState,
    pub(crate) capture: Arc<Capture>,
    pub(crate) others: Vec<Arc<Capture>>,
    pub(crate) sinks: Vec<usize>,
    pub(crate) focus: (usize, usize),
    pub(crate) selected: Option<usize>,
    pub(crate) picked: Vec<usize>,
    dressed: bool,
}

impl Scene {
    pub(crate) fn new(capture: Capture) -> Self {
        Self {
            attention: AttentionState::default(),
            capture: Arc::new(capture),
            others: Vec::new(),
            sinks: vec![0],
            focus: (0, 0),
            selected: None,
            picked: Vec::new(),
            dressed: false,
        }
    }

    pub(crate) fn ui(ui: &mut egui::Ui, scene: &mut Self) {
        let ctx = ui.ctx().clone();
        if !std::mem::replace(&mut scene.dressed, true) {
            // Fonts are there from the next frame on.
            sinkscope::app::theme::install(&ctx);
            ctx.request_repaint();
            return;
        }
        let others: Vec<&Arc<Capture>> = scene.others.iter().collect();
        let shown = Shown {
            capture: &scene.capture,
            others: &others,
            sinks: &scene.sinks,
            selected: scene.selected,
            focus: scene.focus,
        };
        scene.attention.frame(&ctx, Some(shown));
        let visuals = ui.visuals();
        let (text, faint, line) =
            (visuals.strong_text_color(), visuals.weak_text_color(), visuals.window_stroke.color);
        let (accent, mark) = (visuals.hyperlink_color, visuals.warn_fg_color);
        let view = AttentionView {
            capture: &scene.capture,
            others: &others,
            sinks: &scene.sinks,
            selected: scene.selected,
            focus: scene.focus,
            heatmap: HeatmapColors { text, faint, line, accent, mark },
            grid: GridColors { placeholder: visuals.faint_bg_color, faint, text, accent },
            lines: LinesColors { text, faint, accent, mark, hover: visuals.faint_bg_color },
        };
        let mut actions = Vec::new();
        draw(ui, &scene.attention, view, &mut actions);
        for action in actions {
            ctx.request_repaint();
            match action {
                AttentionAction::Own(command) => scene.attention.handle(command),
                AttentionAction::FocusHead(layer, head) => scene.focus = (layer, head),
                AttentionAction::SelectToken(token) => {
                    scene.selected = Some(token);
                    scene.picked.push(token);
                }
            }
        }
    }

    pub(crate) fn harness(self) -> Harness<'static, Self> {
        self.harness_with_frames_of(0.25)
    }

    /// A harness on whose clock a frame takes so many seconds: a double click has to be quick.
    pub(crate) fn harness_with_frames_of(self, seconds: f32) -> Harness<'static, Self> {
        let builder = Harness::builder().with_size(SIZE).with_step_dt(seconds);
        let mut harness = builder.build_ui_state(Self::ui, self);
        harness.run_steps(4);
        harness
    }

    pub(crate) fn shows_everything(&self) -> bool {
        let (shown, total) = self.attention.thumbnails_done();
        shown == total && total > 0 && self.attention.is_settled()
    }
}

/// Steps until what the scene waits for has come.
pub(crate) fn settle(harness: &mut Harness<'_, Scene>) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !harness.state().shows_everything() {
        assert!(Instant::now() < deadline, "the tiles never came");
        std::thread::sleep(Duration::from_millis(2));
        harness.step();
    }
    harness.run_steps(2);
}

pub(crate) fn matrix(harness: &Harness<'_, Scene>) -> Rect {
    harness.get_by_role_and_label(Role::Canvas, "Attention pattern").rect()
}

pub(crate) fn readout(harness: &Harness<'_, Scene>) -> String {
    harness.get_by_role_and_label(Role::Canvas, "Attention pattern").value().unwrap_or_default()
}

/// The middle of a cell while the whole matrix is shown.
pub(crate) fn cell_pos(plot: Rect, n: usize, query: usize, key: usize) -> Pos2 {
    let part = |cell: usize| (cell as f32 + 0.5) / n as f32;
    plot.min + vec2(part(key), part(query)) * plot.width()
}

pub(crate) fn click(harness: &mut Harness<'_, Scene>, at: Pos2) {
    harness.hover_at(at);
    harness.run_steps(1);
    harness.drag_at(at);
    harness.run_steps(1);
    harness.drop_at(at);
    harness.run_steps(2);
}

/// Query and key of a readout whose cell is visible.
pub(crate) fn cell_of(readout: &str) -> (usize, usize) {
    assert!(!readout.contains("masked"), "{readout}");
    cell_of_any(readout)
}

pub(crate) fn cell_of_any(readout: &str) -> (usize, usize) {
    let after = |word: &str| {
        let rest = readout.split_once(word).unwrap_or_else(|| panic!("no {word:?} in {readout:?}")).1;
        rest.split(' ').next().and_then(|number| number.parse().ok()).expect("a position")
    };
    (after("query "), after("key "))
}

/// Where a head's picture lies in the grid.
pub(crate) fn head(harness: &Harness<'_, Scene>, layer: usize, head: usize) -> Rect {
    harness.get_by_role_and_label(Role::Button, &format!("Layer {layer}, head {head}")).rect()
}
