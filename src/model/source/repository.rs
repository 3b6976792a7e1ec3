//! Which files of a repository make up a model. Pure.

use super::SourceError;
use super::gguf_files::{GgufModel, gguf_models};
use super::names::{Pick, is_plain_path};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// The file without which a safetensors folder is no model.
const CONFIG: &str = "config.json";
/// The files of a tokenizer, the best first: older models have no `tokenizer.json`.
const TOKENIZERS: [&[&str]; 3] = [
    &["tokenizer.json"],
    &["vocab.json", "merges.txt", "added_tokens.json"],
    &["tokenizer.model", "added_tokens.json"],
];
/// What a tokenizer may lack.
const ADDED_TOKENS: &str = "added_tokens.json";
/// Files that are taken along when they are there.
const OPTIONAL: [&str; 5] = [
    "tokenizer_config.json",
    "generation_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
    "chat_template.json",
];
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
    /// One GGUF file, or the parts that it was split into; it brings its tokenizer along.
    Gguf(Vec<String>),
    /// One safetensors file.
    Single(String),
    /// The shards that [`INDEX`] lists.
    Sharded,
}

/// Chooses from a repository's files.
pub(super) fn select(repository: &str, files: &[String], pick: &Pick) -> Result<Selection, SourceError> {
    let models = gguf_models(files);
    let unsuitable = |why: String| SourceError::Unsuitable { repository: repository.to_owned(), why };
    match pick {
        Pick::File(file) => {
            let of_model = models.iter().find(|model| model.has(file));
            // Files that are no model are the loader's to refuse, when they are asked for by name.
            let alone = files.contains(file).then(|| gguf(vec![file.clone()]));
            match of_model {
                Some(model) => whole_gguf(repository, model),
                None => alone
                    .ok_or_else(|| unsuitable(format!("it has no file {file}; it has {}", listed(&models)))),
            }
        }
        Pick::Quantisation(wanted) => {
            let of_kind: Vec<_> =
                models.iter().filter(|model| model.quantisation.as_ref() == Some(wanted)).collect();
            match of_kind.as_slice() {
                [only] => whole_gguf(repository, only),
                [] => Err(unsuitable(format!(
                    "it has no GGUF file of type {wanted}; it has {}",
                    listed(&models)
                ))),
                several => Err(choose(repository, several.iter().copied(), &models)),
            }
        }
        Pick::Safetensors => select_safetensors(repository, files)
            .unwrap_or_else(|| Err(unsuitable("it has no safetensors weights".to_owned()))),
        Pick::Usual => select_safetensors(repository, files).unwrap_or_else(|| match models.as_slice() {
            [] => Err(unsuitable("it has neither safetensors weights nor a GGUF file".to_owned())),
            [only] => whole_gguf(repository, only),
            several => Err(choose(repository, several.iter(), several)),
        }),
    }
}

/// The safetensors model and what belongs to it; nothing where the repository has no such weights.
pub(super) fn select_safetensors(
    repository: &str,
    files: &[String],
) -> Option<Result<Selection, SourceError>> {
    let has = |name: &str| files.iter().any(|file| file == name);
    let weights = safetensors(files)?;
    let missing = |what: &str| {
        let why = format!("it has no {what}");
        Some(Err(SourceError::Unsuitable { repository: repository.to_owned(), why }))
    };
    if !has(CONFIG) {
        return missing(CONFIG);
    }
    let Some(tokenizer) = tokenizer_files(has) else {
        return missing("tokenizer.json (nor vocab.json with merges.txt, nor tokenizer.model)");
    };
    let index = (weights == Weights::Sharded).then_some(INDEX);
    let small = std::iter::once(CONFIG).chain(tokenizer.iter().copied()).chain(OPTIONAL).chain(index);
    Some(Ok(Selection { small: small.filter(|name| has(name)).map(str::to_owned).collect(), weights }))
}

fn whole_gguf(repository: &str, model: &GgufModel) -> Result<Selection, SourceError> {
    if model.whole {
        return Ok(gguf(model.files.clone()));
    }
    let why = format!("parts of {} are missing", model.files[0]);
    Err(SourceError::Unsuitable { repository: repository.to_owned(), why })
}

fn gguf(files: Vec<String>) -> Selection {
    Selection { small: Vec::new(), weights: Weights::Gguf(files) }
}

fn choose<'a>(
    repository: &str,
    among: impl Iterator<Item = &'a GgufModel>,
    all: &[GgufModel],
) -> SourceError {
    let choices = among.map(|model| model.selector(all)).collect();
    SourceError::ChooseFile { repository: repository.to_owned(), choices }
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

/// Whether a file is one of those that come with the weights of a folder.
pub(super) fn is_small(file: &str) -> bool {
    file == CONFIG || TOKENIZERS.iter().any(|files| files.contains(&file)) || OPTIONAL.contains(&file)
}

/// The best tokenizer that is there, by its files.
pub(super) fn tokenizer_files(has: impl Fn(&str) -> bool) -> Option<&'static [&'static str]> {
    TOKENIZERS.into_iter().find(|files| files.iter().all(|file| *file == ADDED_TOKENS || has(file)))
}

/// Whether a file is a shard by its name; other weights beside them (`consolidated.safetensors`) are copies.
pub(super) fn is_shard(file: &str) -> bool {
    file.starts_with("model")
        && file.contains("-of-")
        && file.ends_with(".safetensors")
        && !file.contains('/')
}

fn listed(models: &[GgufModel]) -> String {
    let selectors: Vec<_> = models.iter().map(|model| model.selector(models)).collect();
    if selectors.is_empty() { "no GGUF file".to_owned() } else { selectors.join(", ") }
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
        let selection = select("o/n", &files, &Pick::Usual).unwrap();
        assert_eq!(
            selection.small,
            names(&["config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"])
        );
        assert_eq!(selection.weights, Weights::Single("model.safetensors".into()));
    }

    #[test]
    fn older_models_bring_the_tokenizer_that_they_have() {
        let small = |files: &[&str]| select("o/n", &names(files), &Pick::Usual).unwrap().small;
        let gpt2 = ["config.json", "vocab.json", "merges.txt", "model.safetensors"];
        assert_eq!(small(&gpt2), names(&["config.json", "vocab.json", "merges.txt"]));
        let llama = ["config.json", "tokenizer.model", "added_tokens.json", "model.safetensors"];
        assert_eq!(small(&llama), names(&["config.json", "tokenizer.model", "added_tokens.json"]));
    }

    #[test]
    fn shards_come_from_the_index() {
        let files = names(&["config.json", "tokenizer.json", INDEX, "model-00001-of-00002.safetensors"]);
        let selection = select("o/n", &files, &Pick::Usual).unwrap();
        assert_eq!(selection.weights, Weights::Sharded);
        assert!(selection.small.contains(&INDEX.to_owned()));
        let index = br#"{"metadata":{},"weight_map":{"a":"m-2.safetensors","b":"m-1.safetensors","c":"m-2.safetensors"}}"#;
        assert_eq!(shards("o/n", index).unwrap(), names(&["m-1.safetensors", "m-2.safetensors"]));
        for bad in [&br#"{"weight_map":{"a":"../../etc/x"}}"#[..], br#"{"weight_map":{}}"#, b"<html>"] {
            assert!(matches!(shards("o/n", bad), Err(SourceError::Damaged { .. })));
        }
    }

    #[test]
    fn gguf_repositories_give_their_only_model_or_ask() {
        let gguf = |files: &[&str]| Weights::Gguf(names(files));
        let one = select("o/n", &names(&["README.md", "n.Q8_0.gguf", "mmproj-F16.gguf"]), &Pick::Usual);
        assert_eq!(one.unwrap().weights, gguf(&["n.Q8_0.gguf"]));
        let several = names(&[
            "config.json",
            "n.Q4_0.gguf",
            "n.Q8_0-00001-of-00002.gguf",
            "n.Q8_0-00002-of-00002.gguf",
            "n.F16-00001-of-00002.gguf",
        ]);
        let pick = |pick: Pick| select("o/n", &several, &pick).map(|selection| selection.weights);
        let message = |picked: Pick| pick(picked).unwrap_err().to_string();
        let Err(SourceError::ChooseFile { choices, .. }) = pick(Pick::Usual) else { panic!() };
        assert_eq!(choices, names(&["F16", "Q4_0", "Q8_0"]));
        let q8 = ["n.Q8_0-00001-of-00002.gguf", "n.Q8_0-00002-of-00002.gguf"];
        assert_eq!(pick(Pick::File(q8[1].into())).unwrap(), gguf(&q8), "any part means the whole");
        assert_eq!(pick(Pick::Quantisation("Q8_0".into())).unwrap(), gguf(&q8));
        assert_eq!(pick(Pick::Quantisation("Q4_0".into())).unwrap(), gguf(&["n.Q4_0.gguf"]));
        let error = message(Pick::File("n.gguf".into()));
        assert_eq!(error, "o/n can't be used: it has no file n.gguf; it has F16, Q4_0, Q8_0");
        let error = message(Pick::Quantisation("Q2_K".into()));
        assert_eq!(error, "o/n can't be used: it has no GGUF file of type Q2_K; it has F16, Q4_0, Q8_0");
        let error = message(Pick::Quantisation("F16".into()));
        assert_eq!(error, "o/n can't be used: parts of n.F16-00001-of-00002.gguf are missing");
        let error = message(Pick::Safetensors);
        assert_eq!(error, "o/n can't be used: it has no safetensors weights");
    }

    #[test]
    fn where_there_is_both_safetensors_are_usual() {
        let files = names(&["config.json", "tokenizer.json", "model.safetensors", "n.Q8_0.gguf"]);
        for pick in [Pick::Usual, Pick::Safetensors] {
            let weights = select("o/n", &files, &pick).unwrap().weights;
            assert_eq!(weights, Weights::Single("model.safetensors".into()));
        }
        let weights = select("o/n", &files, &Pick::Quantisation("Q8_0".into())).unwrap().weights;
        assert_eq!(weights, Weights::Gguf(names(&["n.Q8_0.gguf"])));
    }

    #[test]
    fn what_can_not_be_loaded_is_said_before_anything_is_fetched() {
        for (files, message) in [
            (&["pytorch_model.bin", "config.json"][..], "it has neither safetensors weights nor a GGUF file"),
            (&["model.safetensors", "tokenizer.json"], "it has no config.json"),
            (
                &["model.safetensors", "config.json", "vocab.json"],
                "it has no tokenizer.json (nor vocab.json with merges.txt, nor tokenizer.model)",
            ),
            (&["a.safetensors", "b.safetensors"], "it has neither safetensors weights nor a GGUF file"),
        ] {
            let error = select("o/n", &names(files), &Pick::Usual).unwrap_err().to_string();
            assert_eq!(error, format!("o/n can't be used: {message}"));
        }
    }
}
