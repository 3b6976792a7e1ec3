//! A run as a session, and a session as the run on show.

use super::Mark;
use super::origin::Origin;
use crate::analysis::MOST_PEAK_KEYS;
use crate::app::THRESHOLDS;
use crate::app::panels::attention::AttentionCommand;
use crate::app::prompt::PromptKind;
use crate::app::run::Run;
use crate::app::state::AppState;
use crate::app::view::ViewOptions;
use crate::color::{ColorMap, ScaleKind};
use crate::engine::PromptInput;
use crate::session::Session;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How a run is looked at. What is missing or can't be read is as in a new window: it is no content.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct SavedView {
    options: ViewOptions,
    scale: Option<ScaleKind>,
    map: Option<ColorMap>,
}

impl AppState {
    /// The run on show as a session; `None` without one.
    pub(super) fn as_session(&self) -> Option<Session> {
        let run = self.run.as_ref()?;
        let origin = self.files.origin(run.capture.id)?;
        let view = SavedView {
            options: self.view.clone(),
            scale: Some(self.attention.scale().kind),
            map: Some(self.attention.map()),
        };
        Some(Session {
            capture: Arc::clone(&run.capture),
            prompt: origin.prompt.clone(),
            bos: origin.bos,
            model: origin.model.clone(),
            runs: self.eviction.all_finished().map(|(_, run)| Arc::clone(run)).collect(),
            view: serde_json::to_value(view).unwrap_or_default(),
        })
    }

    /// What a session of now would hold.
    pub(super) fn mark(&self) -> Option<Mark> {
        let capture = self.run.as_ref()?.capture.id;
        Some(Mark { capture, evictions: self.eviction.all_finished().count() })
    }

    /// Shows a session. The loaded model stays; it is needed only to run something.
    pub(super) fn show_session(&mut self, session: Session) {
        if self.job.as_ref().is_some_and(|job| !job.opens_a_model) {
            self.engine.cancel();
            self.job = None;
            self.eviction.job = None;
        }
        self.upcoming = None;
        let view: SavedView = serde_json::from_value(session.view).unwrap_or_default();
        self.view = view.options;
        let threshold = self.view.threshold;
        self.view.threshold = threshold.clamp(*THRESHOLDS.start(), *THRESHOLDS.end());
        self.view.peak_keys = self.view.peak_keys.clamp(1, MOST_PEAK_KEYS);
        self.view.fit_to(&session.capture.model.spec, session.capture.len());
        self.attention.handle(AttentionCommand::SetScale(view.scale.unwrap_or_default()));
        self.attention.handle(AttentionCommand::SetMap(view.map.unwrap_or_default()));
        self.show_prompt(&session.prompt);
        self.prompt.bos = session.bos;
        let origin = Origin {
            model: session.model,
            load: self.load,
            offline: self.offline,
            prompt: session.prompt,
            file: None,
            bos: session.bos,
            is_own: true,
        };
        self.files.came_from(session.capture.id, origin);
        let options = self.view.analysis_options(&session.capture.model.spec);
        self.eviction.restore(&session.capture, &options, session.runs);
        self.files.keeps_run = true;
        self.show_run(Run::new(session.capture, &self.view));
    }

    fn show_prompt(&mut self, prompt: &PromptInput) {
        match prompt {
            PromptInput::Text { text, parse_specials } => {
                self.prompt.kind = PromptKind::Text;
                self.prompt.text.clone_from(text);
                self.prompt.parse_specials = *parse_specials;
            }
            PromptInput::Chat(turns) => {
                self.prompt.kind = PromptKind::Chat;
                self.prompt.turns.clone_from(turns);
            }
            // The window runs no ids; the tokens are on show all the same.
            PromptInput::Ids(_) => {}
        }
    }
}
