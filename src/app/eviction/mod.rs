//! The eviction view's state: what is chosen, which runs are shown, what was computed before.
//!
//! A choice is turned into one or two runs (without and with pins). Those that were computed
//! before reappear at once; the others are handed to the engine, and the latest choice wins.

mod choices;
mod handle;
mod job;
mod runs;
mod series;
mod sweep;

pub use choices::{BUDGET_STEPS, Choices, next_budget};
pub use handle::EvictionCommand;
pub use job::{EvictionJob, Purpose};
pub use runs::{MOST_RUNS, RunKey, ShownRun};
pub use series::Series;
pub use sweep::{SweepPoint, budgets_to_sweep};

use crate::analysis::AnalysisOptions;
use crate::capture::Capture;
use crate::eviction::{CaseError, Curve, EvictionRun, PinChoice};
use std::sync::Arc;

/// Finished runs that are remembered at most; more than any list or sweep shows.
const MOST_REMEMBERED: usize = 96;
/// Rows of the rolling mean when nothing else is chosen.
pub const DEFAULT_WIDTH_ROWS: usize = 64;

/// What fills the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Curves over the text.
    #[default]
    Curves,
    /// Perplexity against budget.
    Sweep,
}

/// Everything that the eviction view knows.
pub struct EvictionState {
    /// What the controls say.
    pub choices: Choices,
    /// What fills the view.
    pub mode: Mode,
    /// Rows of the rolling mean.
    pub width_rows: usize,
    /// The token under the pointer.
    pub hovered: Option<usize>,
    /// The runs on show, in the order of their letters.
    pub runs: Vec<ShownRun>,
    /// Keys of the runs that the controls ask for: without pins, then with them.
    pub live: Vec<RunKey>,
    /// Why one of them makes no sense, before anything runs.
    pub problem: Option<CaseError>,
    /// The job that the engine works on.
    pub job: Option<EvictionJob>,
    /// Whether the last job was stopped by the user.
    pub stopped: bool,
    /// The full cache's curve.
    pub full: Series,
    /// NLL of the full cache in nats.
    pub full_nll_nats: Vec<f64>,
    capture: Option<u64>,
    finished: Vec<(RunKey, Arc<EvictionRun>)>,
}

impl Default for EvictionState {
    fn default() -> Self {
        Self {
            choices: Choices::default(),
            mode: Mode::default(),
            width_rows: DEFAULT_WIDTH_ROWS,
            hovered: None,
            runs: Vec::new(),
            live: Vec::new(),
            problem: None,
            job: None,
            stopped: false,
            full: Series::default(),
            full_nll_nats: Vec::new(),
            capture: None,
            finished: Vec::new(),
        }
    }
}

impl EvictionState {
    /// Brings the runs in line with the choices; returns the keys that still have to be computed.
    pub(super) fn refresh(&mut self, capture: &Capture, options: &AnalysisOptions) -> Vec<RunKey> {
        self.take_up(capture);
        self.problem = None;
        self.live.clear();
        for pins in self.choices.pin_choices() {
            match self.key(capture, options, &pins) {
                Ok(key) => self.live.push(key),
                // The case without pins comes first: its complaint, if it has one, is the more basic.
                Err(why) => self.problem = self.problem.take().or(Some(why)),
            }
        }
        // Pins that pin nothing would draw the same curve twice.
        self.live.dedup_by(|later, earlier| later.is_same_run(earlier));
        let live = &self.live;
        self.runs.retain(|run| live.contains(&run.key) || (run.finished.is_some() && !run.passing));
        for key in self.live.clone() {
            self.show(key);
        }
        self.live.iter().filter(|key| self.finished(key).is_none()).cloned().collect()
    }

    /// Shows runs over a text that were computed before.
    pub(super) fn restore(
        &mut self,
        capture: &Capture,
        options: &AnalysisOptions,
        runs: Vec<Arc<EvictionRun>>,
    ) {
        self.take_up(capture);
        self.choices.sliding = false;
        for run in runs {
            let key = RunKey {
                case: run.case.clone(),
                pins: run.pins.tokens.clone(),
                scored_from: run.pins.scored_from,
            };
            self.remember(key.clone(), run);
            self.show(key);
        }
        // The controls ask for what they ask for; runs of it that are there are live.
        let _ = self.refresh(capture, options);
    }

    /// The key of the chosen experiment with these pins.
    fn key(
        &self,
        capture: &Capture,
        options: &AnalysisOptions,
        pins: &PinChoice,
    ) -> Result<RunKey, CaseError> {
        let case = self.choices.case(pins.clone(), self.choices.budget);
        let pins = case.resolve_pins(capture, options)?;
        case.check(&capture.model.spec, capture.len(), &pins.tokens)?;
        Ok(RunKey { case, pins: pins.tokens, scored_from: pins.scored_from })
    }

    /// Forgets what belongs to another text.
    fn take_up(&mut self, capture: &Capture) {
        if self.capture == Some(capture.id) {
            return;
        }
        self.capture = Some(capture.id);
        self.runs.clear();
        self.finished.clear();
        self.job = None;
        self.hovered = None;
        self.full_nll_nats = capture.nll_nats.iter().map(|&nll| f64::from(nll)).collect();
        self.full = Series::of(&self.full_nll_nats, &self.full_nll_nats, 0, self.width_rows);
    }

    /// Puts a run on show, from memory where it was computed before.
    fn show(&mut self, key: RunKey) {
        let passing = self.choices.sliding;
        if let Some(run) = self.runs.iter_mut().find(|run| run.key == key) {
            run.shown = true;
            run.passing &= passing;
            return;
        }
        if self.runs.len() >= MOST_RUNS
            && let Some(oldest) = self.runs.iter().position(|run| !self.live.contains(&run.key))
        {
            self.runs.remove(oldest);
        }
        let letters = 0..MOST_RUNS;
        let free = letters.into_iter().find(|slot| self.runs.iter().all(|run| run.slot != *slot));
        let finished = self.finished(&key).cloned();
        let mut run = ShownRun::new(free.unwrap_or_default(), key, finished);
        run.passing = passing;
        run.derive(&self.full_nll_nats, self.width_rows);
        self.runs.push(run);
    }

    /// A run that was computed before.
    #[must_use]
    pub fn finished(&self, key: &RunKey) -> Option<&Arc<EvictionRun>> {
        self.finished.iter().find(|(other, _)| other == key).map(|(_, run)| run)
    }

    /// Every run over this text that was computed.
    pub fn all_finished(&self) -> impl Iterator<Item = (&RunKey, &Arc<EvictionRun>)> {
        self.finished.iter().map(|(key, run)| (key, run))
    }

    fn remember(&mut self, key: RunKey, run: Arc<EvictionRun>) {
        self.finished.retain(|(other, _)| *other != key);
        if self.finished.len() >= MOST_REMEMBERED {
            self.finished.remove(0);
        }
        self.finished.push((key, run));
    }

    /// The runs that the controls ask for: without pins, then with them.
    pub fn live_runs(&self) -> impl Iterator<Item = &ShownRun> {
        self.live.iter().filter_map(|key| self.runs.iter().find(|run| run.key == *key))
    }

    /// The run with the chosen pins, or the one without where that is the only one.
    #[must_use]
    pub fn main_run(&self) -> Option<&ShownRun> {
        self.live_runs().last()
    }

    /// Whether the controls ask for this run.
    #[must_use]
    pub fn is_live(&self, run: &ShownRun) -> bool {
        self.live.contains(&run.key)
    }

    /// The first row over which the runs that the controls ask for are compared: the same for all.
    #[must_use]
    pub fn first_compared_row(&self) -> usize {
        self.live_runs().map(|run| run.first_scored_row(self.full_nll_nats.len())).max().unwrap_or(0)
    }

    /// A run beside the full cache over the compared rows, as far as it is computed.
    #[must_use]
    pub fn curve<'a>(&'a self, run: &'a ShownRun) -> Curve<'a> {
        Curve {
            nll_nats: &run.nll_nats,
            full_nll_nats: &self.full_nll_nats,
            first_row: self.first_compared_row(),
        }
    }

    /// Positions that the controls pin now.
    #[must_use]
    pub fn pinned_now(&self) -> std::collections::BTreeSet<usize> {
        self.live.last().map(|key| key.pins.clone()).unwrap_or_default()
    }

    fn derive_all(&mut self) {
        let width = self.width_rows;
        self.full = Series::of(&self.full_nll_nats, &self.full_nll_nats, 0, width);
        for run in &mut self.runs {
            run.derive(&self.full_nll_nats, width);
        }
    }
}
