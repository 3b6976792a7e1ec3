//! The open runs: the one that is shown, and those before it, to be shown again and compared with.

use super::run::Run;
use super::state::AppState;
use crate::capture::{AlignBy, Alignment, Capture};
use crate::engine::MemoryPlan;
use crate::engine::latest::LatestWorker;
use crate::model::tokenizer::TokenSequence;
use crate::progress::CancelToken;
use std::sync::Arc;

/// A wish about the open runs. Runs are named by their captures' ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunsCommand {
    /// Show this one.
    Show(u64),
    /// Close this one; the shown one is never closed.
    Close(u64),
    /// Close all but the shown one.
    CloseOthers,
}

/// Runs that stay open beside the shown one, the latest first.
#[derive(Default)]
pub struct Shelf {
    runs: Vec<Run>,
    /// Where the shown run's tokens stand in each of the others.
    places: Option<Places>,
}

/// Where the tokens of one run stand in others.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Places {
    /// The run, and the others, as ids of captures.
    pub of: (u64, Vec<u64>),
    /// For each of the others and each token its position there; `None` where it is not in that text.
    pub there: Vec<Vec<Option<usize>>>,
}

impl Shelf {
    /// Runs that stay open beside the shown one, at most.
    pub const MOST_RUNS: usize = 8;
    /// Bytes that they may hold together.
    pub const MOST_BYTES: u64 = 1 << 30;

    /// The runs, the latest first.
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Their captures, in the same order.
    #[must_use]
    pub fn captures(&self) -> Vec<&Arc<Capture>> {
        self.runs.iter().map(|run| &run.capture).collect()
    }

    /// Bytes that they hold together.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.runs.iter().map(|run| run.capture.bytes()).sum()
    }

    /// Where the tokens of run `of` stand in run `other`, once that is known.
    #[must_use]
    pub fn place(&self, of: u64, other: u64) -> Option<&[Option<usize>]> {
        let places = self.places.as_ref().filter(|places| places.of.0 == of)?;
        let at = places.of.1.iter().position(|&id| id == other)?;
        places.there.get(at).map(Vec::as_slice)
    }

    /// Puts a run in front; the oldest are closed until the rest fits. One of the same model over the same
    /// tokens takes the place of the older, unless that is `subtracted`. How many were closed for want of
    /// room.
    pub fn put(&mut self, run: Run, most_bytes: u64, subtracted: Option<u64>) -> usize {
        let older = self.runs.iter().position(|other| other.is_same_input(&run));
        let older = older.map(|at| self.runs.remove(at));
        let subtracted_already = older.filter(|older| Some(older.capture.id) == subtracted);
        self.runs.insert(0, subtracted_already.unwrap_or(run));
        let before = self.runs.len();
        while self.runs.len() > Self::MOST_RUNS || (!self.runs.is_empty() && self.bytes() > most_bytes) {
            self.close_oldest(subtracted);
        }
        before - self.runs.len()
    }

    /// Puts the view's question to every run.
    pub(super) fn reanalyse(&mut self, view: &super::view::ViewOptions) {
        self.runs.iter_mut().for_each(|run| run.reanalyse(view));
    }

    /// Closes the oldest until so many bytes are free, or none is left. How many were closed.
    pub fn give_way(&mut self, bytes: u64, subtracted: Option<u64>) -> usize {
        let (before, held) = (self.runs.len(), self.bytes());
        while !self.runs.is_empty() && held - self.bytes() < bytes {
            self.close_oldest(subtracted);
        }
        before - self.runs.len()
    }

    /// The one that is subtracted goes last.
    fn close_oldest(&mut self, subtracted: Option<u64>) {
        let free = self.runs.iter().rposition(|run| Some(run.capture.id) != subtracted);
        match free {
            Some(at) => drop(self.runs.remove(at)),
            None => self.runs.clear(),
        }
    }

    fn take(&mut self, id: u64) -> Option<Run> {
        let at = self.runs.iter().position(|run| run.capture.id == id)?;
        Some(self.runs.remove(at))
    }
}

/// Texts to align: the shown one, and the others, with their captures' ids.
type Texts = ((u64, Arc<TokenSequence>), Vec<(u64, Arc<TokenSequence>)>);

/// Aligns texts on a thread: a diff of two long texts that have little in common takes a while.
pub(super) type PlacesWorker = LatestWorker<Texts, Places>;

/// Starts the worker; `wake` is called when a result is ready.
pub(super) fn start_places_worker(wake: impl Fn() + Send + 'static) -> Option<PlacesWorker> {
    LatestWorker::spawn("places", places_of, wake)
        .inspect_err(|error| tracing::error!(%error, "no thread for comparing runs"))
        .ok()
}

fn places_of(((shown, tokens), others): &Texts, cancel: &CancelToken) -> Option<Places> {
    let mut there = Vec::new();
    for (_, other) in others {
        cancel.check().ok()?;
        let places = Alignment::of(tokens, other, AlignBy::Tokens).places(tokens.len());
        there.push(places);
    }
    Some(Places { of: (*shown, others.iter().map(|(id, _)| *id).collect()), there })
}

impl AppState {
    pub(super) fn runs_command(&mut self, command: RunsCommand) {
        match command {
            RunsCommand::Show(id) => {
                if let Some(run) = self.shelf.take(id) {
                    self.show_run(run);
                }
            }
            RunsCommand::Close(id) => {
                self.shelf.take(id);
                self.align_runs();
            }
            RunsCommand::CloseOthers => self.shelf.runs.clear(),
        }
    }

    /// Shows a run; the one that was shown stays open behind it.
    pub(super) fn show_run(&mut self, mut run: Run) {
        self.view.fit_to(&run.capture.model.spec, run.capture.len());
        self.partners.clear();
        self.tokens.history = super::tokens::History::default();
        self.unlock();
        run.reanalyse(&self.view);
        self.tokens.search.look(&run.capture.tokens, &run.analysis.classes);
        let left = self.run.replace(run);
        if let (Some(left), Some(shown)) = (left, &self.run) {
            // What is left comes again when it is asked for again.
            let replaced = left.is_same_input(shown);
            let subtracted = self.attention.subtracted_run();
            let closed = if replaced { 0 } else { self.shelf.put(left, Shelf::MOST_BYTES, subtracted) };
            if closed > 0 {
                let bytes = super::format::bytes(Shelf::MOST_BYTES);
                self.say(format!(
                    "Earlier runs were closed: at most {} and {bytes} stay open",
                    Shelf::MOST_RUNS
                ));
            }
        }
        self.align_runs();
        self.ask_for_partners();
        self.refresh_eviction();
    }

    /// Closes the oldest of the open runs, as far as a run that begins needs their memory.
    pub(super) fn make_room_for(&mut self, plan: &MemoryPlan) {
        let closed = self.shelf.give_way(plan.missing_bytes(), self.attention.subtracted_run());
        if closed > 0 {
            self.align_runs();
            let runs = if closed == 1 { "An earlier run was" } else { "Earlier runs were" };
            self.say(format!("{runs} closed: the new one needs the memory"));
        }
    }

    /// Bytes of the open runs beside the one that the memory plan is of: while that is not there yet, the
    /// shown one is among them.
    #[must_use]
    pub(super) fn open_runs_bytes(&self) -> u64 {
        let shown = self.run.as_ref().filter(|_| self.upcoming.is_some());
        self.shelf.bytes() + shown.map_or(0, |run| run.capture.bytes())
    }

    /// Has the worker find where the shown run's tokens stand in the others.
    fn align_runs(&mut self) {
        let Some(shown) = &self.run else { return };
        let text = |run: &Run| (run.capture.id, Arc::clone(&run.capture.tokens));
        let others: Vec<_> = self.shelf.runs.iter().map(text).collect();
        if let Some(worker) = self.places_worker.as_mut().filter(|_| !others.is_empty()) {
            worker.ask((text(shown), others));
        }
    }

    pub(super) fn placed(&mut self, places: Places) {
        self.shelf.places = Some(places);
    }
}
