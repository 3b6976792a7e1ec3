//! Undo and redo of what is shown: focus, selection, profile, threshold, colours, pins, budget, policy.
//!
//! A step is the small state before and after it. Texts have an undo of their own.

use super::command::Command;
use super::eviction::{Choices, EvictionCommand};
use super::panels::attention::{AttentionChoices, AttentionCommand};
use super::state::AppState;
use super::view::ViewOptions;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Steps that are remembered at most.
pub const MOST_STEPS: usize = 100;
/// Parts of one movement (a drag, a held key) that follow each other within this are one step.
const PAUSE: Duration = Duration::from_millis(900);

/// All that a step can change.
#[derive(Debug, Clone, PartialEq)]
struct ViewState {
    view: ViewOptions,
    attention: AttentionChoices,
    eviction: Choices,
}

#[derive(Debug, Clone)]
struct Step {
    words: &'static str,
    before: ViewState,
    after: ViewState,
    glides: bool,
    at: Instant,
}

/// What can be undone and redone.
#[derive(Debug, Clone, Default)]
pub struct UndoState {
    done: VecDeque<Step>,
    undone: Vec<Step>,
}

impl UndoState {
    /// Whether there is something to undo.
    #[must_use]
    pub fn can_undo(&self) -> bool {
        !self.done.is_empty()
    }

    /// Whether there is something to redo.
    #[must_use]
    pub fn can_redo(&self) -> bool {
        !self.undone.is_empty()
    }

    fn note(&mut self, before: ViewState, after: ViewState, glides: bool) {
        let Some(words) = difference(&before, &after) else { return };
        let at = Instant::now();
        self.undone.clear();
        if let Some(last) = self.done.back_mut()
            && glides
            && last.glides
            && last.words == words
            && at.duration_since(last.at) < PAUSE
        {
            (last.after, last.at) = (after, at);
            return;
        }
        self.done.push_back(Step { words, before, after, glides, at });
        if self.done.len() > MOST_STEPS {
            self.done.pop_front();
        }
    }
}

impl ViewState {
    fn of(state: &AppState) -> Self {
        Self {
            view: state.view.clone(),
            attention: state.attention.choices(),
            eviction: Choices { sliding: false, ..state.eviction.choices.clone() },
        }
    }
}

/// What differs, in words; `None` when nothing does. Which view was open makes no difference: going
/// there is not worth a step, but undoing shows where something was changed.
fn difference(a: &ViewState, b: &ViewState) -> Option<&'static str> {
    let same_place = ViewOptions { tab: a.view.tab, sinks_page: a.view.sinks_page, ..b.view.clone() };
    if a.view.focus != b.view.focus {
        Some("focused head")
    } else if a.view.threshold != b.view.threshold {
        Some("threshold")
    } else if a.view.profile != b.view.profile {
        Some("profile")
    } else if a.view.layers != b.view.layers {
        Some("layers")
    } else if a.view.head != b.view.head {
        Some("head of the profile")
    } else if a.view.strip != b.view.strip {
        Some("colours of the tokens")
    } else if a.view.peak_keys != b.view.peak_keys {
        Some("tokens of the peak")
    } else if a.view != same_place {
        Some("selection")
    } else if a.attention != b.attention {
        Some("look of the patterns")
    } else if a.eviction.budget != b.eviction.budget {
        Some("budget")
    } else if a.eviction.policy != b.eviction.policy {
        Some("policy")
    } else if (a.eviction.pinned, &a.eviction.pins) != (b.eviction.pinned, &b.eviction.pins) {
        Some("pins")
    } else if a.eviction != b.eviction {
        Some("eviction")
    } else {
        None
    }
}

/// Whether a command changes what is shown, and whether it is a part of a movement.
fn kind(command: &Command) -> Option<bool> {
    match command {
        Command::MoveSelection(_)
        | Command::SetThreshold(_)
        | Command::SetPeakKeys(_)
        | Command::Eviction(
            EvictionCommand::SetBudget { .. } | EvictionCommand::SetRecent(_) | EvictionCommand::SetSeed(_),
        )
        | Command::Attention(
            AttentionCommand::SetRange(_)
            | AttentionCommand::SetFloor(_)
            | AttentionCommand::SetLeastLine(_)
            | AttentionCommand::LinesFrom(_),
        ) => Some(true),
        Command::SelectToken(_)
        | Command::ClearSelection
        | Command::SetStripColour(_)
        | Command::FocusHead(_)
        | Command::SetProfile(_)
        | Command::SetLayers(_)
        | Command::SetHead(_)
        | Command::Tokens(_)
        | Command::Eviction(_)
        | Command::Attention(_) => Some(false),
        _ => None,
    }
}

/// The state before a command that may become a step.
pub(super) struct Before {
    state: ViewState,
    glides: bool,
}

impl AppState {
    /// To be called before a command is carried out.
    pub(super) fn before(&self, command: &Command) -> Option<Before> {
        kind(command).map(|glides| Before { state: ViewState::of(self), glides })
    }

    /// To be called afterwards: what changed becomes a step.
    pub(super) fn note_step(&mut self, before: Option<Before>) {
        if let Some(Before { state, glides }) = before {
            self.undo.note(state, ViewState::of(self), glides);
        }
    }

    pub(super) fn undo(&mut self) {
        if let Some(step) = self.undo.done.pop_back() {
            self.restore(step.before.clone());
            self.say(format!("Undone: {}", step.words));
            self.undo.undone.push(step);
        }
    }

    pub(super) fn redo(&mut self) {
        if let Some(step) = self.undo.undone.pop() {
            self.restore(step.after.clone());
            self.say(format!("Redone: {}", step.words));
            self.undo.done.push_back(step);
        }
    }

    fn restore(&mut self, state: ViewState) {
        self.view = state.view;
        if let Some(run) = &self.run {
            // The step may have been made with another model or text.
            let (spec, n) = (&run.capture.model.spec, run.capture.len());
            let fits = self.view.selected.is_none_or(|token| token < n)
                && self.view.focus.layer < spec.layers
                && self.view.focus.head < spec.heads;
            if !fits {
                self.view.fit_to(spec, n);
            }
        }
        self.attention.set_choices(state.attention);
        self.eviction.choices = state.eviction;
        self.reanalyse();
        self.refocus();
        self.refresh_eviction();
    }
}
