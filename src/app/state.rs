//! The state of the window, and the little that can be asked of it.

use super::command::Command;
use super::dialogs::FileDialogs;
use super::engine_handle::EngineHandle;
use super::eviction::EvictionState;
use super::files::{Files, FilesCommand};
use super::guide::GuideState;
use super::hub::HubPicker;
use super::memory::MemoryWatch;
use super::panels::attention::{AttentionState, Shown};
use super::partners::{self, Partners, PartnersWorker};
use super::prompt::PromptDraft;
use super::run::Run;
use super::running::RunningJob;
use super::settings::Settings;
use super::shelf::{self, PlacesWorker, Shelf};
use super::toasts::Toast;
use super::tokens::TokensState;
use super::undo::UndoState;
use super::view::{StripColour, ViewOptions};
use crate::engine::MemoryPlan;
use crate::model::source::ModelRef;
use crate::model::tokenizer::TokenSequence;
use crate::model::{LoadOptions, ModelInfo};
use std::sync::Arc;

/// Everything the window knows. Only [`AppState::handle`] changes it.
pub struct AppState {
    /// The loaded model.
    pub model: Option<Arc<ModelInfo>>,
    /// What the search for a model has said so far, a line a step.
    pub notices: Vec<String>,
    /// Why there is no model, when loading one failed.
    pub model_failure: Option<String>,
    /// The prompt in the editor.
    pub prompt: PromptDraft,
    /// The running job.
    pub job: Option<RunningJob>,
    /// The last run, with all that is derived from it.
    pub run: Option<Run>,
    /// What the running or last job was predicted to need.
    pub plan: Option<MemoryPlan>,
    /// Tokens of the running job, before its capture is there.
    pub upcoming: Option<Arc<TokenSequence>>,
    /// Choices about what is shown.
    pub view: ViewOptions,
    /// The strip's tools.
    pub tokens: TokensState,
    /// The open runs behind the shown one.
    pub shelf: Shelf,
    /// Partners of the selected and of the locked tokens, once they are computed.
    pub partners: Vec<Partners>,
    /// The attention view.
    pub attention: AttentionState,
    /// Sessions, exports, what is put aside.
    pub files: Files,
    /// The eviction view.
    pub eviction: EvictionState,
    /// Where and how the weights of the next model are kept.
    pub load: LoadOptions,
    /// What is remembered between runs.
    pub settings: Settings,
    /// Whether the window is dark now: the theme may follow the system's.
    pub is_dark: bool,
    /// The dialog that opens a model from the Hub.
    pub hub: HubPicker,
    /// Palette, sheet of keys, tour.
    pub guide: GuideState,
    /// Changes of what is shown, to go back to.
    pub undo: UndoState,
    /// The path field, when it is open.
    pub path_field: Option<String>,
    /// Resident memory of this process, once it was looked at.
    pub memory_now_bytes: Option<u64>,
    /// Messages on show, the oldest first.
    pub toasts: Vec<Toast>,
    pub(super) next_toast: u64,
    /// Text that waits for the clipboard.
    pub(super) clipboard: Option<String>,
    pub(super) opened: Option<ModelRef>,
    pub(super) offline: bool,
    pub(super) engine: Box<dyn EngineHandle>,
    pub(super) dialogs: Box<dyn FileDialogs>,
    pub(super) partners_worker: Option<PartnersWorker>,
    pub(super) places_worker: Option<PlacesWorker>,
    memory: Option<MemoryWatch>,
}

/// What the state stands on; tests bring their own.
pub struct Services {
    /// The engine.
    pub engine: Box<dyn EngineHandle>,
    /// File dialogs.
    pub dialogs: Box<dyn FileDialogs>,
    /// Wakes the window when a worker has a result.
    pub wake: Box<dyn Fn() + Send + Sync>,
}

impl AppState {
    /// A window without a model.
    #[must_use]
    pub fn new(services: Services, settings: Settings, offline: bool) -> Self {
        let wake: Arc<dyn Fn() + Send + Sync> = Arc::from(services.wake);
        let waking = || {
            let wake = Arc::clone(&wake);
            move || wake()
        };
        Self {
            model: None,
            notices: Vec::new(),
            model_failure: None,
            prompt: PromptDraft::default(),
            job: None,
            run: None,
            plan: None,
            upcoming: None,
            view: ViewOptions::default(),
            tokens: TokensState::default(),
            shelf: Shelf::default(),
            partners: Vec::new(),
            attention: AttentionState::default(),
            files: Files::start(waking()),
            eviction: EvictionState::default(),
            load: LoadOptions::default(),
            settings,
            is_dark: false,
            hub: HubPicker::default(),
            guide: GuideState::default(),
            undo: UndoState::default(),
            path_field: None,
            memory_now_bytes: None,
            toasts: Vec::new(),
            next_toast: 0,
            clipboard: None,
            opened: None,
            offline,
            engine: services.engine,
            dialogs: services.dialogs,
            partners_worker: partners::start_worker(waking()),
            places_worker: shelf::start_places_worker(waking()),
            memory: None,
        }
    }

    /// What the engine, the dialogs and the workers have to say; never blocks.
    #[must_use]
    pub fn incoming(&mut self) -> Vec<Command> {
        let mut commands = Vec::new();
        while let Some((job, event)) = self.engine.try_recv() {
            commands.push(Command::Engine(job, event));
        }
        while let Some((kind, picked)) = self.dialogs.poll() {
            commands.push(Command::Picked(kind, picked));
        }
        while let Some(partners) = self.partners_worker.as_ref().and_then(PartnersWorker::poll) {
            commands.push(Command::Partners(partners));
        }
        while let Some(places) = self.places_worker.as_ref().and_then(PlacesWorker::poll) {
            commands.push(Command::Places(places));
        }
        while let Some(done) = self.files.poll() {
            commands.push(Command::Files(FilesCommand::Done(done)));
        }
        if let Some(bytes) = self.memory.as_ref().and_then(MemoryWatch::latest) {
            commands.push(Command::MemoryNow(bytes));
        }
        if self.toasts.iter().any(Toast::is_over) {
            commands.push(Command::ExpireToasts);
        }
        commands
    }

    /// Lets the views prepare what they derive: tiles and textures. Once a frame, before drawing.
    pub fn frame(&mut self, ctx: &egui::Context) {
        let focus = (self.view.focus.layer, self.view.focus.head);
        self.is_dark = ctx.global_style().visuals.dark_mode;
        self.autosave_if_due();
        let with_patterns = self.run.as_ref().filter(|run| run.capture.has_patterns());
        let others = self.shelf.captures();
        let shown = with_patterns.map(|run| Shown {
            capture: &run.capture,
            others: &others,
            sinks: &run.analysis.detection.flagged,
            selected: self.view.selected,
            focus,
        });
        self.attention.frame(ctx, shown);
    }

    /// Begins to look at this process's memory once a second.
    pub fn watch_memory(&mut self, wake: impl Fn() + Send + 'static) {
        self.memory = Some(MemoryWatch::start(wake));
    }

    /// Whether the prompt can be run.
    #[must_use]
    pub fn can_run(&self) -> bool {
        self.model.is_some() && self.job.as_ref().is_none_or(|job| !job.opens_a_model)
    }

    /// Takes the text that waits for the clipboard.
    pub fn take_clipboard(&mut self) -> Option<String> {
        self.clipboard.take()
    }

    /// The partners that the strip is coloured by, if they are there.
    #[must_use]
    pub fn shown_partners(&self) -> Option<&Partners> {
        self.selection_partners().filter(|_| self.view.strip != StripColour::Mass)
    }

    /// The partners of the selected tokens, if they are there.
    #[must_use]
    pub fn selection_partners(&self) -> Option<&Partners> {
        self.partners_of(&self.view.selection().all())
    }

    /// The partners of the locked tokens, if some are locked and they are there.
    #[must_use]
    pub fn locked_partners(&self) -> Option<&Partners> {
        self.partners_of(&self.tokens.locked)
    }

    fn partners_of(&self, tokens: &[usize]) -> Option<&Partners> {
        let wanted = self.run.as_ref()?.partners_key(&self.view, tokens)?;
        self.partners.iter().find(|partners| partners.key == wanted)
    }
}
