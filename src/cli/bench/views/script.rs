//! What is done to the window while it is measured, frame by frame.

use crate::app::view::HeadId;
use crate::app::{AppState, Command};
use crate::widgets::viewport::Viewport;
use egui::{Event, Modifiers, MouseWheelUnit, PointerButton, Pos2, TouchPhase, Vec2, vec2};
use serde::Serialize;
use std::time::{Duration, Instant};

/// Frames of each kind.
const FRAMES: usize = 200;
/// Clicks of each kind.
const CLICKS: usize = 20;

/// What a frame costs.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "they carry their unit")]
pub(super) struct FrameCost {
    /// CPU time of the window's thread.
    pub(super) cpu_ms: f64,
    /// Time on the clock, with whatever else the machine does.
    pub(super) wall_ms: f64,
    /// From the beginning of the frame before to the beginning of this one: what the renderer and the display
    /// take is in it.
    pub(super) period_ms: Option<f64>,
}

/// Frames of one kind, in milliseconds.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Frames {
    count: usize,
    cpu_median_ms: f64,
    cpu_p99_ms: f64,
    cpu_max_ms: f64,
    wall_median_ms: f64,
    /// From one frame to the next, the renderer's part and the display's included.
    period_median_ms: Option<f64>,
}

/// How long something took, in milliseconds.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Waits {
    count: usize,
    median_ms: f64,
    max_ms: f64,
}

/// Everything that was measured.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Figures {
    /// From the run's end to the last small pattern of a head; `None` where it took too long.
    heads_complete_ms: Option<f64>,
    /// The same with the means of the layers and of the model.
    grid_complete_ms: Option<f64>,
    /// No input, nothing to compute.
    idle: Option<Frames>,
    panning: Option<Frames>,
    zooming: Option<Frames>,
    /// While small patterns arrive.
    refining: Option<Frames>,
    /// From a click to the exact value of its cell.
    click_to_value: Option<Waits>,
    /// From a click on a head whose pattern was never computed to a first and to the sharp pattern.
    cold_head_coarse: Option<Waits>,
    cold_head_sharp: Option<Waits>,
    /// The same with the small pattern there.
    head_coarse: Option<Waits>,
    head_sharp: Option<Waits>,
    /// Tiles and small patterns on the host.
    #[serde(skip)]
    pub(super) tile_bytes: usize,
}

/// A part of the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Opening,
    ColdHeads,
    Grid,
    Idle,
    Zooming,
    Panning,
    Values,
    Heads,
    Done,
}

/// A head that was clicked, and what of its pattern has come.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    since: Instant,
    coarse: bool,
}

/// The script: before each frame it says what the user does, behind it it notes what that cost.
#[derive(Debug)]
pub(super) struct Script {
    phase: Phase,
    frame: usize,
    patience: Duration,
    opened: Option<Instant>,
    costs: Vec<FrameCost>,
    refining: Vec<FrameCost>,
    waiting: Option<Waiting>,
    coarse_ms: Vec<f64>,
    sharp_ms: Vec<f64>,
    clicked: Option<Instant>,
    /// The cell that was shown before the click.
    shown_before: Option<(usize, usize)>,
    value_ms: Vec<f64>,
    random: u64,
    figures: Figures,
}

impl Script {
    pub(super) fn new(patience: Duration) -> Self {
        Self {
            phase: Phase::Opening,
            frame: 0,
            patience,
            opened: None,
            costs: Vec::new(),
            refining: Vec::new(),
            waiting: None,
            coarse_ms: Vec::new(),
            sharp_ms: Vec::new(),
            clicked: None,
            shown_before: None,
            value_ms: Vec::new(),
            random: 1,
            figures: Figures::default(),
        }
    }

    /// What the user does in the next frame; `None` when there is nothing left to measure.
    pub(super) fn next(&mut self, state: &mut AppState) -> Option<Vec<Event>> {
        match self.phase {
            Phase::Opening => self.open(state),
            Phase::ColdHeads => self.click_heads(state, Phase::Grid),
            Phase::Grid => self.wait_for_grid(state),
            Phase::Idle => self.count(Phase::Zooming),
            Phase::Zooming => return Some(self.zoom(state)),
            Phase::Panning => return Some(self.pan(state)),
            Phase::Values => return Some(self.click_cells(state)),
            Phase::Heads => self.click_heads(state, Phase::Done),
            Phase::Done => {
                self.figures.tile_bytes = state.attention.tile_bytes();
                return None;
            }
        }
        Some(Vec::new())
    }

    /// Notes the frame that was drawn.
    pub(super) fn note(&mut self, cost: FrameCost) {
        if self.phase == Phase::Grid || self.phase == Phase::ColdHeads {
            self.refining.push(cost);
        } else {
            self.costs.push(cost);
        }
    }

    /// The figures.
    pub(super) fn finish(self) -> Figures {
        self.figures
    }

    fn turn_to(&mut self, phase: Phase) {
        let costs = std::mem::take(&mut self.costs);
        match self.phase {
            Phase::Grid => self.figures.refining = frames(&std::mem::take(&mut self.refining)),
            Phase::Idle => self.figures.idle = frames(&costs),
            Phase::Zooming => self.figures.zooming = frames(&costs),
            Phase::Panning => self.figures.panning = frames(&costs),
            Phase::Values => self.figures.click_to_value = waits(&self.value_ms),
            Phase::ColdHeads => {
                self.figures.cold_head_coarse = waits(&std::mem::take(&mut self.coarse_ms));
                self.figures.cold_head_sharp = waits(&std::mem::take(&mut self.sharp_ms));
            }
            Phase::Heads => {
                self.figures.head_coarse = waits(&std::mem::take(&mut self.coarse_ms));
                self.figures.head_sharp = waits(&std::mem::take(&mut self.sharp_ms));
            }
            Phase::Opening | Phase::Done => {}
        }
        (self.phase, self.frame) = (phase, 0);
    }

    fn open(&mut self, state: &AppState) {
        if state.run.is_some() && state.attention.plot().is_positive() {
            self.opened = Some(Instant::now());
            self.turn_to(Phase::ColdHeads);
        }
    }

    /// Clicks one head after the other; each waits until the one before is sharp.
    fn click_heads(&mut self, state: &mut AppState, then: Phase) {
        if let Some(waiting) = &mut self.waiting {
            let ms = waiting.since.elapsed().as_secs_f64() * 1e3;
            if !waiting.coarse && state.attention.shows_something() {
                waiting.coarse = true;
                self.coarse_ms.push(ms);
            }
            if !state.attention.is_settled() {
                return;
            }
            self.sharp_ms.push(ms);
            self.waiting = None;
        }
        let Some(run) = &state.run else { return };
        let (layers, heads) = (run.capture.layers.len(), run.capture.model.spec.heads);
        let most = if then == Phase::Grid { CLICKS / 4 } else { CLICKS };
        if self.frame == most {
            self.turn_to(then);
            return;
        }
        // From the end: those are the last whose small patterns are computed.
        let index = (layers * heads).saturating_sub(1 + self.frame * 7 % (layers * heads));
        self.frame += 1;
        state.handle(Command::FocusHead(HeadId { layer: index / heads, head: index % heads }));
        self.waiting = Some(Waiting { since: Instant::now(), coarse: false });
    }

    fn wait_for_grid(&mut self, state: &AppState) {
        let since = self.opened.unwrap_or_else(Instant::now).elapsed();
        let (done, all) = state.attention.thumbnails_done();
        let heads =
            state.run.as_ref().map_or(0, |run| run.capture.layers.len() * run.capture.model.spec.heads);
        if done >= heads && heads > 0 {
            self.figures.heads_complete_ms.get_or_insert(since.as_secs_f64() * 1e3);
        }
        let complete = done == all && all > 0;
        if complete {
            self.figures.grid_complete_ms = Some(since.as_secs_f64() * 1e3);
        }
        if complete && state.attention.is_settled() || since > self.patience {
            self.turn_to(Phase::Idle);
        }
    }

    fn count(&mut self, then: Phase) {
        self.frame += 1;
        if self.frame > FRAMES {
            self.turn_to(then);
        }
    }

    fn zoom(&mut self, state: &mut AppState) -> Vec<Event> {
        let plot = state.attention.plot();
        let travel = if self.frame < FRAMES / 2 { 12.0 } else { -12.0 };
        self.count(Phase::Panning);
        if self.phase == Phase::Panning {
            let side = state.run.as_ref().map_or(1, |run| run.capture.len());
            let view = Viewport::fit(side).zoomed(8.0, 0.3, 0.7, side);
            state.handle(Command::Attention(crate::app::panels::attention::AttentionCommand::Zoom(view)));
        }
        let wheel = Event::MouseWheel {
            unit: MouseWheelUnit::Point,
            delta: vec2(0.0, travel),
            phase: TouchPhase::Move,
            modifiers: Modifiers::NONE,
            source: egui::MouseWheelSource::Unknown,
        };
        vec![Event::PointerMoved(plot.lerp_inside(vec2(0.3, 0.7))), wheel]
    }

    fn pan(&mut self, state: &AppState) -> Vec<Event> {
        let plot = state.attention.plot();
        // There and back again, within the plot.
        let part = |frame: usize| {
            let way = frame as f32 / FRAMES as f32;
            let way = if way < 0.5 { way * 2.0 } else { 2.0 - way * 2.0 };
            plot.lerp_inside(vec2(0.2 + 0.5 * way, 0.8 - 0.3 * way))
        };
        let at = part(self.frame);
        let mut events = vec![Event::PointerMoved(at)];
        if self.frame == 0 {
            events.push(button(at, true));
        }
        self.count(Phase::Values);
        if self.phase == Phase::Values {
            events.push(button(at, false));
        }
        events
    }

    fn click_cells(&mut self, state: &mut AppState) -> Vec<Event> {
        let shown = state.attention.cursor();
        if let Some(since) = self.clicked {
            if shown == self.shown_before {
                return Vec::new();
            }
            self.value_ms.push(since.elapsed().as_secs_f64() * 1e3);
            self.clicked = None;
        }
        if self.frame == CLICKS {
            state.handle(Command::Attention(crate::app::panels::attention::AttentionCommand::Fit));
            self.turn_to(Phase::Heads);
            return Vec::new();
        }
        self.frame += 1;
        self.shown_before = shown;
        let part = Vec2::new(self.next_random() * 0.6, 0.4 + self.next_random() * 0.6);
        let at = state.attention.plot().lerp_inside(part);
        self.clicked = Some(Instant::now());
        vec![Event::PointerMoved(at), button(at, true), button(at, false)]
    }

    fn next_random(&mut self) -> f32 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((self.random >> 40) as f32) / ((1_u64 << 24) as f32)
    }
}

fn button(pos: Pos2, pressed: bool) -> Event {
    Event::PointerButton { pos, button: PointerButton::Primary, pressed, modifiers: Modifiers::NONE }
}

fn frames(costs: &[FrameCost]) -> Option<Frames> {
    let cpu = sorted(costs.iter().map(|cost| cost.cpu_ms));
    let wall = sorted(costs.iter().map(|cost| cost.wall_ms));
    let periods = sorted(costs.iter().filter_map(|cost| cost.period_ms));
    Some(Frames {
        count: costs.len(),
        cpu_median_ms: at_share(&cpu, 0.5)?,
        cpu_p99_ms: at_share(&cpu, 0.99)?,
        cpu_max_ms: at_share(&cpu, 1.0)?,
        wall_median_ms: at_share(&wall, 0.5)?,
        period_median_ms: at_share(&periods, 0.5),
    })
}

fn waits(ms: &[f64]) -> Option<Waits> {
    let ms = sorted(ms.iter().copied());
    Some(Waits { count: ms.len(), median_ms: at_share(&ms, 0.5)?, max_ms: at_share(&ms, 1.0)? })
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn at_share(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((share * last as f64).round() as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_sorted_costs() {
        let costs: Vec<FrameCost> = (0..=100)
            .rev()
            .map(|ms| FrameCost { cpu_ms: f64::from(ms), wall_ms: 1.0, period_ms: None })
            .collect();
        let frames = frames(&costs).expect("some");
        assert_eq!((frames.cpu_median_ms, frames.cpu_p99_ms, frames.cpu_max_ms), (50.0, 99.0, 100.0));
        assert!(super::frames(&[]).is_none());
    }
}
