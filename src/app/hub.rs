//! Opening a model from the Hub: what was typed, what the repository offers, what was chosen.

use super::command::Command;
use super::state::AppState;
use crate::Error;
use crate::engine::{Event, Job, JobId};
use crate::model::source::{ModelChoice, ModelRef, RepoListing};

/// The dialog in which a model of the Hub is found, chosen and downloaded.
#[derive(Debug, Default)]
pub struct HubPicker {
    /// Whether it is on show.
    pub is_open: bool,
    /// Whether the field for the name is to get the keyboard.
    pub wants_focus: bool,
    /// The name or address typed so far.
    pub name: String,
    /// Branch, tag or commit typed so far; empty for `main`.
    pub revision: String,
    /// The running question to the Hub.
    pub listing_job: Option<JobId>,
    /// What the Hub answered.
    pub listing: Option<RepoListing>,
    /// Index of the choice among the listing's.
    pub chosen: Option<usize>,
    /// What went wrong last, one line.
    pub failure: Option<String>,
    /// What the search says while it takes its time.
    pub notice: Option<String>,
    /// The job that downloads and opens the choice.
    pub opening: Option<JobId>,
}

/// What can be done in the dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HubCommand {
    /// Show or hide it.
    Show(bool),
    /// The field for the name has the keyboard now.
    Focused,
    /// The name or address typed so far.
    SetName(String),
    /// The revision typed so far.
    SetRevision(String),
    /// Ask the Hub what the repository has.
    List,
    /// Choose one of its models.
    Choose(usize),
    /// Download what is missing of the choice, and open it.
    Open,
}

impl HubPicker {
    /// The model that is chosen.
    #[must_use]
    pub fn choice(&self) -> Option<&ModelChoice> {
        self.listing.as_ref()?.choices.get(self.chosen?)
    }

    /// How many bytes the choice lacks on the disk, where it does not fit.
    #[must_use]
    pub fn missing_space_bytes(&self) -> Option<u64> {
        let free_bytes = self.listing.as_ref()?.free_bytes?;
        self.choice()?.missing_bytes().checked_sub(free_bytes).filter(|&bytes| bytes > 0)
    }

    /// Whether the choice can be opened.
    #[must_use]
    pub fn can_open(&self) -> bool {
        let fits = self.missing_space_bytes().is_none();
        let can_be_had = |choice: &ModelChoice| {
            choice.is_cached() || self.listing.as_ref().is_some_and(|listing| listing.from_cache.is_none())
        };
        self.opening.is_none() && fits && self.choice().is_some_and(can_be_had)
    }

    /// What was typed, as a repository with its revision.
    fn wanted(&self) -> Option<(String, Option<String>)> {
        let ModelRef::Hub { repository, revision } = ModelRef::parse_hub(self.name.trim())? else {
            return None;
        };
        let typed = self.revision.trim();
        Some((repository, if typed.is_empty() { revision } else { Some(typed.to_owned()) }))
    }
}

impl AppState {
    pub(super) fn hub_command(&mut self, command: HubCommand) {
        match command {
            HubCommand::Show(show) => {
                self.hub.is_open = show;
                self.hub.wants_focus = show;
                if show && self.hub.listing.is_some() && self.hub.opening.is_none() {
                    // What was downloaded since is to be seen.
                    self.list_repository();
                }
            }
            HubCommand::Focused => self.hub.wants_focus = false,
            HubCommand::SetName(name) => self.hub.name = name,
            HubCommand::SetRevision(revision) => self.hub.revision = revision,
            HubCommand::List => {
                self.hub.is_open = true;
                self.hub.listing = None;
                self.hub.chosen = None;
                self.list_repository();
            }
            HubCommand::Choose(index) => self.hub.chosen = Some(index),
            HubCommand::Open => {
                if self.hub.can_open()
                    && let Some(model) = self.hub.choice().map(|choice| choice.model.clone())
                {
                    self.hub.failure = None;
                    self.handle(Command::OpenModel(model));
                    self.hub.opening = self.job.as_ref().map(|job| job.id);
                }
            }
        }
    }

    fn list_repository(&mut self) {
        self.hub.failure = None;
        self.hub.notice = None;
        let Some((repository, revision)) = self.hub.wanted() else {
            self.hub.listing_job = None;
            self.hub.failure =
                Some("Type owner/name, or paste the address of a model's page on the Hub".to_owned());
            return;
        };
        let job = Job::List { repository, revision, offline: self.offline };
        self.hub.listing_job = Some(self.engine.submit(job));
    }

    /// Takes in what the engine says about the running question.
    pub(super) fn hub_said(&mut self, event: Event) {
        match event {
            Event::Notice(line) => self.hub.notice = Some(line),
            Event::Listed(listing) => {
                self.hub.listing_job = None;
                self.hub.notice = None;
                let cached = || listing.choices.iter().position(ModelChoice::is_cached);
                // A choice that was made stays made when the list is only asked for again.
                let kept = self
                    .hub
                    .choice()
                    .and_then(|old| listing.choices.iter().position(|choice| choice.name == old.name));
                self.hub.chosen = kept.or(listing.meant).or_else(cached);
                self.hub.listing = Some(*listing);
            }
            Event::Failed(why) => {
                self.hub.listing_job = None;
                self.hub.notice = None;
                if !why.is_cancelled() {
                    self.hub.failure = Some(why.to_string());
                }
            }
            _ => {}
        }
    }

    /// The model that was chosen is open.
    pub(super) fn hub_opened(&mut self, id: JobId) {
        if self.hub.opening == Some(id) {
            self.hub.opening = None;
            self.hub.is_open = false;
        }
    }

    /// The choice could not be opened; says whether the dialog shows why.
    pub(super) fn hub_failed(&mut self, id: JobId, why: &Error) -> bool {
        if self.hub.opening != Some(id) {
            return false;
        }
        self.hub.opening = None;
        if !self.hub.is_open {
            return false;
        }
        if why.is_cancelled() {
            // What has arrived stays, and counts.
            self.list_repository();
        } else {
            self.hub.failure = Some(why.to_string());
        }
        true
    }
}
