//! Everything that can change the state: sent by panels, shortcuts, the engine and the workers.

use super::eviction::EvictionCommand;
use super::files::FilesCommand;
use super::fonts::Writing;
use super::guide::GuideCommand;
use super::hub::HubCommand;
use super::layout::LayoutCommand;
use super::panels::attention::AttentionCommand;
use super::partners::Partners;
use super::prompt::{PromptKind, Sample};
use super::shelf::{Places, RunsCommand};
use super::tokens::TokensCommand;
use super::view::{HeadId, LayerChoice, SinksPage, StripColour, Tab};
use crate::analysis::ProfileKind;
use crate::engine::{Event, JobId};
use crate::model::LoadOptions;
use crate::model::source::ModelRef;
use crate::model::tokenizer::BosChoice;
use std::path::PathBuf;

/// A wish to change the state. Panels push these; [`super::AppState::handle`] alone carries them out.
#[derive(Debug)]
pub enum Command {
    /// Keep weights so, and load the open model anew.
    SetLoad(LoadOptions),
    /// Load a model; analyses the prompt when it is ready.
    OpenModel(ModelRef),
    /// Ask for a file or folder.
    Pick(PickKind),
    /// The file dialog answered.
    Picked(PickKind, Picked),
    /// A path was dropped on the window or typed: a model, a prompt or a session, told apart by what it is.
    OpenPath(PathBuf),
    /// Show or hide the field in which a path can be typed.
    ShowPathField(bool),
    /// The path typed so far.
    SetPathField(String),
    /// The dialog that opens a model from the Hub.
    Hub(HubCommand),

    /// Plain text or chat.
    SetPromptKind(PromptKind),
    /// The plain text.
    SetPromptText(String),
    /// The role of a chat turn.
    SetTurnRole(usize, String),
    /// What a chat turn says.
    SetTurnContent(usize, String),
    /// One more chat turn, of the role whose turn it is.
    AddTurn,
    /// One chat turn less.
    RemoveTurn(usize),
    /// Whether a plain prompt starts with BOS.
    SetBos(BosChoice),
    /// Whether specials typed in plain text are read as such.
    SetParseSpecials(bool),
    /// One of the prompts that the app brings.
    LoadSample(Sample),

    /// Run the model over the prompt.
    Run,
    /// Stop the running job.
    Cancel,

    /// Select a token; the selected one again deselects it.
    SelectToken(usize),
    /// Deselect.
    ClearSelection,
    /// Move the selected token by this many positions.
    MoveSelection(isize),
    /// What the strip's colours mean.
    SetStripColour(StripColour),
    /// Show this head large.
    FocusHead(HeadId),
    /// Which view fills the centre.
    ShowTab(Tab),
    /// Normalisation of the profile, and what the detector looks at.
    SetProfile(ProfileKind),
    /// Layers that the profile averages over.
    SetLayers(LayerChoice),
    /// Head that the profile averages over; `None` for all.
    SetHead(Option<usize>),
    /// The detector's threshold.
    SetThreshold(f64),
    /// Light, dark or as the system.
    SetTheme(egui::ThemePreference),
    /// Put text on the clipboard.
    Copy(String),
    /// Take a message away.
    DismissToast(u64),
    /// Show a message's details, or hide them; with them it stays until it is dismissed.
    ShowDetails(u64, bool),
    /// Leave a message on show while the pointer is on it.
    HoldToast(u64),
    /// Take the messages away that were shown long enough.
    ExpireToasts,
    /// Forget a recent model.
    ForgetRecent(usize),

    /// The engine reported something.
    Engine(JobId, Event),
    /// The partners of selected tokens were computed.
    Partners(Vec<Partners>),
    /// Where the shown run's tokens stand in the other open runs was computed.
    Places(Places),
    /// Resident memory of this process, in bytes.
    MemoryNow(u64),
    /// The attention view's own options.
    Attention(AttentionCommand),
    /// The strip's tools: several tokens, search, history, lock.
    Tokens(TokensCommand),
    /// The open runs.
    Runs(RunsCommand),
    /// What the Sinks view shows beside its table.
    ShowSinksPage(SinksPage),
    /// How many first positions count as the peak.
    SetPeakKeys(usize),
    /// Sessions, exports, closing.
    Files(FilesCommand),
    /// The eviction view's own choices.
    Eviction(EvictionCommand),

    /// Palette, sheet of keys, tour.
    Guide(GuideCommand),
    /// Panels and zoom.
    Layout(LayoutCommand),
    /// Take the last change of what is shown back.
    Undo,
    /// Make it again.
    Redo,
    /// No installed font has some characters of this kind.
    FontMissing(Writing),
}

/// What a file dialog asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PickKind {
    /// A GGUF file.
    ModelFile,
    /// A folder with `config.json`.
    ModelFolder,
    /// A text, Markdown or chat JSON file.
    PromptFile,
    /// A session to open.
    Session,
    /// Where a session is saved.
    SaveSession,
    /// Where a view is exported.
    Export(crate::export::FileFormat),
}

impl PickKind {
    /// Whether the path is to be written to.
    #[must_use]
    pub fn writes(self) -> bool {
        matches!(self, Self::SaveSession | Self::Export(_))
    }
}

/// How a file dialog ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Picked {
    /// A path was chosen.
    Path(PathBuf),
    /// The user closed the dialog.
    Cancelled,
    /// There is no dialog on this machine.
    Unavailable,
}
