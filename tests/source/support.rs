//! Temporary caches, and a reporter that keeps what it is told.

use crate::hub_server::{HubServer, Reply, Request, etag};
use sinkscope::model::source::{LocatedModel, Locator, ModelRef, SourceError};
use sinkscope::progress::{CancelToken, Progress, Reporter};
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;
use tempfile::TempDir;

/// Nobody listens on this port.
pub(crate) const NO_HUB: &str = "http://127.0.0.1:9";

/// Weights that are large enough for several blocks and like no other file's.
pub(crate) fn weights() -> Vec<u8> {
    (0..1_000_000_u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
}

pub(crate) fn folder_model(weights: &[u8]) -> Vec<(&'static str, &[u8])> {
    vec![
        ("README.md", b"# A model"),
        ("config.json", br#"{"model_type":"llama"}"#),
        ("generation_config.json", b"{}"),
        ("model.safetensors", weights),
        ("pytorch_model.bin", b"not wanted"),
        ("tokenizer.json", br#"{"model":{}}"#),
        ("tokenizer_config.json", b"{}"),
    ]
}

/// Keeps what it is told, and cancels at a byte count.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) notices: Mutex<Vec<String>>,
    pub(crate) progress: Mutex<Vec<Progress>>,
    pub(crate) cancel_at: Option<(u64, CancelToken)>,
    pub(crate) cancelled: Mutex<Option<Instant>>,
}

impl Log {
    pub(crate) fn notices(&self) -> String {
        self.notices.lock().unwrap().join("\n")
    }
}

impl Reporter for Log {
    fn progress(&self, progress: Progress) {
        if let Some((bytes, cancel)) = &self.cancel_at
            && progress.done >= *bytes
            && !cancel.is_cancelled()
        {
            cancel.cancel();
            *self.cancelled.lock().unwrap() = Some(Instant::now());
        }
        self.progress.lock().unwrap().push(progress);
    }

    fn notice(&self, line: &str) {
        self.notices.lock().unwrap().push(line.to_owned());
    }
}

/// Caches in a temporary folder.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn locator(&self, server: &HubServer) -> Locator {
        self.locator_at(&server.endpoint)
    }

    pub(crate) fn locator_at(&self, endpoint: &str) -> Locator {
        let python = self.folder.path().join("no-python-here");
        Locator::new(self.path("home"), self.path("hub")).with_endpoint(endpoint).with_python(python)
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    pub(crate) fn repository(&self) -> PathBuf {
        self.path("hub/models--o--n")
    }

    pub(crate) fn partial(&self, file: &str, content: &[u8]) -> PathBuf {
        self.repository().join("blobs").join(format!("{}.incomplete", etag(file, content)))
    }

    /// Nothing may look like a model after a failed fetch.
    pub(crate) fn assert_no_model(&self) {
        let locator = Locator::new(self.path("home"), self.path("hub"));
        assert_eq!(locator.cached(&hub("o/n")), None);
        let blobs = fs::read_dir(self.repository().join("blobs")).into_iter().flatten().flatten();
        let large: Vec<_> = blobs.map(|blob| blob.file_name()).filter(|name| name.len() == 64).collect();
        assert!(large.is_empty(), "{large:?}");
    }
}

pub(crate) fn hub(repository: &str) -> ModelRef {
    ModelRef::Hub { repository: repository.into(), revision: None }
}

pub(crate) fn locate(locator: &Locator, model: &ModelRef) -> Result<LocatedModel, SourceError> {
    locator.locate(model, &Log::default(), &CancelToken::new())
}

pub(crate) fn is_storage(request: &Request) -> bool {
    request.path.starts_with("/storage/")
}

/// A fault: the first transfer of the weights breaks off after a million bytes, all later ones at once.
pub(crate) fn breaks_off_for_good(request: &Request, mut reply: Reply) -> Reply {
    if is_storage(request) {
        reply.break_after = Some(if request.earlier == 0 { 1_000_000 } else { 0 });
    }
    reply
}
