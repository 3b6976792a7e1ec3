//! Names as people type them, and which of them are safe to turn into a URL or a path.

use super::gguf_files::is_quantisation;
use super::{Catalogue, ModelRef, SourceError};
use std::path::{Component, Path, PathBuf};

impl ModelRef {
    /// What a command line or a text field means.
    ///
    /// In this order: nothing or `default`; an id of the catalogue; a file or folder that exists;
    /// `owner/name` on the Hub, with `@REVISION` and one of `:Q4_K_M`, `:FILE.gguf` and `:safetensors` where it
    /// takes more (or the address of its page, or of a file's); else a path.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        if text.is_empty() || text == "default" {
            return Self::Default;
        }
        if Catalogue::built_in().get(text).is_some() {
            return Self::Catalogue(text.to_owned());
        }
        if Path::new(text).exists() {
            return Self::Path(PathBuf::from(text));
        }
        Self::parse_hub(text).unwrap_or_else(|| Self::Path(PathBuf::from(text)))
    }

    /// What a field for names on the Hub means: as [`ModelRef::parse`], but neither an id nor a path.
    #[must_use]
    pub fn parse_hub(text: &str) -> Option<Self> {
        parse_hub(text.trim())
    }
}

fn parse_hub(text: &str) -> Option<ModelRef> {
    if let Some(path) = path_of_page(text) {
        return parse_page(path);
    }
    let (before_file, file) = match text.split_once(':') {
        Some((before, file)) => (before, Some(file)),
        None => (text, None),
    };
    let (repository, revision) = match before_file.split_once('@') {
        Some((repository, revision)) => (repository, Some(revision.to_owned())),
        None => (before_file, None),
    };
    // `models/tiny.gguf` is a path that does not exist rather than a repository of that name.
    if repository.to_ascii_lowercase().ends_with(".gguf") || !revision.as_deref().is_none_or(is_revision) {
        return None;
    }
    let repository = file.map_or(repository.to_owned(), |file| format!("{repository}:{file}"));
    HubName::parse(&repository).ok()?;
    Some(ModelRef::Hub { repository, revision })
}

/// What follows the host in an address of the Hub.
fn path_of_page(text: &str) -> Option<&str> {
    let text = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).unwrap_or(text);
    let hosts = ["huggingface.co/", "www.huggingface.co/", "hf.co/"];
    let path = hosts.iter().find_map(|host| text.strip_prefix(host))?;
    path.split(['?', '#']).next()
}

/// `owner/name`, `owner/name/tree/REVISION`, `owner/name/blob/REVISION/FILE` and the same with `resolve`.
fn parse_page(path: &str) -> Option<ModelRef> {
    let mut parts = path.trim_end_matches('/').splitn(5, '/');
    let (owner, name) = (parts.next()?, parts.next()?);
    let (kind, revision, file) = (parts.next(), parts.next(), parts.next());
    let file = match kind {
        None | Some("tree") => None,
        Some("blob" | "resolve") => file,
        Some(_) => return None,
    };
    // The model's page may name any of its files; only a GGUF file is a model of its own.
    let file = file.filter(|file| is_gguf(file)).map(|file| format!(":{file}")).unwrap_or_default();
    let repository = format!("{owner}/{name}{file}");
    let revision = revision.filter(|revision| *revision != "main").map(|text| text.replace("%2F", "/"));
    if !revision.as_deref().is_none_or(is_revision) {
        return None;
    }
    HubName::parse(&repository).ok()?;
    Some(ModelRef::Hub { repository, revision })
}

/// Which of a repository's models is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pick {
    /// The safetensors weights, else the only GGUF model.
    Usual,
    /// The safetensors weights, whatever else there is.
    Safetensors,
    /// A GGUF file (any part of a split one).
    File(String),
    /// The only GGUF model that is quantised like this; upper case.
    Quantisation(String),
}

/// What stands behind the colon for [`Pick::Safetensors`].
pub(super) const SAFETENSORS: &str = "safetensors";

/// A checked name on the Hub: no part of it can leave the cache folder or change a URL's meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HubName {
    pub(super) owner: String,
    pub(super) name: String,
    pub(super) pick: Pick,
}

impl HubName {
    /// Reads `owner/name`, with `:Q4_K_M`, `:FILE.gguf` or `:safetensors` behind it or not.
    pub(super) fn parse(text: &str) -> Result<Self, SourceError> {
        let bad = || SourceError::BadHubName { name: text.to_owned() };
        let (repository, pick) = match text.split_once(':') {
            Some((repository, pick)) => (repository, Pick::parse(pick).ok_or_else(bad)?),
            None => (text, Pick::Usual),
        };
        let (owner, name) = repository.split_once('/').ok_or_else(bad)?;
        if !is_name(owner) || !is_name(name) {
            return Err(bad());
        }
        Ok(Self { owner: owner.to_owned(), name: name.to_owned(), pick })
    }

    /// `owner/name`.
    pub(super) fn repository(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }
}

impl Pick {
    fn parse(text: &str) -> Option<Self> {
        if text == SAFETENSORS {
            Some(Self::Safetensors)
        } else if is_gguf(text) && is_plain_path(text) {
            Some(Self::File(text.to_owned()))
        } else {
            is_quantisation(text).then(|| Self::Quantisation(text.to_ascii_uppercase()))
        }
    }
}

fn is_name(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !text.is_empty()
        && text.len() <= 96
        && text.chars().all(allowed)
        && !text.starts_with('.')
        && !text.contains("--")
}

/// Whether a branch, tag or commit is one that may name a file below `refs`.
pub(super) fn is_revision(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '+');
    text.chars().all(allowed) && is_plain_path(text)
}

/// Whether this is a relative path that stays below the folder it is joined to.
pub(super) fn is_plain_path(text: &str) -> bool {
    !text.is_empty()
        && !text.contains(['\\', '\0', ':'])
        && Path::new(text).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Whether a file is a GGUF file by its name.
pub(super) fn is_gguf(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gguf"))
}

/// The file's name without folders and without `.gguf`.
pub(super) fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hub(repository: &str, revision: Option<&str>) -> ModelRef {
        ModelRef::Hub { repository: repository.into(), revision: revision.map(Into::into) }
    }

    #[test]
    fn what_people_type_is_understood() {
        for (text, meant) in [
            ("", ModelRef::Default),
            (" default ", ModelRef::Default),
            ("smollm2-135m-q4_1", ModelRef::Catalogue("smollm2-135m-q4_1".into())),
            ("Qwen/Qwen2-0.5B", hub("Qwen/Qwen2-0.5B", None)),
            ("Qwen/Qwen2-0.5B@refs/pr/1", hub("Qwen/Qwen2-0.5B", Some("refs/pr/1"))),
            ("o/n@v1:n.Q8_0.gguf", hub("o/n:n.Q8_0.gguf", Some("v1"))),
            ("o/n:q4_k_m", hub("o/n:q4_k_m", None)),
            ("o/n@v1:safetensors", hub("o/n:safetensors", Some("v1"))),
            ("https://huggingface.co/o/n/", hub("o/n", None)),
            ("hf.co/o/n?library=x", hub("o/n", None)),
            ("https://huggingface.co/o/n/tree/main", hub("o/n", None)),
            ("https://huggingface.co/o/n/tree/v1", hub("o/n", Some("v1"))),
            ("https://huggingface.co/o/n/blob/main/config.json", hub("o/n", None)),
            (
                "https://huggingface.co/o/n/resolve/main/q/n.Q8_0.gguf?download=true",
                hub("o/n:q/n.Q8_0.gguf", None),
            ),
            (
                "https://huggingface.co/datasets/o/n",
                ModelRef::Path("https://huggingface.co/datasets/o/n".into()),
            ),
            ("src", ModelRef::Path("src".into())),
            ("models/tiny.gguf", ModelRef::Path("models/tiny.gguf".into())),
            ("/no/such/file", ModelRef::Path("/no/such/file".into())),
            ("a/b/c", ModelRef::Path("a/b/c".into())),
            ("../n", ModelRef::Path("../n".into())),
        ] {
            assert_eq!(ModelRef::parse(text), meant, "{text:?}");
        }
    }

    #[test]
    fn names_that_could_leave_the_cache_are_refused() {
        for bad in [
            "n",
            "o/",
            "/n",
            "../n",
            "o/..",
            "o/n/x",
            "o/n:../x.gguf",
            "o/n:/x.gguf",
            "o/n:x.bin",
            "o/n:",
            "o/n:Q4 K",
            "o/n?x",
            "o--p/n",
        ] {
            assert!(HubName::parse(bad).is_err(), "{bad}");
        }
        for bad in ["", "../main", "/main", "a\\b", "a b", "a?b"] {
            assert!(!is_revision(bad), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_parsing_panic_and_hub_names_stay_below_the_cache(text in "[ -~]{0,40}") {
            if let ModelRef::Hub { repository, revision } = ModelRef::parse(&text) {
                let name = HubName::parse(&repository).unwrap();
                prop_assert!(is_plain_path(&name.repository()));
                prop_assert!(revision.as_deref().is_none_or(is_revision));
            }
        }
    }
}
