//! Which GGUF files of a repository belong together, and how they are quantised: from their names. Pure.

use super::names::is_gguf;
use std::collections::BTreeMap;

/// One GGUF model: a file, or the files that it was split into, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GgufModel {
    /// The quantisation in the file's name, for example `Q4_K_M`.
    pub(super) quantisation: Option<String>,
    pub(super) files: Vec<String>,
    /// Whether all parts are there.
    pub(super) whole: bool,
}

/// The GGUF models among a repository's files, by name. Projectors of images (`mmproj`) and importance
/// matrices, which also end in `.gguf`, are no models.
pub(super) fn gguf_models<'a>(files: impl IntoIterator<Item = &'a String>) -> Vec<GgufModel> {
    let mut groups: BTreeMap<String, (usize, Vec<String>)> = BTreeMap::new();
    for file in files.into_iter().filter(|file| is_gguf(file) && !is_companion(file)) {
        let (whole, parts) = match split_part(file) {
            Some((stem, count)) => (stem.to_owned(), count),
            None => (file.clone(), 1),
        };
        groups.entry(whole).or_insert((parts, Vec::new())).1.push(file.clone());
    }
    let model = |(parts, mut files): (usize, Vec<String>)| {
        files.sort();
        GgufModel { quantisation: quantisation(&files[0]), whole: files.len() == parts, files }
    };
    groups.into_values().map(model).collect()
}

impl GgufModel {
    /// What to write behind the colon of `owner/name:…`: the quantisation where no other model of the
    /// repository has it, else the (first) file.
    pub(super) fn selector(&self, all: &[Self]) -> String {
        let alone = |label: &&String| {
            all.iter().filter(|other| other.quantisation.as_ref() == Some(*label)).count() == 1
        };
        self.quantisation.as_ref().filter(alone).unwrap_or(&self.files[0]).clone()
    }

    /// Whether a file is one of this model's.
    pub(super) fn has(&self, file: &str) -> bool {
        self.files.iter().any(|own| own == file)
    }
}

/// A file's name without the `-00001-of-00003.gguf` of a split, and the number of parts.
pub(super) fn split_part(file: &str) -> Option<(&str, usize)> {
    let stem = file.get(..file.len().checked_sub(".gguf".len())?)?;
    let (rest, count) = stem.rsplit_once("-of-")?;
    let (whole, index) = rest.rsplit_once('-')?;
    let number = |text: &str| {
        let digits = text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<usize>().ok()).flatten()
    };
    let (index, count) = (number(index)?, number(count)?);
    (index >= 1 && index <= count).then_some((whole, count))
}

/// The quantisation that a path names, in upper case: in the file's name, else in its folder's.
pub(super) fn quantisation(path: &str) -> Option<String> {
    let stem = split_part(path).map_or_else(|| path.rsplit_once('.').map_or(path, |(stem, _)| stem), |p| p.0);
    stem.rsplit('/').find_map(in_name)
}

fn in_name(name: &str) -> Option<String> {
    let words: Vec<&str> = name.split(['-', '.']).collect();
    let at = words.iter().rposition(|word| is_quantisation_word(word))?;
    let word = words[at].to_ascii_uppercase();
    let word = match word.as_str() {
        "FP16" => "F16".to_owned(),
        "FP32" => "F32".to_owned(),
        _ => word,
    };
    // Unsloth's dynamic quantisations are others than those of the same name without the prefix.
    let dynamic = at > 0 && words[at - 1].eq_ignore_ascii_case("UD");
    Some(if dynamic { format!("UD-{word}") } else { word })
}

/// Whether this is how somebody would write a quantisation, for example `Q4_K_M` or `ud-q2_k_xl`.
pub(super) fn is_quantisation(text: &str) -> bool {
    let bare = text.get(..3).filter(|start| start.eq_ignore_ascii_case("UD-")).map_or(text, |_| &text[3..]);
    is_quantisation_word(bare)
}

fn is_quantisation_word(word: &str) -> bool {
    let word = word.to_ascii_uppercase();
    if ["BF16", "F16", "FP16", "F32", "FP32", "F64", "MXFP4", "MXFP4_MOE", "NVFP4"].contains(&word.as_str()) {
        return true;
    }
    let bare = word.strip_prefix(['I', 'T']).unwrap_or(&word);
    let Some(rest) = bare.strip_prefix('Q') else { return false };
    let mut rest = rest.chars();
    rest.next().is_some_and(|digit| digit.is_ascii_digit())
        && matches!(rest.next(), None | Some('_'))
        && rest.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_companion(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file).to_ascii_lowercase();
    name.contains("mmproj") || name.starts_with("imatrix")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantisations_are_read_as_people_write_them() {
        for (file, label) in [
            ("SmolLM2-135M-Instruct.Q4_1.gguf", Some("Q4_1")),
            ("gemma-2-2b-it-Q4_K_M.gguf", Some("Q4_K_M")),
            ("qwen2.5-0.5b-instruct-q4_k_m.gguf", Some("Q4_K_M")),
            ("Phi-3-mini-4k-instruct-q4.gguf", Some("Q4")),
            ("Phi-3-mini-4k-instruct-fp16.gguf", Some("F16")),
            ("Model-IQ4_XS.gguf", Some("IQ4_XS")),
            ("Model-TQ1_0.gguf", Some("TQ1_0")),
            ("Model.i1-Q6_K.gguf", Some("Q6_K")),
            ("Qwen3-8B-UD-Q4_K_XL.gguf", Some("UD-Q4_K_XL")),
            ("gpt-oss-20b-mxfp4.gguf", Some("MXFP4")),
            ("BF16/Model-BF16-00001-of-00002.gguf", Some("BF16")),
            ("Q8_0/model.gguf", Some("Q8_0")),
            ("Qwen2-Q.gguf", None),
            ("model.gguf", None),
            ("Q-Former.gguf", None),
        ] {
            assert_eq!(quantisation(file).as_deref(), label, "{file}");
        }
        for (text, is) in [("Q4_K_M", true), ("ud-q2_k_xl", true), ("safetensors", false), ("Q4K", false)] {
            assert_eq!(is_quantisation(text), is, "{text}");
        }
    }

    #[test]
    fn parts_are_one_model_and_companions_none() {
        let files: Vec<String> = [
            "mmproj-F16.gguf",
            "imatrix_unsloth.gguf",
            "n-Q8_0-00002-of-00002.gguf",
            "n-Q8_0-00001-of-00002.gguf",
            "n-Q4_0.gguf",
            "README.md",
            "m-F16-00001-of-00003.gguf",
            "a-Q4_K_S.gguf",
            "b-Q4_K_S.gguf",
        ]
        .map(str::to_owned)
        .to_vec();
        let models = gguf_models(&files);
        let said: Vec<_> =
            models.iter().map(|model| (model.selector(&models), model.files.len(), model.whole)).collect();
        let wanted = [
            ("a-Q4_K_S.gguf", 1, true),
            ("b-Q4_K_S.gguf", 1, true),
            ("F16", 1, false),
            ("Q4_0", 1, true),
            ("Q8_0", 2, true),
        ];
        let wanted = wanted.map(|(selector, files, whole)| (selector.to_owned(), files, whole));
        assert_eq!(said, wanted);
        assert_eq!(models[4].files[0], "n-Q8_0-00001-of-00002.gguf");
    }

    #[test]
    fn names_that_only_look_like_parts_are_whole() {
        for file in ["a-00003-of-00002.gguf", "a-1-of-2.gguf", "a-of-00002.gguf", ".gguf", "ü", ""] {
            assert_eq!(split_part(file), None, "{file}");
        }
        assert_eq!(split_part("d/a-00002-of-00002.gguf"), Some(("d/a", 2)));
    }
}
