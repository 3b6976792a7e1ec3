//! The table of contents: version, precision, and the hash of every other member.

use super::Kept;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The manifest's own name in the archive.
pub(super) const MANIFEST: &str = "manifest.json";
/// What every manifest calls the format.
pub(super) const FORMAT: &str = "sinkscope session";

/// What is read of any version, before anything else.
#[derive(Debug, Deserialize)]
pub(super) struct Heading {
    pub(super) format: String,
    pub(super) version: u32,
}

/// The manifest of version 1.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) format: String,
    pub(super) version: u32,
    /// The program and its version, for people.
    pub(super) written_by: String,
    /// What of the capture is kept.
    pub(super) kept: Kept,
    /// Every other member by its name.
    pub(super) members: BTreeMap<String, Member>,
}

/// One member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Member {
    pub(super) bytes: u64,
    pub(super) sha256: String,
}

/// A digest as lower-case hex.
pub(crate) fn hex(digest: &[u8]) -> String {
    digest.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
}
