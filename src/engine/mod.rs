//! The engine thread: it owns the model, takes jobs, and reports events.
//!
//! One job runs at a time and the latest wins: a new job cancels the running one at its next
//! block. Results carry the id of their job, so that a stale one can be dropped.

pub mod jobs;
pub mod latest;
mod listing;
pub mod patterns;
mod thread;

pub use thread::Engine;

use crate::Error;
use crate::analysis::AnalysisOptions;
use crate::capture::Capture;
use crate::eviction::{EvictionCase, EvictionRun, SimulationPoint};
use crate::model::chat::ChatMessage;
use crate::model::source::{ModelRef, RepoListing};
use crate::model::tokenizer::{BosChoice, TokenSequence};
use crate::model::{LoadOptions, ModelInfo};
use crate::progress::Progress;
use std::sync::Arc;

/// Identifies a job; later jobs have larger ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct JobId(pub u64);

/// What to feed the model.
#[derive(Debug, Clone, PartialEq)]
pub enum PromptInput {
    /// Plain text.
    Text {
        /// The text.
        text: String,
        /// Whether specials typed in it (`<s>`, `<|im_start|>`) are read as such.
        parse_specials: bool,
    },
    /// Chat turns, rendered with the model's own template.
    Chat(Vec<ChatMessage>),
    /// Token ids, exactly as given.
    Ids(Vec<u32>),
}

/// Something for the engine to do.
#[derive(Debug, Clone)]
pub enum Job {
    /// Find, fetch and load a model.
    Open {
        /// Which one.
        model: ModelRef,
        /// Whether the network is off limits.
        offline: bool,
        /// Where and how its weights are kept.
        options: LoadOptions,
    },
    /// List the models of a repository of the Hub. Needs no model: it runs beside the other jobs, and
    /// only another one of its kind cancels it.
    List {
        /// `owner/name`, or with a colon and one of its models.
        repository: String,
        /// Branch, tag or commit; `main` when left out.
        revision: Option<String>,
        /// Whether the network is off limits.
        offline: bool,
    },
    /// Run the loaded model over a prompt and capture its attention.
    Analyze {
        /// The prompt.
        prompt: PromptInput,
        /// Whether to start with BOS (ignored for ids).
        bos: BosChoice,
        /// Memory that is given back when [`Event::TokensReady`] says that the run needs it.
        spare_bytes: u64,
    },
    /// Simulate caches over a captured text, one after the other.
    Evict {
        /// The full run, of the model that is open.
        capture: Arc<Capture>,
        /// What to simulate, in this order.
        cases: Vec<EvictionCase>,
        /// How `detected` pins are detected.
        detector: AnalysisOptions,
    },
}

/// What a run is predicted to need, before it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryPlan {
    /// Weights that are already in memory.
    pub weight_bytes: u64,
    /// What the capture will keep.
    pub capture_bytes: u64,
    /// Working memory at the peak, beside the two.
    pub scratch_bytes: u64,
    /// What the machine has available now.
    pub available_bytes: u64,
}

impl MemoryPlan {
    /// What the run needs beyond what is available.
    #[must_use]
    pub fn missing_bytes(&self) -> u64 {
        (self.capture_bytes + self.scratch_bytes).saturating_sub(self.available_bytes)
    }
}

/// What the engine reports.
#[derive(Debug)]
pub enum Event {
    /// The job took a step that the user should know of.
    Notice(String),
    /// How far it is.
    Progress(Progress),
    /// The models of a repository, for [`Job::List`].
    Listed(Box<RepoListing>),
    /// A model is loaded; it replaces the one before.
    ModelReady(Arc<ModelInfo>),
    /// The prompt's tokens are known and the prefill starts.
    TokensReady(Arc<TokenSequence>, MemoryPlan),
    /// The prompt is captured.
    CaptureReady(Arc<Capture>),
    /// Rows of a simulated cache's curve; `case` is the index in [`Job::Evict`]'s list.
    CurvePoint {
        /// Index of the case.
        case: usize,
        /// The rows.
        point: SimulationPoint,
    },
    /// A simulated cache is finished.
    RunDone {
        /// Index of the case.
        case: usize,
        /// The run.
        run: Arc<EvictionRun>,
    },
    /// The job ended with an error; a cancelled job reports [`Error::Cancelled`].
    Failed(Error),
}
