//! Files of the window: sessions that are saved, opened and put aside, views that are exported, commands that
//! do the same.

mod autosave;
mod command;
pub mod export;
mod exporting;
mod handle;
pub mod origin;
mod restore;
pub mod shell;
mod worker;

pub use handle::FilesCommand;
pub use worker::FileDone;

use crate::session::Kept;
use autosave::Autosave;
use export::ExportChoice;
use origin::Origin;
use std::path::PathBuf;
use worker::FilesWorker;

/// What of a run a session file holds: a newer one has something to save.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The capture.
    capture: u64,
    /// Evictions over it.
    evictions: usize,
}

/// Runs whose origin is remembered: more than stay open.
const MOST_ORIGINS: usize = 32;

/// Everything that the window knows of files.
#[expect(clippy::struct_excessive_bools, reason = "each is a dialog or a wish of its own")]
pub struct Files {
    /// The session's file, once it was saved or opened.
    pub session: Option<PathBuf>,
    /// What of the capture is kept.
    pub kept: Kept,
    /// Whether the dialog that chooses it is on show.
    pub save_is_open: bool,
    /// The export that the dialog describes, when it is on show.
    pub export: Option<ExportChoice>,
    /// Whether it is being asked what becomes of unsaved changes.
    pub asks_to_close: bool,
    /// A session that a killed program left, while it is offered.
    pub left_behind: Option<PathBuf>,
    /// What the worker does, for the status line.
    pub doing: Vec<String>,
    /// What the path field is for, where it is not for opening.
    pub path_is_for: Option<crate::app::PickKind>,
    /// The same of the job that runs.
    pub(super) asked: Option<Origin>,
    /// The loaded model as `--model` takes it.
    pub(super) model: Option<String>,
    /// The prompt as a file brought it.
    pub(super) from_file: Option<crate::engine::PromptInput>,
    /// Whether the run on show stays when a model has been loaded.
    pub(super) keeps_run: bool,
    /// Where the open runs came from, by their captures' ids, the latest last.
    origins: Vec<(u64, Origin)>,
    saved: Vec<Mark>,
    closes_when_saved: bool,
    may_close: bool,
    recovered_from: Option<PathBuf>,
    autosave: Option<Autosave>,
    folder: Option<PathBuf>,
    worker: FilesWorker,
}

impl Files {
    /// Nothing saved, nothing opened.
    pub(super) fn start(wake: impl Fn() + Send + 'static) -> Self {
        Self {
            session: None,
            kept: Kept::default(),
            save_is_open: false,
            export: None,
            asks_to_close: false,
            left_behind: None,
            doing: Vec::new(),
            path_is_for: None,
            asked: None,
            model: None,
            from_file: None,
            keeps_run: false,
            origins: Vec::new(),
            saved: Vec::new(),
            closes_when_saved: false,
            may_close: false,
            recovered_from: None,
            autosave: None,
            folder: None,
            worker: FilesWorker::start(wake),
        }
    }

    /// Where a run came from.
    #[must_use]
    pub fn origin(&self, capture: u64) -> Option<&Origin> {
        self.origins.iter().find(|(id, _)| *id == capture).map(|(_, origin)| origin)
    }

    fn came_from(&mut self, capture: u64, origin: Origin) {
        let excess = (self.origins.len() + 1).saturating_sub(MOST_ORIGINS);
        self.origins.drain(..excess);
        self.origins.push((capture, origin));
    }

    /// The path to save to was not chosen after all: a wish to close ends with that.
    pub(super) fn keep_open(&mut self) {
        self.closes_when_saved = false;
    }

    /// Notes that a capture is what the engine was asked for.
    pub(super) fn came_from_asked(&mut self, capture: u64) {
        if let Some(origin) = self.asked.take() {
            self.came_from(capture, origin);
        }
    }

    /// What the worker has done.
    pub(super) fn poll(&self) -> Option<FileDone> {
        self.worker.poll()
    }

    /// Whether the window may close now.
    #[must_use]
    pub fn may_close(&self) -> bool {
        self.may_close
    }

    /// Whether a dialog of this module is on show: the keys are for it.
    #[must_use]
    pub fn has_dialog(&self) -> bool {
        self.save_is_open || self.export.is_some() || self.asks_to_close || self.left_behind.is_some()
    }
}
