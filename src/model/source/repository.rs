//! Which files of a repository make up a model. Pure.

use super::SourceError;
use super::names::{is_gguf, is_plain_path};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// Files without which a safetensors folder is no model.
const REQUIRED: [&str; 2] = ["config.json", "tokenizer.json"];
/// Files that are taken along when they are there.
const OPTIONAL: [&str; 4] =
    ["tokenizer_config.json", "generation_config.json", "special_tokens_map.json", "chat_template.jinja"];
/// The usual name of unsharded weights.
pub(super) const SINGLE: &str = "model.safetensors";
/// The usual name of the list of shards.
pub(super) const INDEX: &str = "model.safetensors.index.json";

/// The files to fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Selection {
    /// Everything but the weights; the index of a sharded model is among them.
    pub(super) small: Vec<String>,
    pub(super) weights: Weights,
}

/// Where the weights are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Weights {
    /// One GGUF file, which brings its tokenizer along.
    Gguf(String),
    /// One safetensors file.
    Single(String),
    /// The shards that [`INDEX`] lists.
    Sharded,
}

/// Chooses from a repository's files; `wanted` is the GGUF file that was asked for by name.
pub(super) fn select(
    repository: &str,
    files: &[String],
    wanted: Option<&str>,
) -> Result<Selection, SourceError> {
    let has = |name: &str| files.iter().any(|file| file == name);
    let unsuitable = |why: String| SourceError::Unsuitable { repository: repository.to_owned(), why };
    if let Some(file) = wanted {
        return if has(file) {
            Ok(Selection { small: Vec::new(), weights: Weights::Gguf(file.to_owned()) })
        } else {
            Err(unsuitable(format!("it has no file {file}; it has {}", listed(&gguf_files(files)))))
        };
    }
    let Some(weights) = safetensors(files) else { return select_gguf(repository, files) };
    if let Some(missing) = REQUIRED.iter().find(|name| !has(name)) {
        return Err(unsuitable(format!("it has no {missing}")));
    }
    let index = (weights == Weights::Sharded).then_some(INDEX);
    let small = REQUIRED.into_iter().chain(OPTIONAL).chain(index).filter(|name| has(name)).map(str::to_owned);
    Ok(Selection { small: small.collect(), weights })
}

fn safetensors(files: &[String]) -> Option<Weights> {
    let has = |name: &str| files.iter().any(|file| file == name);
    if has(SINGLE) {
        return Some(Weights::Single(SINGLE.to_owned()));
    }
    if has(INDEX) {
        return Some(Weights::Sharded);
    }
    let mut at_root = files.iter().filter(|file| file.ends_with(".safetensors") && !file.contains('/'));
    match (at_root.next(), at_root.next()) {
        (Some(only), None) => Some(Weights::Single(only.clone())),
        _ => None,
    }
}

fn select_gguf(repository: &str, files: &[String]) -> Result<Selection, SourceError> {
    let repository = repository.to_owned();
    match gguf_files(files).as_slice() {
        [] => Err(SourceError::Unsuitable {
            repository,
            why: "it has neither safetensors weights nor a GGUF file".to_owned(),
        }),
        [only] => Ok(Selection { small: Vec::new(), weights: Weights::Gguf(only.clone()) }),
        several => Err(SourceError::ChooseFile { repository, choices: several.to_vec() }),
    }
}

fn gguf_files(files: &[String]) -> Vec<String> {
    files.iter().filter(|file| is_gguf(file)).cloned().collect()
}

fn listed(files: &[String]) -> String {
    if files.is_empty() { "no GGUF file".to_owned() } else { files.join(", ") }
}

/// The shards that an index names, in order, each once.
pub(super) fn shards(repository: &str, index_json: &[u8]) -> Result<Vec<String>, SourceError> {
    #[derive(Deserialize)]
    struct Index {
        weight_map: BTreeMap<String, String>,
    }
    let damaged = |why: String| SourceError::Damaged { name: format!("{repository}/{INDEX}"), why };
    let index: Index = serde_json::from_slice(index_json).map_err(|error| damaged(error.to_string()))?;
    let shards: BTreeSet<String> = index.weight_map.into_values().collect();
    if let Some(bad) = shards.iter().find(|shard| !is_plain_path(shard)) {
        return Err(damaged(format!("{bad:?} is no file name")));
    }
    if shards.is_empty() {
        return Err(damaged("it names no shard".to_owned()));
    }
    Ok(shards.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(files: &[&str]) -> Vec<String> {
        files.iter().map(|&file| file.to_owned()).collect()
    }

    #[test]
    fn a_folder_model_takes_what_it_needs_and_nothing_else() {
        let files = names(&[
            ".gitattributes",
            "README.md",
            "chat_template.jinja",
            "config.json",
            "consolidated.safetensors",
            "model.safetensors",
            "onnx/model.onnx",
            "pytorch_model.bin",
            "tokenizer.json",
            "tokenizer_config.json",
            "vocab.json",
        ]);
        let selection = select("o/n", &files, None).unwrap();
        assert_eq!(
            selection.small,
            names(&["config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"])
        );
        assert_eq!(selection.weights, Weights::Single("model.safetensors".into()));
    }

    #[test]
    fn shards_come_from_the_index() {
        let files = names(&["config.json", "tokenizer.json", INDEX, "model-00001-of-00002.safetensors"]);
        let selection = select("o/n", &files, None).unwrap();
        assert_eq!(selection.weights, Weights::Sharded);
        assert!(selection.small.contains(&INDEX.to_owned()));
        let index = br#"{"metadata":{},"weight_map":{"a":"m-2.safetensors","b":"m-1.safetensors","c":"m-2.safetensors"}}"#;
        assert_eq!(shards("o/n", index).unwrap(), names(&["m-1.safetensors", "m-2.safetensors"]));
        for bad in [&br#"{"weight_map":{"a":"../../etc/x"}}"#[..], br#"{"weight_map":{}}"#, b"<html>"] {
            assert!(matches!(shards("o/n", bad), Err(SourceError::Damaged { .. })));
        }
    }

    #[test]
    fn gguf_repositories_give_their_only_file_or_ask() {
        let one = select("o/n", &names(&["README.md", "n.Q8_0.gguf"]), None).unwrap();
        assert_eq!(one.weights, Weights::Gguf("n.Q8_0.gguf".into()));
        let two = names(&["config.json", "n.Q4_0.gguf", "n.Q8_0.gguf"]);
        let Err(SourceError::ChooseFile { choices, .. }) = select("o/n", &two, None) else { panic!() };
        assert_eq!(choices, names(&["n.Q4_0.gguf", "n.Q8_0.gguf"]));
        let chosen = select("o/n", &two, Some("n.Q8_0.gguf")).unwrap();
        assert_eq!(chosen.weights, Weights::Gguf("n.Q8_0.gguf".into()));
        let error = select("o/n", &two, Some("n.gguf")).unwrap_err().to_string();
        assert_eq!(error, "o/n can't be used: it has no file n.gguf; it has n.Q4_0.gguf, n.Q8_0.gguf");
    }

    #[test]
    fn what_can_not_be_loaded_is_said_before_anything_is_fetched() {
        for (files, message) in [
            (&["pytorch_model.bin", "config.json"][..], "it has neither safetensors weights nor a GGUF file"),
            (&["model.safetensors", "tokenizer.json"], "it has no config.json"),
            (&["model.safetensors", "config.json"], "it has no tokenizer.json"),
            (&["a.safetensors", "b.safetensors"], "it has neither safetensors weights nor a GGUF file"),
        ] {
            let error = select("o/n", &names(files), None).unwrap_err().to_string();
            assert_eq!(error, format!("o/n can't be used: {message}"));
        }
    }
}
