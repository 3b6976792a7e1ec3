//! What changes the window's files; called by [`AppState::handle`] alone.

use super::autosave::{self, Autosave};
use super::export::ExportChoice;
use super::origin::{Origin, model_argument};
use super::worker::{FileDone, FileJob};
use crate::app::command::PickKind;
use crate::app::prompt::{PromptDraft, Sample};
use crate::app::state::AppState;
use crate::cli::render::ViewName;
use crate::engine::PromptInput;
use crate::model::source::ModelRef;
use crate::session::{EXTENSION, Kept, predicted_bytes};
use std::path::{Path, PathBuf};

/// A wish that concerns files.
#[derive(Debug)]
pub enum FilesCommand {
    /// Save the session where it is, or ask where.
    Save,
    /// Show or hide the dialog that saves under a name.
    ShowSave(bool),
    /// What of the capture is kept.
    SetKept(Kept),
    /// Ask for the session's path.
    ChoosePath,
    /// Show the export dialog for the view in the centre, or hide it.
    ShowExport(bool),
    /// Another view in that dialog.
    ExportView(ViewName),
    /// What it describes.
    SetExport(Box<ExportChoice>),
    /// Ask for the export's path.
    Export,
    /// Put the command on the clipboard that does what the dialog describes, or that draws the view in the centre.
    CopyCommand,
    /// The window was asked to close.
    CloseRequested,
    /// Save, then close.
    SaveAndClose,
    /// Close without saving.
    CloseAnyway,
    /// Don't close.
    StayOpen,
    /// Open what a killed program left.
    Recover,
    /// Throw it away.
    DiscardLeftBehind,
    /// Decide another time.
    LeaveLeftBehind,
    /// Open a recent session.
    OpenRecent(usize),
    /// The worker has done something.
    Done(FileDone),
}

impl AppState {
    pub(in crate::app) fn files_command(&mut self, command: FilesCommand) {
        match command {
            FilesCommand::Save => match self.files.session.clone() {
                Some(path) if self.run.is_some() => self.save_session(path),
                _ => self.show_save(),
            },
            FilesCommand::ShowSave(true) => self.show_save(),
            FilesCommand::ShowSave(false) => {
                self.files.save_is_open = false;
                self.files.closes_when_saved = false;
            }
            FilesCommand::SetKept(kept) => self.files.kept = kept,
            FilesCommand::ChoosePath => {
                self.files.save_is_open = false;
                let name = format!("{}.{EXTENSION}", self.suggested_name(None));
                self.dialogs.ask_where(PickKind::SaveSession, &name);
            }
            FilesCommand::ShowExport(show) => self.files.export = self.suggested_export().filter(|_| show),
            FilesCommand::ExportView(view) => self.export_view(view),
            FilesCommand::SetExport(choice) => self.set_export(*choice),
            FilesCommand::Export => {
                if let Some(choice) = &self.files.export {
                    let name = choice.render.out.to_string_lossy().into_owned();
                    self.dialogs.ask_where(PickKind::Export(choice.format), &name);
                }
            }
            FilesCommand::CopyCommand => self.copy_command(),
            FilesCommand::CloseRequested => self.files.asks_to_close = true,
            FilesCommand::SaveAndClose => {
                self.files.asks_to_close = false;
                self.files.closes_when_saved = true;
                self.files_command(FilesCommand::Save);
            }
            FilesCommand::CloseAnyway => {
                self.files.asks_to_close = false;
                self.files.may_close = true;
            }
            FilesCommand::StayOpen => self.files.asks_to_close = false,
            FilesCommand::Recover => {
                if let Some(path) = self.files.left_behind.take() {
                    self.open_session(path, true);
                }
            }
            FilesCommand::DiscardLeftBehind => {
                if let Some(path) = self.files.left_behind.take() {
                    autosave::discard(&path);
                }
            }
            FilesCommand::LeaveLeftBehind => self.files.left_behind = None,
            FilesCommand::OpenRecent(recent) => {
                if let Some(path) = self.settings.recent_sessions.get(recent).cloned() {
                    self.open_session(path, false);
                }
            }
            FilesCommand::Done(done) => self.file_done(done),
        }
    }

    fn show_save(&mut self) {
        if self.run.is_none() {
            self.files.closes_when_saved = false;
            self.say_error("There is nothing to save: run a prompt first".to_owned());
            return;
        }
        self.files.save_is_open = true;
    }

    /// Reads a session on the worker.
    pub(in crate::app) fn open_session(&mut self, path: PathBuf, recovered: bool) {
        self.files.doing.push(format!("Opening {}", name_of(&path)));
        self.files.worker.submit(FileJob::Open { path, recovered });
    }

    /// A path was chosen to write to.
    pub(in crate::app) fn write_to(&mut self, kind: PickKind, path: PathBuf) {
        match kind {
            PickKind::SaveSession => self.save_session(with_extension(path, EXTENSION)),
            PickKind::Export(format) => self.export_to(with_extension(path, format.extension())),
            _ => {}
        }
    }

    fn save_session(&mut self, path: PathBuf) {
        let (Some(session), Some(mark)) = (self.as_session(), self.mark()) else { return };
        self.files.doing.push(format!("Saving {}", name_of(&path)));
        let kept = self.files.kept;
        self.files.worker.submit(FileJob::Save { session: Box::new(session), kept, path, mark });
    }

    fn file_done(&mut self, done: FileDone) {
        if !matches!(done, FileDone::Autosaved { .. }) && !self.files.doing.is_empty() {
            self.files.doing.remove(0);
        }
        match done {
            FileDone::Saved { path, kept, mark, result: Ok(()) } => {
                self.say(format!("Saved ({}) to {}", kept.name(), path.display()));
                self.settings.remember_session(&path);
                self.files.session = Some(path);
                self.files.saved.push(mark);
                self.forget_autosave();
                if std::mem::take(&mut self.files.closes_when_saved) {
                    self.files.may_close = true;
                }
            }
            FileDone::Saved { result: Err(why), .. } => {
                self.files.closes_when_saved = false;
                self.say_error(why.to_string());
            }
            FileDone::Autosaved { mark, result } => self.autosaved(mark, &result),
            FileDone::Opened { path, recovered, result: Ok(session) } => {
                self.opened(path, recovered, *session);
            }
            FileDone::Opened { path, result: Err(why), .. } => {
                self.settings.recent_sessions.retain(|recent| *recent != path);
                self.say_error(why.to_string());
            }
            FileDone::Exported { path, result: Ok(notices) } => {
                self.say(format!("Exported {}", path.display()));
                notices.into_iter().for_each(|notice| self.say(notice));
            }
            FileDone::Exported { result: Err(why), .. } => self.say_error(why.to_string()),
        }
    }

    fn opened(&mut self, path: PathBuf, recovered: bool, session: crate::session::Session) {
        let has_patterns = session.capture.has_patterns();
        let name = session.capture.model.name.clone();
        self.show_session(session);
        self.files.from_file = None;
        if recovered {
            // It has no file of its own yet, and stays where it is until it has.
            self.files.session = None;
            self.files.recovered_from = Some(path);
            self.say("Recovered: save the session to keep it".to_owned());
            return;
        }
        self.settings.remember_session(&path);
        self.files.kept = if has_patterns { Kept::F32 } else { Kept::Statistics };
        self.files.saved.extend(self.mark());
        self.say(format!("Opened a session of {name}: {}", path.display()));
        self.files.session = Some(path);
    }

    fn autosaved(&mut self, mark: super::Mark, result: &Result<(), crate::Error>) {
        let Some(autosave) = &mut self.files.autosave else { return };
        autosave.is_running = false;
        match result {
            Ok(()) => {
                autosave.mark = Some(mark);
                if let Some(path) = self.files.recovered_from.take() {
                    autosave::discard(&path);
                }
            }
            Err(why) => tracing::warn!(%why, "the session could not be put aside"),
        }
    }

    /// What was put aside is no longer needed.
    fn forget_autosave(&mut self) {
        if let Some(autosave) = &mut self.files.autosave {
            autosave.clear();
        }
        if let Some(path) = self.files.recovered_from.take() {
            autosave::discard(&path);
        }
    }

    /// Whether something would be lost that the user made: a session that was saved or opened and has changed
    /// since, or a run of a prompt that is nowhere else.
    #[must_use]
    pub fn has_unsaved_changes(&self) -> bool {
        let Some(mark) = self.mark() else { return false };
        let is_own = self.files.origin(mark.capture).is_some_and(|origin| origin.is_own);
        let covers = |saved: &super::Mark| saved.capture == mark.capture && saved.evictions >= mark.evictions;
        !self.files.saved.iter().any(covers) && (self.files.session.is_some() || is_own)
    }

    /// Puts the session aside from now on, in a folder; offers what killed programs left there.
    pub fn autosave_in(&mut self, folder: &Path) {
        self.files.left_behind = autosave::left_behind(folder).into_iter().next();
        self.files.autosave = Autosave::take_place(folder);
        self.files.folder = folder.parent().map(Path::to_owned);
    }

    /// Once a frame: puts the session aside where it has changed.
    pub(in crate::app) fn autosave_if_due(&mut self) {
        if !self.has_unsaved_changes() {
            return;
        }
        let mark = self.mark();
        let kept = match self.run.as_ref() {
            Some(run) if predicted_bytes(&run.capture, Kept::F32) > autosave::MOST_BYTES => Kept::Statistics,
            _ => Kept::F32,
        };
        let Some(autosave) = self.files.autosave.as_mut().filter(|autosave| autosave.mark != mark) else {
            return;
        };
        if !autosave.is_due() {
            return;
        }
        let path = autosave.path().to_owned();
        let (Some(session), Some(mark)) = (self.as_session(), mark) else { return };
        if let Some(autosave) = &mut self.files.autosave {
            autosave.is_running = true;
        }
        self.files.worker.submit(FileJob::Autosave { session: Box::new(session), kept, path, mark });
    }

    /// Notes what the engine was asked to run.
    pub(in crate::app) fn note_asked(&mut self) {
        let prompt = self.prompt.input();
        let is_own = !is_sample(&prompt) && self.files.from_file.as_ref() != Some(&prompt);
        self.files.keeps_run = false;
        self.files.asked = Some(Origin {
            model: self.files.model.clone(),
            load: self.load,
            offline: self.offline,
            prompt,
            file: None,
            bos: self.prompt.bos,
            is_own,
        });
    }

    /// Notes which model was loaded.
    pub(in crate::app) fn note_model(&mut self, model: &ModelRef) {
        self.files.model = Some(model_argument(model));
    }
}

fn is_sample(prompt: &PromptInput) -> bool {
    [Sample::Chat, Sample::Text].into_iter().any(|sample| {
        let mut draft = PromptDraft::default();
        draft.load_sample(sample);
        match (draft.input(), prompt) {
            // Whether specials are parsed is no content.
            (PromptInput::Text { text, .. }, PromptInput::Text { text: ran, .. }) => text == *ran,
            (input, prompt) => input == *prompt,
        }
    })
}

pub(super) fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The path with an extension, unless it has it already.
fn with_extension(path: PathBuf, extension: &str) -> PathBuf {
    if path.extension().is_some_and(|have| have.eq_ignore_ascii_case(extension)) {
        return path;
    }
    let mut name = path.into_os_string();
    name.push(".");
    name.push(extension);
    name.into()
}
