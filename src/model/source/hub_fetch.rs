//! Fetching a model from the Hub into the Hugging Face cache.

use super::answers::Metadata;
use super::disk::require_room;
use super::hub::Hub;
use super::hub_ask::Asking;
use super::hub_cache::{BlobLock, HubCache};
use super::meter::Meter;
use super::names::HubName;
use super::partial::Partial;
use super::repository::{INDEX, Weights, select, shards};
use super::transfer::Transfer;
use super::waiting::{POLL, pause};
use super::{LocatedModel, SourceError};
use crate::progress::{CancelToken, Reporter};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One fetch: which repository, from where, to where, for whom.
pub(super) struct HubFetch<'a> {
    pub(super) hub: &'a Hub,
    pub(super) cache: &'a HubCache,
    pub(super) name: &'a HubName,
    pub(super) revision: &'a str,
    /// How long the Hub may take for its first answer.
    pub(super) patience: Duration,
    pub(super) reporter: &'a dyn Reporter,
    pub(super) cancel: &'a CancelToken,
}

impl HubFetch<'_> {
    /// Fetches what the cache lacks of the model and returns it.
    pub(super) fn run(&self) -> Result<LocatedModel, SourceError> {
        let repository = self.name.repository();
        let listing = self.hub.list(self.name, self.revision, self.asking())?;
        let selection = select(&repository, &listing.files, &self.name.pick)?;
        let commit = &listing.commit;
        self.fetch(commit, &selection.small)?;
        let weights = match selection.weights {
            Weights::Gguf(files) => files,
            Weights::Single(file) => vec![file],
            Weights::Sharded => {
                let index = self.cache.snapshot_file(self.name, commit, INDEX);
                let text = fs::read(&index).map_err(|error| SourceError::cache(&error, &index))?;
                shards(&repository, &text)?
            }
        };
        self.fetch(commit, &weights)?;
        self.cache.write_ref(self.name, self.revision, commit)?;
        self.cache.find(self.name, self.revision).ok_or_else(|| SourceError::Cache {
            why: "the files that were just fetched are not there".to_owned(),
            path: self.cache.snapshot_file(self.name, commit, ""),
        })
    }

    /// Fetches some small files of a commit; returns the folder in which they are.
    pub(super) fn run_for(&self, commit: &str, files: &[String]) -> Result<PathBuf, SourceError> {
        self.fetch(commit, files)?;
        self.cache.write_ref(self.name, self.revision, commit)?;
        Ok(self.cache.snapshot_file(self.name, commit, ""))
    }

    fn asking(&self) -> Asking<'_> {
        Asking { patience: self.patience, reporter: self.reporter, cancel: self.cancel }
    }

    /// Fetches those of the files that are not in the snapshot yet.
    fn fetch(&self, commit: &str, files: &[String]) -> Result<(), SourceError> {
        let lacking = files.iter().filter(|file| !self.cache.snapshot_file(self.name, commit, file).exists());
        let described: Vec<(&str, Metadata)> = lacking
            .map(|file| Ok((file.as_str(), self.hub.metadata(self.name, commit, file, self.asking())?)))
            .collect::<Result<_, SourceError>>()?;
        require_room(self.missing_bytes(&described), &self.cache.root)?;
        let sizes = || described.iter().map(|(_, metadata)| metadata.expected.size_bytes);
        let total_bytes = sizes().try_fold(0_u64, |total, size| Some(total.saturating_add(size?)));
        let mut meter = Meter::new(self.reporter, "Downloading", total_bytes);
        for (file, metadata) in &described {
            self.fetch_blob(commit, file, metadata, &mut meter)?;
            self.cache.link(self.name, commit, file, &metadata.blob)?;
        }
        Ok(())
    }

    fn missing_bytes(&self, files: &[(&str, Metadata)]) -> u64 {
        let missing = |metadata: &Metadata| {
            let size = metadata.expected.size_bytes.unwrap_or(0);
            let blob = self.cache.blob(self.name, &metadata.blob);
            let partial = self.cache.partial(self.name, &metadata.blob);
            size.saturating_sub(length(&blob).or_else(|| length(&partial)).unwrap_or(0))
        };
        files.iter().map(|(_, metadata)| missing(metadata)).fold(0, u64::saturating_add)
    }

    fn fetch_blob(
        &self,
        commit: &str,
        file: &str,
        metadata: &Metadata,
        meter: &mut Meter,
    ) -> Result<(), SourceError> {
        let blob = self.cache.blob(self.name, &metadata.blob);
        let _lock = self.wait_for_lock(file, &metadata.blob)?;
        // Another commit, or another process while we waited, may have brought it.
        let there =
            length(&blob).filter(|&bytes| metadata.expected.size_bytes.is_none_or(|size| size == bytes));
        if let Some(bytes) = there {
            meter.finish(file, bytes);
            return Ok(());
        }
        let mut partial = Partial::open(&self.cache.partial(self.name, &metadata.blob), self.cancel)?;
        let transfer = Transfer {
            hub: self.hub,
            name: self.name,
            file,
            url: self.hub.file_url(self.name, commit, file)?,
            expected: &metadata.expected,
            reporter: self.reporter,
            cancel: self.cancel,
        };
        transfer.run(&mut partial, meter)?;
        meter.finish(file, partial.length_bytes());
        refuse_broken_json(file, partial.path())?;
        partial.publish(&blob)
    }

    fn wait_for_lock(&self, file: &str, blob: &str) -> Result<BlobLock, SourceError> {
        let lock = self.cache.lock(self.name, blob)?;
        if !lock.try_take() {
            self.reporter.notice(&format!("Another program is downloading {file}; waiting for it"));
            while !lock.try_take() {
                pause(POLL, self.cancel)?;
            }
        }
        Ok(lock)
    }
}

/// Small files have no hash to check, but most of them are JSON, which an error page is not.
fn refuse_broken_json(file: &str, received: &Path) -> Result<(), SourceError> {
    if Path::new(file).extension().is_none_or(|extension| extension != "json") {
        return Ok(());
    }
    let failed = |error: std::io::Error| SourceError::cache(&error, received);
    let text = fs::read(received).map_err(failed)?;
    serde_json::from_slice::<serde::de::IgnoredAny>(&text).map(drop).or_else(|error| {
        fs::remove_file(received).map_err(failed)?;
        Err(SourceError::Damaged { name: file.to_owned(), why: format!("it is no JSON ({error})") })
    })
}

fn length(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|metadata| metadata.len())
}
