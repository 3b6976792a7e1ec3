//! Looking at a repository without downloading its weights.

use super::answers::TreeFile;
use super::disk::free_bytes;
use super::hub_ask::Asking;
use super::hub_cache::MAIN;
use super::listing::{RepoListing, Shelf};
use super::locator::{LONG_PATIENCE, checked};
use super::names::HubName;
use super::{Locator, SourceError};
use crate::progress::{CancelToken, Reporter};
use std::collections::BTreeMap;

/// What the Hub, or the cache in its place, says of a repository.
struct Seen {
    commit: String,
    files: Vec<TreeFile>,
    gated: bool,
    parameters: BTreeMap<String, u64>,
    from_cache: Option<String>,
}

impl Locator {
    /// Lists the models of a repository with their sizes; downloads nothing.
    ///
    /// `repository` is `owner/name`; what stands behind a colon says which of the models is meant. Where the
    /// Hub can't be asked, what the cache has is listed, and the listing says so.
    ///
    /// # Errors
    /// The name is none, the Hub refuses or has no such repository or revision, or it can't be asked and the
    /// cache has nothing of it either.
    pub fn list(
        &self,
        repository: &str,
        revision: Option<&str>,
        reporter: &dyn Reporter,
        cancel: &CancelToken,
    ) -> Result<RepoListing, SourceError> {
        let revision = revision.filter(|revision| *revision != MAIN);
        let (name, branch) = checked(repository, revision)?;
        let seen = match self.ask(&name, branch, reporter, cancel) {
            Ok(seen) => seen,
            Err(error) if is_no_answer(&error) => self.seen_in_cache(&name, branch, &error).ok_or(error)?,
            Err(error) => return Err(error),
        };
        let cache = &self.hub_cache;
        let shelf = Shelf { name: &name, revision, commit: &seen.commit, files: &seen.files, cache };
        let (choices, meant, unsuitable) = shelf.choices();
        Ok(RepoListing {
            repository: name.repository(),
            revision: revision.map(str::to_owned),
            page: format!("{}/{}", self.hub.endpoint, name.repository()),
            gated: seen.gated,
            with_token: self.hub.token.is_some(),
            choices,
            meant,
            unsuitable,
            from_cache: seen.from_cache,
            parameters: seen.parameters,
            free_bytes: free_bytes(self.hub_cache()),
            cache: self.hub_cache().to_owned(),
            commit: seen.commit,
        })
    }

    fn ask(
        &self,
        name: &HubName,
        revision: &str,
        reporter: &dyn Reporter,
        cancel: &CancelToken,
    ) -> Result<Seen, SourceError> {
        cancel.check()?;
        if self.offline {
            return Err(SourceError::Offline { name: name.repository() });
        }
        if self.hub_offline {
            return Err(SourceError::HubOffline { name: name.repository() });
        }
        let asking = Asking { patience: LONG_PATIENCE, reporter, cancel };
        let listing = self.hub.list(name, revision, asking)?;
        let files = self.hub.tree(name, &listing.commit, asking)?;
        let (commit, gated, parameters) = (listing.commit, listing.gated, listing.parameters);
        Ok(Seen { commit, files, gated, parameters, from_cache: None })
    }

    fn seen_in_cache(&self, name: &HubName, revision: &str, why: &SourceError) -> Option<Seen> {
        let commit = self.hub_cache.commit(name, revision)?;
        let file = |path: String| {
            let size = std::fs::metadata(self.hub_cache.snapshot_file(name, &commit, &path)).ok()?.len();
            Some(TreeFile { path, size_bytes: Some(size), blob: None })
        };
        let files: Vec<_> =
            self.hub_cache.snapshot_files(name, &commit).into_iter().filter_map(file).collect();
        let from_cache = Some(why.to_string());
        let parameters = BTreeMap::new();
        (!files.is_empty()).then_some(Seen { commit, files, gated: false, parameters, from_cache })
    }
}

/// Whether the Hub could not be asked at all, as against one that refused.
fn is_no_answer(error: &SourceError) -> bool {
    matches!(
        error,
        SourceError::Offline { .. } | SourceError::HubOffline { .. } | SourceError::Unreachable { .. }
    )
}
