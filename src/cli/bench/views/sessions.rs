//! What saving and opening a session costs.

use crate::Result;
use crate::capture::Capture;
use crate::engine::PromptInput;
use crate::export::ExportError;
use crate::model::tokenizer::BosChoice;
use crate::session::{Kept, Session, read_session, write_session};
use serde::Serialize;
use std::sync::Arc;
use std::time::Instant;

/// One way to keep a run.
#[derive(Debug, Serialize)]
pub(super) struct SessionCost {
    kept: Kept,
    file_bytes: u64,
    /// The disk's part included.
    write_ms: f64,
    read_ms: f64,
}

/// Saves and opens a run in every way.
///
/// # Errors
/// The folder for temporary files can't be written to.
pub(super) fn measure(capture: &Arc<Capture>) -> Result<Vec<SessionCost>> {
    let folder = tempfile::tempdir()
        .map_err(|error| ExportError::Write { why: error.to_string(), path: std::env::temp_dir() })?;
    let path = folder.path().join("bench.sinkscope");
    let session = Session {
        capture: Arc::clone(capture),
        prompt: PromptInput::Ids(capture.tokens.ids()),
        bos: BosChoice::Auto,
        model: None,
        runs: Vec::new(),
        view: serde_json::Value::Null,
    };
    let cost = |kept: Kept| {
        let began = Instant::now();
        write_session(&session, kept, &path)?;
        let write_ms = began.elapsed().as_secs_f64() * 1e3;
        let began = Instant::now();
        read_session(&path)?;
        let read_ms = began.elapsed().as_secs_f64() * 1e3;
        let file_bytes = std::fs::metadata(&path).map_or(0, |file| file.len());
        Ok(SessionCost { kept, file_bytes, write_ms, read_ms })
    };
    Kept::ALL.into_iter().map(cost).collect()
}
