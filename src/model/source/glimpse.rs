//! What can be known of a model without its weights: its configuration and tokenizer, or the start of its GGUF file.

use super::hub_ask::Asking;
use super::hub_fetch::HubFetch;
use super::listing::{ModelChoice, ModelFormat, RepoListing};
use super::locator::{LONG_PATIENCE, checked};
use super::names::HubName;
use super::repository::is_small;
use super::{Locator, ModelRef, SourceError};
use crate::model::gguf::GgufHeader;
use crate::progress::{CancelToken, Progress, ProgressUnit, Reporter};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// The headers of the largest vocabularies end before this.
const LONGEST_HEADER_BYTES: u64 = 64 << 20;
/// How much of a file is read first; later reads are as large as all before them.
const FIRST_READ_BYTES: u64 = 2 << 20;
/// How long one read may take.
const READ_PATIENCE: Duration = Duration::from_mins(2);

/// A model as far as it is known without its weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Glimpse {
    /// Its short name.
    pub name: String,
    /// Where it comes from, as in [`super::LocatedModel::source`].
    pub source: String,
    /// What there is to read.
    pub content: GlimpseContent,
    /// The repository's files that make it up, where they are not on this machine.
    pub choice: Option<ModelChoice>,
    /// Number of weights of each type, as far as the Hub has counted them.
    pub parameters: BTreeMap<String, u64>,
}

/// What there is to read of a model.
#[derive(Debug, Clone, PartialEq)]
pub enum GlimpseContent {
    /// All of it: a GGUF file, or a folder.
    Whole(PathBuf),
    /// A folder with configuration and tokenizer.
    Folder(PathBuf),
    /// The header of a GGUF file.
    Header(Box<GgufHeader>),
}

impl Locator {
    /// Looks at a model. Of one that is not on this machine only its configuration and tokenizer are fetched
    /// into the cache, or the header of its GGUF file is read.
    ///
    /// # Errors
    /// It is neither here nor on the Hub, several models are meant, or the Hub can't be asked.
    pub fn glimpse(
        &self,
        model: &ModelRef,
        reporter: &dyn Reporter,
        cancel: &CancelToken,
    ) -> Result<Glimpse, SourceError> {
        if let Some(found) = self.cached(model) {
            return Ok(Glimpse {
                name: found.name,
                source: found.source,
                content: GlimpseContent::Whole(found.path),
                choice: None,
                parameters: BTreeMap::new(),
            });
        }
        let (repository, revision) = match model {
            ModelRef::Hub { repository, revision } => (repository.clone(), revision.clone()),
            ModelRef::Default => self.hub_of(self.default_id())?,
            ModelRef::Catalogue(id) => self.hub_of(id)?,
            // A path is found or says why not.
            ModelRef::Path(_) => {
                let located = self.locate(model, reporter, cancel)?;
                return Err(SourceError::NoSuchPath { path: located.path });
            }
        };
        let listing = self.list(&repository, revision.as_deref(), reporter, cancel)?;
        if let Some(why) = listing.from_cache {
            return Err(SourceError::NotWhole { name: repository, why });
        }
        let choice = meant(&listing, &repository)?;
        let (name, branch) = checked(&repository, revision.as_deref())?;
        let content = match choice.format {
            ModelFormat::Safetensors => {
                let small = choice.files.iter().map(|file| file.path.clone()).filter(|path| is_small(path));
                let fetch = HubFetch {
                    hub: &self.hub,
                    cache: &self.hub_cache,
                    name: &name,
                    revision: branch,
                    patience: LONG_PATIENCE,
                    reporter,
                    cancel,
                };
                GlimpseContent::Folder(fetch.run_for(&listing.commit, &small.collect::<Vec<_>>())?)
            }
            ModelFormat::Gguf => {
                let header = self.header(&name, &listing.commit, &choice, reporter, cancel)?;
                GlimpseContent::Header(Box::new(header))
            }
        };
        Ok(Glimpse {
            name: choice.name.clone(),
            source: format!("hub:{}@{}", listing.repository, listing.commit),
            content,
            choice: Some(choice),
            parameters: listing.parameters,
        })
    }

    fn hub_of(&self, id: &str) -> Result<(String, Option<String>), SourceError> {
        let entry = self.entry(id)?;
        let hub = entry.hub.as_ref().ok_or_else(|| SourceError::NotHere { name: id.to_owned() })?;
        Ok((hub.repository.clone(), hub.revision.clone()))
    }

    /// Reads as much of a GGUF file as its header takes.
    fn header(
        &self,
        name: &HubName,
        commit: &str,
        choice: &ModelChoice,
        reporter: &dyn Reporter,
        cancel: &CancelToken,
    ) -> Result<GgufHeader, SourceError> {
        let file = &choice.files[0];
        let end_bytes = file.size_bytes.unwrap_or(u64::MAX).min(LONGEST_HEADER_BYTES);
        let asking = Asking { patience: READ_PATIENCE, reporter, cancel };
        let mut start: Vec<u8> = Vec::new();
        loop {
            let from = start.len() as u64;
            let to = (2 * from).max(FIRST_READ_BYTES).min(end_bytes);
            let stage = format!("Reading the header of {}", file.path);
            reporter.progress(Progress { stage, done: from, total: Some(to), unit: ProgressUnit::Bytes });
            self.hub.read(name, commit, &file.path, from..to, &mut start, asking)?;
            let grown = start.len() as u64;
            match GgufHeader::parse(&start) {
                Ok(header) => return Ok(header),
                // What is wrong with a part may be that it is one.
                Err(_) if start.starts_with(b"GGUF") && grown > from && grown < end_bytes => {}
                Err(why) => return Err(SourceError::Damaged { name: file.path.clone(), why }),
            }
        }
    }
}

/// The one model that is meant.
fn meant(listing: &RepoListing, asked: &str) -> Result<ModelChoice, SourceError> {
    if let Some(index) = listing.meant {
        return Ok(listing.choices[index].clone());
    }
    let repository = listing.repository.clone();
    let which = |choice: &ModelChoice| choice.name.rsplit(':').next().unwrap_or_default().to_owned();
    let choices: Vec<String> = listing.choices.iter().map(which).collect();
    let has_colon = asked.contains(':');
    Err(match &listing.unsuitable {
        Some(why) => SourceError::Unsuitable { repository, why: why.clone() },
        None if has_colon => {
            let why = format!("it has no such model; it has {}", choices.join(", "));
            SourceError::Unsuitable { repository: asked.to_owned(), why }
        }
        None => SourceError::ChooseFile { repository, choices },
    })
}
