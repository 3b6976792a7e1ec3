//! What is subtracted: a head of this run or of another open one, and how the tokens of the two lie
//! beside each other.

use super::heads::spawned;
use super::options::Subtrahend;
use super::state::Shown;
use crate::capture::{AlignBy, Alignment, Capture, Difference, PatternOf};
use crate::engine::latest::LatestWorker;
use std::sync::Arc;

/// Two runs by their ids, and how they are aligned.
type AlignmentOf = (u64, u64, AlignBy);
type AlignmentWorker = LatestWorker<(Arc<Capture>, Arc<Capture>, AlignBy), (AlignmentOf, Arc<Alignment>)>;

/// What differences are made of, beside the shown run and the open ones.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub(super) subtrahend: Option<Subtrahend>,
    worker: Option<AlignmentWorker>,
    asked: Option<AlignmentOf>,
    aligned: Option<(AlignmentOf, Arc<Alignment>)>,
    shown: Option<Arc<Difference>>,
    /// Labels of the entries, and their positions as text.
    pub(super) labels: Vec<String>,
    pub(super) numbers: Vec<String>,
    labels_of: Option<AlignmentOf>,
}

/// The run of an id among the open ones, if it has patterns.
pub(super) fn run_of<'a>(others: &[&'a Arc<Capture>], id: Option<u64>) -> Option<&'a Arc<Capture>> {
    others.iter().copied().find(|other| Some(other.id) == id && other.has_patterns())
}

impl Comparison {
    /// What is subtracted: what was chosen, else the latest other run's same head, else the head beside.
    /// A run that is closed gives way to this run, one that is itself shown to the latest other.
    pub(super) fn subtrahend(
        &self,
        current: &Capture,
        others: &[&Arc<Capture>],
        focus: (usize, usize),
    ) -> Subtrahend {
        let latest = others.iter().find(|other| other.has_patterns()).map(|other| other.id);
        let wanted = match self.subtrahend.map(|chosen| chosen.run) {
            Some(run) if run != Some(current.id) => run,
            _ => latest,
        };
        let other = run_of(others, wanted);
        let mut subtrahend = self.subtrahend.unwrap_or(Subtrahend {
            run: None,
            layer: focus.0,
            head: focus.1,
            by: AlignBy::Tokens,
        });
        subtrahend.run = other.map(|other| other.id);
        let spec = &other.map_or(&current.model, |other| &other.model).spec;
        // This run's own head is subtracted from itself only where that was chosen.
        let chose_this_run = self.subtrahend.is_some_and(|chosen| chosen.run.is_none());
        if other.is_none() && !chose_this_run {
            subtrahend = subtrahend.beside(focus, spec.heads);
        }
        subtrahend.layer = subtrahend.layer.min(spec.layers.saturating_sub(1));
        subtrahend.head = subtrahend.head.min(spec.heads.saturating_sub(1));
        subtrahend
    }

    /// The difference to show, once the texts are aligned.
    pub(super) fn difference(
        &mut self,
        ctx: &egui::Context,
        shown: Shown<'_>,
        minuend: PatternOf,
    ) -> Option<Arc<Difference>> {
        let current = shown.capture;
        let subtrahend = self.subtrahend(current, shown.others, shown.focus);
        let b = Arc::clone(run_of(shown.others, subtrahend.run).unwrap_or(current));
        let alignment = self.alignment(ctx, current, &b, subtrahend.by)?;
        let of = PatternOf::Head { layer: subtrahend.layer, head: subtrahend.head };
        let difference =
            Difference { a: (Arc::clone(current), minuend), b: (b, of), by: subtrahend.by, alignment };
        let same = |shown: &Arc<Difference>| {
            shown.a.1 == minuend
                && shown.b.1 == of
                && Arc::ptr_eq(&shown.a.0, &difference.a.0)
                && Arc::ptr_eq(&shown.b.0, &difference.b.0)
                && Arc::ptr_eq(&shown.alignment, &difference.alignment)
        };
        if !self.shown.as_ref().is_some_and(same) {
            self.shown = Some(Arc::new(difference));
        }
        self.shown.clone()
    }

    /// The difference that was last shown.
    pub(super) fn shown(&self) -> Option<&Arc<Difference>> {
        self.shown.as_ref()
    }

    /// Lets go of what was shown, when it is made of a run that is closed.
    pub(super) fn retain(&mut self, runs: &[u64]) {
        let is_open = |shown: &Arc<Difference>| [&shown.a, &shown.b].iter().all(|of| runs.contains(&of.0.id));
        if !self.shown.as_ref().is_some_and(is_open) {
            self.forget();
        }
    }

    /// Lets go of what was shown, and with it of runs that nobody else keeps.
    pub(super) fn forget(&mut self) {
        self.shown = None;
    }

    fn alignment(
        &mut self,
        ctx: &egui::Context,
        a: &Arc<Capture>,
        b: &Arc<Capture>,
        by: AlignBy,
    ) -> Option<Arc<Alignment>> {
        let of = (a.id, b.id, by);
        if let Some(answer) = self.worker.as_ref().and_then(LatestWorker::poll) {
            self.aligned = Some(answer);
        }
        if a.id == b.id && self.aligned.as_ref().is_none_or(|(aligned, _)| *aligned != of) {
            self.aligned = Some((of, Arc::new(Alignment::identity(a.len()))));
        }
        if let Some((aligned, alignment)) = self.aligned.clone().filter(|(aligned, _)| *aligned == of) {
            if self.labels_of != Some(aligned) {
                self.labels_of = Some(aligned);
                self.label(a, b, &alignment);
            }
            return Some(alignment);
        }
        if self.asked != Some(of) {
            self.asked = Some(of);
            self.ask(ctx, a, b, by);
        }
        None
    }

    fn ask(&mut self, ctx: &egui::Context, a: &Arc<Capture>, b: &Arc<Capture>, by: AlignBy) {
        if self.worker.is_none() {
            let answer = |(a, b, by): &(Arc<Capture>, Arc<Capture>, AlignBy), _: &_| {
                Some(((a.id, b.id, *by), Arc::new(Alignment::of(&a.tokens, &b.tokens, *by))))
            };
            self.worker = spawned("token alignment", answer, ctx);
        }
        if let Some(worker) = &mut self.worker {
            worker.ask((Arc::clone(a), Arc::clone(b), by));
        }
    }

    fn label(&mut self, a: &Capture, b: &Capture, alignment: &Alignment) {
        let labels = alignment.labels(&a.tokens, &b.tokens).into_iter();
        (self.labels, self.numbers) = labels.map(|label| (label.token, label.position)).unzip();
    }
}
