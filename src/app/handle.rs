//! The only place where the window's state changes.

use super::command::{Command, PickKind, Picked};
use super::partners::PartnersKey;
use super::prompt::is_prompt_path;
use super::run::Run;
use super::running::RunningJob;
use super::state::AppState;
use super::toasts::{self, Toast};
use super::tokens::TokenSelection;
use super::view::{LayerChoice, Tab, has_local_layers};
use crate::Error;
use crate::analysis::MOST_PEAK_KEYS;
use crate::engine::{Event, Job, JobId};
use crate::model::LoadOptions;
use crate::model::source::ModelRef;
use std::path::PathBuf;

/// Thresholds that the line can be dragged to.
pub const THRESHOLDS: std::ops::RangeInclusive<f64> = 0.5..=20.0;

impl AppState {
    /// Carries out one command; what it changes of the view can be undone.
    pub fn handle(&mut self, command: Command) {
        let before = self.before(&command);
        self.carry_out(command);
        self.note_step(before);
    }

    #[expect(clippy::too_many_lines, reason = "a line for each command")]
    fn carry_out(&mut self, command: Command) {
        match command {
            Command::OpenModel(model) => self.open_model(model),
            Command::Pick(kind) => self.dialogs.ask(kind),
            Command::Picked(kind, picked) => self.picked(kind, picked),
            Command::OpenPath(path) => self.open_path(path),
            Command::ShowPathField(show) => {
                self.path_field = show.then(String::new);
                if !show {
                    self.files.keep_open();
                }
                self.files.path_is_for = None;
            }
            Command::SetPathField(path) => self.path_field = Some(path),
            Command::Hub(command) => self.hub_command(command),
            Command::SetPromptKind(kind) => self.prompt.kind = kind,
            Command::SetPromptText(text) => self.prompt.text = text,
            Command::SetTurnRole(turn, role) => {
                if let Some(turn) = self.prompt.turns.get_mut(turn) {
                    turn.role = role;
                }
            }
            Command::SetTurnContent(turn, content) => {
                if let Some(turn) = self.prompt.turns.get_mut(turn) {
                    turn.content = content;
                }
            }
            Command::AddTurn => self.prompt.add_turn(),
            Command::RemoveTurn(turn) => {
                if turn < self.prompt.turns.len() {
                    self.prompt.turns.remove(turn);
                }
            }
            Command::SetBos(bos) => self.prompt.bos = bos,
            Command::SetParseSpecials(parse) => self.prompt.parse_specials = parse,
            Command::LoadSample(sample) => {
                self.prompt.load_sample(sample);
                self.run_prompt();
            }
            Command::Run => self.run_prompt(),
            Command::Cancel => self.cancel(),
            Command::SelectToken(token) => {
                let alone = self.view.selected == Some(token) && self.view.also_selected.is_empty();
                self.select(TokenSelection::one((!alone).then_some(token)), false);
            }
            Command::ClearSelection => self.select(TokenSelection::default(), false),
            Command::MoveSelection(by) => self.move_selection(by),
            Command::SetStripColour(colour) => {
                self.view.strip = colour;
                self.ask_for_partners();
            }
            Command::FocusHead(head) => {
                self.view.focus = head;
                self.view.focus_is_chosen = true;
            }
            Command::ShowTab(tab) => {
                self.view.tab = tab;
                self.refresh_eviction();
            }
            Command::SetProfile(profile) => {
                self.view.profile = profile;
                self.reanalyse();
            }
            Command::SetLayers(layers) => {
                self.view.layers = layers;
                self.reanalyse();
            }
            Command::SetHead(head) => {
                self.view.head = head;
                self.reanalyse();
            }
            Command::SetThreshold(threshold) => {
                self.view.threshold = threshold.clamp(*THRESHOLDS.start(), *THRESHOLDS.end());
                self.reanalyse();
            }
            Command::SetTheme(theme) => self.settings.theme = theme,
            Command::Copy(text) => self.clipboard = Some(text),
            Command::DismissToast(id) => self.toasts.retain(|toast| toast.id != id),
            Command::ShowDetails(id, show) => self.toast_mut(id, |toast| toast.show_details(show)),
            Command::HoldToast(id) => self.toast_mut(id, Toast::hold),
            Command::ExpireToasts => self.toasts.retain(|toast| !toast.is_over()),
            Command::ForgetRecent(recent) => {
                if recent < self.settings.recents.len() {
                    self.settings.recents.remove(recent);
                }
            }
            Command::Engine(job, event) => self.engine_said(job, event),
            Command::SetLoad(load) => self.set_load(load),
            Command::Partners(partners) => self.partners.extend(partners),
            Command::Places(places) => self.placed(places),
            Command::Tokens(command) => self.tokens_command(command),
            Command::Runs(command) => self.runs_command(command),
            Command::ShowSinksPage(page) => {
                (self.view.tab, self.view.sinks_page) = (Tab::Sinks, page);
            }
            Command::SetPeakKeys(keys) => self.view.peak_keys = keys.clamp(1, MOST_PEAK_KEYS),
            Command::MemoryNow(bytes) => self.memory_now_bytes = Some(bytes),
            Command::Attention(command) => self.attention.handle(command),
            Command::Files(command) => self.files_command(command),
            Command::Eviction(command) => self.eviction_command(command),
            Command::Guide(command) => self.guide_command(command),
            Command::Layout(command) => self.layout_command(command),
            Command::Undo => self.undo(),
            Command::Redo => self.redo(),
            Command::FontMissing(writing) => self.say_error(writing.notice().to_owned()),
        }
    }

    fn open_model(&mut self, model: ModelRef) {
        self.path_field = None;
        self.notices.clear();
        self.model_failure = None;
        self.opened = Some(model.clone());
        let id = self.engine.submit(Job::Open { model, offline: self.offline, options: self.load });
        self.job = Some(RunningJob::new(id, true));
    }

    /// Takes effect at once: the open model is loaded anew.
    fn set_load(&mut self, load: LoadOptions) {
        if self.load == load {
            return;
        }
        self.load = load;
        if let Some(model) = self.opened.clone() {
            self.open_model(model);
        }
    }

    fn run_prompt(&mut self) {
        if self.job.as_ref().is_some_and(|job| job.opens_a_model) {
            // The prompt is run as soon as the model is there.
            return;
        }
        if self.model.is_none() {
            self.say_error("No model is loaded: open one first".to_owned());
            return;
        }
        self.note_asked();
        let (prompt, bos) = (self.prompt.input(), self.prompt.bos);
        let id = self.engine.submit(Job::Analyze { prompt, bos, spare_bytes: self.shelf.bytes() });
        self.job = Some(RunningJob::new(id, false));
    }

    fn cancel(&mut self) {
        if let Some(job) = &mut self.job {
            job.cancelling = true;
            self.engine.cancel();
        }
    }

    fn picked(&mut self, kind: PickKind, picked: Picked) {
        match (kind, picked) {
            (PickKind::PromptFile, Picked::Path(path)) => self.open_prompt(&path),
            (PickKind::Session, Picked::Path(path)) => {
                self.path_field = None;
                self.open_session(path, false);
            }
            (kind, Picked::Path(path)) if kind.writes() => {
                self.path_field = None;
                self.files.path_is_for = None;
                self.write_to(kind, path);
            }
            (_, Picked::Path(path)) => self.open_model(ModelRef::Path(path)),
            (_, Picked::Cancelled) => self.files.keep_open(),
            (kind, Picked::Unavailable) => {
                self.path_field = Some(String::new());
                self.files.path_is_for = Some(kind).filter(|kind| kind.writes());
                self.say("No file dialog on this machine: type the path".to_owned());
            }
        }
    }

    fn open_path(&mut self, path: PathBuf) {
        self.path_field = None;
        let is_session = path.extension().is_some_and(|extension| extension == crate::session::EXTENSION)
            && path.is_file();
        if is_session {
            self.open_session(path, false);
        } else if is_prompt_path(&path) {
            self.open_prompt(&path);
        } else {
            self.open_model(ModelRef::Path(path));
        }
    }

    fn open_prompt(&mut self, path: &std::path::Path) {
        match self.prompt.load_file(path) {
            Ok(()) => {
                self.files.from_file = Some(self.prompt.input());
                self.run_prompt();
            }
            Err(why) => self.say_error(why.to_string()),
        }
    }

    fn engine_said(&mut self, id: JobId, event: Event) {
        if self.hub.listing_job == Some(id) {
            self.hub_said(event);
            return;
        }
        let Some(job) = self.job.as_mut().filter(|job| job.id == id) else { return };
        match event {
            Event::Notice(line) => self.notices.push(line),
            Event::Progress(progress) => job.note(progress),
            Event::ModelReady(model) => {
                self.job = None;
                self.hub_opened(id);
                if let Some(opened) = self.opened.take() {
                    self.note_model(&opened);
                    self.settings.remember(&opened);
                }
                if !self.files.keeps_run {
                    let has_local = has_local_layers(&model.spec);
                    self.view.layers = if has_local { LayerChoice::Global } else { LayerChoice::All };
                }
                self.model = Some(model);
                if self.files.keeps_run {
                    self.say("Model ready: run the prompt to compute this session anew".to_owned());
                } else {
                    self.run_prompt();
                }
            }
            Event::TokensReady(tokens, plan) => {
                self.make_room_for(&plan);
                self.plan = Some(plan);
                self.upcoming = Some(tokens);
            }
            Event::CaptureReady(capture) => {
                self.job = None;
                self.upcoming = None;
                self.view.fit_to(&capture.model.spec, capture.len());
                let run = Run::new(capture, &self.view);
                if let Some(head) = run.telling_head().filter(|_| !self.view.focus_is_chosen) {
                    self.view.focus = head;
                }
                self.files.came_from_asked(run.capture.id);
                self.show_run(run);
            }
            Event::CurvePoint { .. } | Event::RunDone { .. } => self.eviction_said(id, event),
            // Answers a question that is no longer asked.
            Event::Listed(_) => {}
            Event::Failed(why) => {
                let was_eviction = self.eviction_failed(id);
                self.job_failed(id, &why);
                if !was_eviction {
                    self.refresh_eviction();
                }
            }
        }
    }

    fn job_failed(&mut self, id: JobId, why: &Error) {
        self.upcoming = None;
        let opening = self.job.take().is_some_and(|job| job.opens_a_model);
        if self.hub_failed(id, why) {
            // The dialog says it.
        } else if why.is_cancelled() {
            self.say("Cancelled".to_owned());
        } else {
            self.say_failure(why);
        }
        if opening && self.model.is_none() {
            self.model_failure = Some(why.to_string());
        }
    }

    fn move_selection(&mut self, by: isize) {
        let Some(run) = &self.run else { return };
        let last = run.capture.len().saturating_sub(1);
        let next = match self.view.selected {
            Some(token) => token.saturating_add_signed(by).min(last),
            None if by < 0 => last,
            None => 0,
        };
        self.select(TokenSelection::one(Some(next)), true);
    }

    pub(super) fn refocus(&mut self) {
        if let Some(run) = &mut self.run {
            run.refocus(&self.view);
        }
        self.ask_for_partners();
    }

    pub(super) fn reanalyse(&mut self) {
        if let Some(run) = &mut self.run {
            run.reanalyse(&self.view);
        }
        // Sinks are compared with those of the other runs: all are asked the same.
        self.shelf.reanalyse(&self.view);
        self.ask_for_partners();
    }

    /// Has the worker compute the partners of the selected and the locked tokens that are not there.
    pub(super) fn ask_for_partners(&mut self) {
        let Some(run) = self.run.as_ref().filter(|run| run.capture.has_patterns()) else { return };
        let wanted: Vec<_> = [self.view.selection().all(), self.tokens.locked.clone()]
            .iter()
            .filter_map(|tokens| run.partners_key(&self.view, tokens))
            .collect();
        self.partners.retain(|partners| wanted.contains(&partners.key));
        let known = |key: &PartnersKey| self.partners.iter().any(|partners| partners.key == *key);
        let missing: Vec<_> = wanted.into_iter().filter(|key| !known(key)).collect();
        if let Some(worker) = self.partners_worker.as_mut().filter(|_| !missing.is_empty()) {
            worker.ask((std::sync::Arc::clone(&run.capture), missing));
        }
    }

    pub(super) fn say(&mut self, text: String) {
        self.toast(false, text);
    }

    #[expect(clippy::needless_pass_by_value, reason = "messages are made for it")]
    pub(in crate::app) fn say_error(&mut self, text: String) {
        self.toast(true, crate::text::one_line(&text));
    }

    /// Says what went wrong, with details for a report.
    fn say_failure(&mut self, why: &Error) {
        let details = toasts::details(why, self.model.as_deref(), self.run.as_ref());
        self.push_toast(Toast::new(0, true, why.to_string()).with_details(details));
    }

    fn toast(&mut self, is_error: bool, text: String) {
        self.push_toast(Toast::new(0, is_error, text));
    }

    fn push_toast(&mut self, mut toast: Toast) {
        // The same message again replaces the old one instead of piling up.
        self.toasts.retain(|other| other.text != toast.text);
        self.next_toast += 1;
        toast.id = self.next_toast;
        self.toasts.push(toast);
        // The oldest go first, but not one that is being read.
        while self.toasts.len() > Toast::MOST {
            let unread = self.toasts.iter().position(|toast| !toast.details_shown);
            self.toasts.remove(unread.unwrap_or(0));
        }
    }

    fn toast_mut(&mut self, id: u64, change: impl FnOnce(&mut Toast)) {
        if let Some(toast) = self.toasts.iter_mut().find(|toast| toast.id == id) {
            change(toast);
        }
    }
}
