//! What a repository of the Hub offers: its models with sizes, before anything is downloaded.

use super::answers::TreeFile;
use super::gguf_files::{GgufModel, gguf_models};
use super::hub_cache::HubCache;
use super::names::{HubName, Pick, SAFETENSORS};
use super::repository::{Weights, is_shard, select_safetensors};
use super::{ModelRef, SourceError};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The models of a repository at a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoListing {
    /// `owner/name`.
    pub repository: String,
    /// The revision that was asked for; `None` for `main`.
    pub revision: Option<String>,
    /// The commit that it stands for.
    pub commit: String,
    /// Address of its page, where access is asked for.
    pub page: String,
    /// Whether its owner must let people in.
    pub gated: bool,
    /// Whether a token was shown to the Hub.
    pub with_token: bool,
    /// What can be opened: the safetensors model, then the GGUF models, the smallest first.
    pub choices: Vec<ModelChoice>,
    /// The choice that the name itself means, where it means one.
    pub meant: Option<usize>,
    /// Why there is no choice, where there is none.
    pub unsuitable: Option<String>,
    /// Why this is what the cache has and not what the Hub has, where that is so.
    pub from_cache: Option<String>,
    /// Number of weights of each type in the safetensors files, as far as the Hub has counted them.
    pub parameters: BTreeMap<String, u64>,
    /// Free space where the files would go, in bytes, where the system tells.
    pub free_bytes: Option<u64>,
    /// Where the files would go.
    pub cache: PathBuf,
}

/// How a model's weights are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelFormat {
    /// A folder with `config.json` and safetensors files.
    Safetensors,
    /// GGUF.
    Gguf,
}

/// One model of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoice {
    /// What opens it.
    pub model: ModelRef,
    /// The same as it is typed: `owner/name[@REVISION][:WHICH]`.
    pub name: String,
    /// How its weights are stored.
    pub format: ModelFormat,
    /// The quantisation of a GGUF model, where its name tells.
    pub quantisation: Option<String>,
    /// The files that make it up.
    pub files: Vec<RepoFile>,
}

/// A file of a repository.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct RepoFile {
    /// Its path in the repository.
    pub path: String,
    /// Its size in bytes, where the Hub tells.
    pub size_bytes: Option<u64>,
    /// How many of them are in the cache already; all of them, or those of a transfer that broke off.
    pub cached_bytes: u64,
    /// Whether the cache has it whole.
    pub is_cached: bool,
}

impl ModelChoice {
    /// Bytes of all its files.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.files.iter().filter_map(|file| file.size_bytes).fold(0, u64::saturating_add)
    }

    /// Bytes of its files that the cache has.
    #[must_use]
    pub fn cached_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.cached_bytes).fold(0, u64::saturating_add)
    }

    /// Bytes that opening it would download.
    #[must_use]
    pub fn missing_bytes(&self) -> u64 {
        let missing = |file: &RepoFile| file.size_bytes.unwrap_or(0).saturating_sub(file.cached_bytes);
        self.files.iter().filter(|file| !file.is_cached).map(missing).fold(0, u64::saturating_add)
    }

    /// Whether nothing needs to be downloaded.
    #[must_use]
    pub fn is_cached(&self) -> bool {
        self.files.iter().all(|file| file.is_cached)
    }

    /// The name of its (first) weights file, without folders.
    #[must_use]
    pub fn weights_file(&self) -> &str {
        let ending = match self.format {
            ModelFormat::Safetensors => ".safetensors",
            ModelFormat::Gguf => ".gguf",
        };
        let is_weights = |file: &&RepoFile| file.path.to_ascii_lowercase().ends_with(ending);
        let path = self.files.iter().find(is_weights).map_or("", |file| file.path.as_str());
        path.rsplit('/').next().unwrap_or(path)
    }
}

/// What the choices are made from.
pub(super) struct Shelf<'a> {
    pub(super) name: &'a HubName,
    /// As it was asked for; `None` for `main`.
    pub(super) revision: Option<&'a str>,
    pub(super) commit: &'a str,
    pub(super) files: &'a [TreeFile],
    pub(super) cache: &'a HubCache,
}

impl Shelf<'_> {
    /// The models, and which of them the name means; or why there is none.
    pub(super) fn choices(&self) -> (Vec<ModelChoice>, Option<usize>, Option<String>) {
        let paths: Vec<String> = self.files.iter().map(|file| file.path.clone()).collect();
        let mut models: Vec<GgufModel> = gguf_models(&paths);
        models.retain(|model| model.whole);
        let repository = self.name.repository();
        let (folder, refusal) = match select_safetensors(&repository, &paths) {
            Some(Ok(selection)) => {
                (Some(self.safetensors(selection.small, &selection.weights, &models)), None)
            }
            Some(Err(SourceError::Unsuitable { why, .. })) => (None, Some(why)),
            Some(Err(error)) => (None, Some(error.to_string())),
            None => (None, None),
        };
        let mut gguf: Vec<ModelChoice> = models.iter().map(|model| self.gguf(model, &models)).collect();
        gguf.sort_by_key(ModelChoice::total_bytes);
        let choices: Vec<ModelChoice> = folder.into_iter().chain(gguf).collect();
        let meant = self.meant(&choices);
        let why = choices.is_empty().then(|| {
            refusal.unwrap_or_else(|| "it has neither safetensors weights nor a GGUF file".to_owned())
        });
        (choices, meant, why)
    }

    fn meant(&self, choices: &[ModelChoice]) -> Option<usize> {
        let of = |wanted: &dyn Fn(&ModelChoice) -> bool| {
            let mut matching = (0..choices.len()).filter(|&index| wanted(&choices[index]));
            matching.next().filter(|_| matching.next().is_none())
        };
        let is_folder = |choice: &ModelChoice| choice.format == ModelFormat::Safetensors;
        match &self.name.pick {
            Pick::Usual => of(&is_folder).or_else(|| of(&|_| true)),
            Pick::Safetensors => of(&is_folder),
            Pick::File(file) => of(&|choice| choice.files.iter().any(|own| own.path == *file)),
            Pick::Quantisation(label) => of(&|choice| choice.quantisation.as_ref() == Some(label)),
        }
    }

    fn safetensors(&self, small: Vec<String>, weights: &Weights, gguf: &[GgufModel]) -> ModelChoice {
        let weights: Vec<String> = match weights {
            Weights::Single(file) => vec![file.clone()],
            Weights::Gguf(files) => files.clone(),
            // The index has the last word when they are fetched; their names tell as much.
            Weights::Sharded => {
                self.files.iter().map(|file| file.path.clone()).filter(|path| is_shard(path)).collect()
            }
        };
        // The short name means it where there is nothing else, or nothing of this name in the cache.
        let which = (!gguf.is_empty()).then_some(SAFETENSORS);
        self.choice(ModelFormat::Safetensors, None, which, weights.into_iter().chain(small))
    }

    fn gguf(&self, model: &GgufModel, all: &[GgufModel]) -> ModelChoice {
        let selector = model.selector(all);
        self.choice(
            ModelFormat::Gguf,
            model.quantisation.clone(),
            Some(&selector),
            model.files.iter().cloned(),
        )
    }

    fn choice(
        &self,
        format: ModelFormat,
        quantisation: Option<String>,
        which: Option<&str>,
        paths: impl Iterator<Item = String>,
    ) -> ModelChoice {
        let which = which.map(|which| format!(":{which}")).unwrap_or_default();
        let repository = self.name.repository();
        let revision = self.revision.map(|revision| format!("@{revision}")).unwrap_or_default();
        ModelChoice {
            name: format!("{repository}{revision}{which}"),
            model: ModelRef::Hub {
                repository: format!("{repository}{which}"),
                revision: self.revision.map(str::to_owned),
            },
            format,
            quantisation,
            files: paths.map(|path| self.file(path)).collect(),
        }
    }

    fn file(&self, path: String) -> RepoFile {
        let listed = self.files.iter().find(|file| file.path == path);
        let size_bytes = listed.and_then(|file| file.size_bytes);
        let blob = listed.and_then(|file| file.blob.as_deref());
        let (cached_bytes, is_cached) = self.cache.bytes_of(self.name, self.commit, &path, blob, size_bytes);
        RepoFile { path, size_bytes, cached_bytes, is_cached }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    fn file(path: &str, size_bytes: u64) -> TreeFile {
        TreeFile { path: path.into(), size_bytes: Some(size_bytes), blob: Some(format!("b{size_bytes}")) }
    }

    fn choices(name: &str, files: &[TreeFile]) -> (Vec<ModelChoice>, Option<usize>, Option<String>) {
        let cache = HubCache { root: "/no/such/cache".into() };
        let name = HubName::parse(name).unwrap();
        Shelf { name: &name, revision: Some("v1"), commit: COMMIT, files, cache: &cache }.choices()
    }

    #[test]
    fn both_formats_are_offered_and_the_name_means_one() {
        let files = [
            file("config.json", 1),
            file("tokenizer.json", 2),
            file("model.safetensors", 100),
            file("README.md", 7),
            file("n-Q8_0.gguf", 50),
            file("n-Q4_0-00001-of-00002.gguf", 20),
            file("n-Q4_0-00002-of-00002.gguf", 10),
            file("mmproj-F16.gguf", 5),
            file("n-F16-00001-of-00002.gguf", 5),
        ];
        let (offered, meant, why) = choices("o/n", &files);
        let said: Vec<_> =
            offered.iter().map(|choice| (choice.name.as_str(), choice.total_bytes())).collect();
        assert_eq!(said, [("o/n@v1:safetensors", 103), ("o/n@v1:Q4_0", 30), ("o/n@v1:Q8_0", 50)]);
        assert_eq!((meant, why), (Some(0), None));
        for choice in &offered {
            assert_eq!(ModelRef::parse(&choice.name), choice.model, "what is shown can be typed");
        }
        assert_eq!(offered[1].weights_file(), "n-Q4_0-00001-of-00002.gguf");
        assert_eq!(choices("o/n:q8_0", &files).1, Some(2));
        assert_eq!(choices("o/n:n-Q4_0-00002-of-00002.gguf", &files).1, Some(1));
        assert_eq!(choices("o/n:Q2_K", &files).1, None);
        assert_eq!(choices("o/n", &files[4..]).1, None, "several GGUF models: the user's choice");
    }

    #[test]
    fn without_a_model_it_says_what_is_missing() {
        let (offered, _, why) = choices("o/n", &[file("model.safetensors", 1), file("config.json", 1)]);
        assert!(offered.is_empty());
        assert_eq!(
            why.as_deref(),
            Some("it has no tokenizer.json (nor vocab.json with merges.txt, nor tokenizer.model)")
        );
        let (_, _, why) = choices("o/n", &[file("pytorch_model.bin", 1)]);
        let wanted = "it has neither safetensors weights nor a GGUF file";
        assert_eq!(why.as_deref(), Some(wanted));
    }
}
