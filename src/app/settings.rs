//! What the window remembers between runs.

use super::layout::Layout;
use crate::model::source::ModelRef;
use std::path::{Path, PathBuf};

/// Recents that are kept.
const MAX_RECENTS: usize = 8;

/// What is kept in eframe's storage.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Models opened last, the latest first.
    pub recents: Vec<Recent>,
    /// Sessions saved or opened last, the latest first.
    pub recent_sessions: Vec<PathBuf>,
    /// Light, dark or as the system.
    pub theme: egui::ThemePreference,
    /// Panels and zoom.
    pub layout: Layout,
}

/// A model that was opened.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Recent {
    /// The default model.
    Default,
    /// An entry of the catalogue.
    Catalogue(String),
    /// A repository of the Hub, with its revision where one was asked for.
    Hub(String, Option<String>),
    /// A file or folder.
    Path(PathBuf),
}

impl Settings {
    /// The key under which eframe stores it.
    pub const KEY: &str = "sinkscope";

    /// Puts a model in front of the recents.
    pub fn remember(&mut self, model: &ModelRef) {
        let recent = Recent::from(model);
        self.recents.retain(|other| *other != recent);
        self.recents.insert(0, recent);
        self.recents.truncate(MAX_RECENTS);
    }
}

impl Settings {
    /// Puts a session in front of the recent ones.
    pub fn remember_session(&mut self, path: &Path) {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        self.recent_sessions.retain(|other| *other != path);
        self.recent_sessions.insert(0, path);
        self.recent_sessions.truncate(MAX_RECENTS);
    }
}

impl Recent {
    /// One line for a menu.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Default => "Default model".to_owned(),
            Self::Catalogue(id) => id.clone(),
            Self::Hub(repository, None) => repository.clone(),
            Self::Hub(repository, Some(revision)) => format!("{repository}@{revision}"),
            Self::Path(path) => path
                .file_name()
                .map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned()),
        }
    }

    /// Where it is, in full.
    #[must_use]
    pub fn place(&self) -> String {
        match self {
            Self::Default => "the default model".to_owned(),
            Self::Catalogue(id) => format!("catalogue entry {id}"),
            Self::Hub(..) => format!("Hub repository {}", self.label()),
            Self::Path(path) => path.display().to_string(),
        }
    }

    /// The model to open.
    #[must_use]
    pub fn model(&self) -> ModelRef {
        match self.clone() {
            Self::Default => ModelRef::Default,
            Self::Catalogue(id) => ModelRef::Catalogue(id),
            Self::Hub(repository, revision) => ModelRef::Hub { repository, revision },
            Self::Path(path) => ModelRef::Path(path),
        }
    }
}

impl From<&ModelRef> for Recent {
    fn from(model: &ModelRef) -> Self {
        match model.clone() {
            ModelRef::Default => Self::Default,
            ModelRef::Catalogue(id) => Self::Catalogue(id),
            ModelRef::Hub { repository, revision } => Self::Hub(repository, revision),
            ModelRef::Path(path) => Self::Path(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recents_are_unique_and_bounded() {
        let mut settings = Settings::default();
        for i in 0..20 {
            settings.remember(&ModelRef::Path(format!("m{i}.gguf").into()));
        }
        settings.remember(&ModelRef::Path("m19.gguf".into()));
        settings.remember(&ModelRef::Path("m15.gguf".into()));
        assert_eq!(settings.recents.len(), MAX_RECENTS);
        assert_eq!(settings.recents[0].label(), "m15.gguf");
        assert_eq!(settings.recents[1].label(), "m19.gguf");
        let mut unique = settings.recents.clone();
        unique.dedup();
        assert_eq!(unique, settings.recents);
    }

    #[test]
    fn a_recent_opens_what_was_opened() {
        for model in [
            ModelRef::Default,
            ModelRef::Catalogue("a".into()),
            ModelRef::Hub { repository: "o/n".into(), revision: Some("r".into()) },
            ModelRef::Path("x.gguf".into()),
        ] {
            assert_eq!(Recent::from(&model).model(), model);
        }
    }
}
