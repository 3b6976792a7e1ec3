//! What changes the eviction view's state; called by [`AppState::handle`] alone.

use super::{EvictionJob, Mode, Purpose, RunKey};
use crate::app::running::RunningJob;
use crate::app::state::AppState;
use crate::app::view::Tab;
use crate::engine::{Event, Job, JobId};
use crate::eviction::{PinChoice, PolicyName, Positions};

/// A wish to change what the eviction view shows.
#[derive(Debug, Clone, PartialEq)]
pub enum EvictionCommand {
    /// Which key goes.
    SetPolicy(PolicyName),
    /// The budget; `sliding` while the slider is held, so that what it only passes is not kept.
    SetBudget {
        /// Keys that the cache may hold.
        budget: usize,
        /// Whether more is to come.
        sliding: bool,
    },
    /// Newest keys that are safe; half the budget when `None`.
    SetRecent(Option<usize>),
    /// Seed of the random policy.
    SetSeed(u64),
    /// Positions of retained keys.
    SetPositions(Positions),
    /// Whether the run with pins is shown beside the one without.
    SetPinned(bool),
    /// What is pinned.
    SetPins(PinChoice),
    /// Pin a token, or let it go: the pins become hand-picked ones.
    TogglePin(usize),
    /// Curves or sweep.
    SetMode(Mode),
    /// Rows of the rolling mean.
    SetWidth(usize),
    /// The token under the pointer.
    Hover(Option<usize>),
    /// Draw a run's curves, or don't.
    Show(usize, bool),
    /// Take a run off the list.
    Remove(usize),
    /// Compute what was stopped.
    RunAgain,
    /// Compute the runs of a sweep.
    Sweep,
}

impl AppState {
    pub(in crate::app) fn eviction_command(&mut self, command: EvictionCommand) {
        let view = &mut self.eviction;
        view.choices.sliding = matches!(command, EvictionCommand::SetBudget { sliding: true, .. });
        match command {
            EvictionCommand::SetPolicy(policy) => view.choices.policy = policy,
            EvictionCommand::SetBudget { budget, .. } => view.choices.budget = budget.max(1),
            EvictionCommand::SetRecent(recent) => view.choices.recent = recent,
            EvictionCommand::SetSeed(seed) => view.choices.seed = seed,
            EvictionCommand::SetPositions(positions) => view.choices.positions = positions,
            EvictionCommand::SetPinned(pinned) => view.choices.pinned = pinned,
            EvictionCommand::SetPins(pins) => {
                view.choices.pinned = pins != PinChoice::None;
                view.choices.pins = pins;
            }
            EvictionCommand::TogglePin(token) => {
                let mut pins = view.pinned_now();
                if !pins.remove(&token) {
                    pins.insert(token);
                }
                view.choices.pinned = !pins.is_empty();
                view.choices.pins = if pins.is_empty() { PinChoice::None } else { PinChoice::Tokens(pins) };
            }
            EvictionCommand::SetMode(mode) => {
                view.mode = mode;
                return;
            }
            EvictionCommand::SetWidth(width) => {
                view.width_rows = width.max(1);
                view.derive_all();
                return;
            }
            EvictionCommand::Hover(token) => {
                view.hovered = token;
                return;
            }
            EvictionCommand::Show(slot, shown) => {
                view.runs.iter_mut().filter(|run| run.slot == slot).for_each(|run| run.shown = shown);
                return;
            }
            EvictionCommand::Remove(slot) => {
                let live = &view.live;
                view.runs.retain(|run| run.slot != slot || live.contains(&run.key));
                return;
            }
            EvictionCommand::RunAgain => view.stopped = false,
            EvictionCommand::Sweep => {
                self.sweep();
                return;
            }
        }
        self.refresh_eviction();
    }

    /// Shows what the controls ask for, and has the engine compute what is not known. Does nothing
    /// while the view is not open, or while the engine opens a model or runs a prompt.
    pub(in crate::app) fn refresh_eviction(&mut self) {
        if self.view.tab != Tab::Eviction {
            return;
        }
        let Some(run) = self.run.as_ref().filter(|_| self.run_fits_model()) else { return };
        let capture = std::sync::Arc::clone(&run.capture);
        let options = self.view.analysis_options(&capture.model.spec);
        let missing = self.eviction.refresh(&capture, &options);
        self.eviction.stopped = false;
        if missing.is_empty() {
            self.drop_unwanted_curves();
            return;
        }
        let same = self.eviction_job().is_some_and(|job| {
            let rest = job.keys.get(job.done..).unwrap_or_default();
            job.purpose == Purpose::Curves && rest == missing
        });
        if !same {
            self.submit_eviction(Purpose::Curves, missing);
        }
    }

    /// Stops curves that the controls no longer ask for.
    fn drop_unwanted_curves(&mut self) {
        if self.eviction_job().is_some_and(|job| job.purpose == Purpose::Curves) {
            self.engine.cancel();
            // Its last word is stale then: nobody asked to be told that it was cancelled.
            self.job = None;
            self.eviction.job = None;
        }
    }

    /// Whether the text on show was run with the model that is open; only then can it be run again.
    #[must_use]
    pub fn run_fits_model(&self) -> bool {
        let run = self.run.as_ref().map(|run| &run.capture.model);
        run.zip(self.model.as_ref()).is_some_and(|(ran, open)| std::sync::Arc::ptr_eq(ran, open))
    }

    fn sweep(&mut self) {
        let Some(run) = self.run.as_ref().filter(|_| self.run_fits_model()) else { return };
        let keys = self.eviction.keys_to_sweep(run.capture.len());
        self.eviction.mode = Mode::Sweep;
        if !keys.is_empty() {
            self.submit_eviction(Purpose::Sweep, keys);
        }
    }

    /// This view's job, if it is the one that the engine works on.
    #[must_use]
    pub fn eviction_job(&self) -> Option<&EvictionJob> {
        let running = self.job.as_ref()?;
        self.eviction.job.as_ref().filter(|job| job.id == running.id)
    }

    fn submit_eviction(&mut self, purpose: Purpose, keys: Vec<RunKey>) {
        let Some(run) = &self.run else { return };
        // The result of another job would be lost: its end refreshes this view.
        if self.job.is_some() && self.eviction_job().is_none() {
            return;
        }
        let capture = std::sync::Arc::clone(&run.capture);
        let tokens = capture.len();
        let detector = self.view.analysis_options(&capture.model.spec);
        let cases = keys.iter().map(|key| key.case.clone()).collect();
        let id = self.engine.submit(Job::Evict { capture, cases, detector });
        self.eviction.stopped = false;
        let job = EvictionJob::new(id, purpose, keys, tokens);
        let mut running = RunningJob::new(id, false);
        running.note(job.progress());
        self.eviction.job = Some(job);
        self.job = Some(running);
    }

    /// What the engine says of this view's job.
    pub(in crate::app) fn eviction_said(&mut self, id: JobId, event: Event) {
        let view = &mut self.eviction;
        let Some(job) = view.job.as_mut().filter(|job| job.id == id) else { return };
        let width = view.width_rows;
        match event {
            Event::CurvePoint { case, point } => {
                job.note(case, &point);
                let key = job.keys.get(case);
                if let Some(run) = view.runs.iter_mut().find(|run| Some(&run.key) == key) {
                    run.take_in(&point);
                    run.derive(&view.full_nll_nats, width);
                }
            }
            Event::RunDone { case, run } => {
                job.finish(case);
                let Some(key) = job.keys.get(case).cloned() else { return };
                if let Some(shown) = view.runs.iter_mut().find(|shown| shown.key == key) {
                    shown.nll_nats.clone_from(&run.nll_nats);
                    shown.finished = Some(std::sync::Arc::clone(&run));
                    shown.derive(&view.full_nll_nats, width);
                }
                view.remember(key, run);
            }
            _ => return,
        }
        let Some(job) = &view.job else { return };
        if job.done == job.keys.len() {
            view.job = None;
            self.job = None;
            // A sweep may have taken the place of curves that were still being drawn.
            self.refresh_eviction();
        } else if let Some(running) = &mut self.job {
            running.note(job.progress());
        }
    }

    /// Notes that a job failed or was stopped; whether it was this view's.
    pub(in crate::app) fn eviction_failed(&mut self, id: JobId) -> bool {
        let ours = self.eviction.job.take_if(|job| job.id == id).is_some();
        self.eviction.stopped |= ours;
        ours
    }
}
