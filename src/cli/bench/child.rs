//! `sinkscope analyze` in a process of its own: its peak memory is nobody else's.

use serde_json::Value;
use std::ffi::OsStr;
use std::process::{Command, Stdio};

/// The JSON report of a run with these arguments; none where the process failed.
pub(super) fn analyze(arguments: &[&OsStr]) -> Option<Value> {
    let folder = tempfile::tempdir().ok()?;
    let report = folder.path().join("out.json");
    let status = Command::new(std::env::current_exe().ok()?)
        .args(["analyze", "--offline"])
        .args(arguments)
        .arg("--json")
        .arg(&report)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !status.ok()?.success() {
        return None;
    }
    serde_json::from_slice(&std::fs::read(&report).ok()?).ok()
}
