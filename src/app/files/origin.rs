//! Where a run came from: what a command needs to do it again.

use crate::engine::PromptInput;
use crate::model::LoadOptions;
use crate::model::source::ModelRef;
use crate::model::tokenizer::BosChoice;

/// The model and the prompt of a run, as they were asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    /// The model as `--model` takes it; `None` where it is not known.
    pub model: Option<String>,
    /// Where and how its weights were to be kept.
    pub load: LoadOptions,
    /// Whether the network was off limits.
    pub offline: bool,
    /// The prompt.
    pub prompt: PromptInput,
    /// A file that holds it, where it is too long for a command line.
    pub file: Option<std::path::PathBuf>,
    /// Whether it starts with BOS.
    pub bos: BosChoice,
    /// Whether the user wrote the prompt here, so that it is nowhere else.
    pub is_own: bool,
}

/// A model as `--model` takes it. Paths are made absolute: a command may be run from anywhere.
#[must_use]
pub fn model_argument(model: &ModelRef) -> String {
    match model {
        ModelRef::Default => "default".to_owned(),
        ModelRef::Catalogue(id) => id.clone(),
        ModelRef::Hub { repository, revision: None } => repository.clone(),
        ModelRef::Hub { repository, revision: Some(revision) } => match repository.split_once(':') {
            Some((name, choice)) => format!("{name}@{revision}:{choice}"),
            None => format!("{repository}@{revision}"),
        },
        ModelRef::Path(path) => {
            std::path::absolute(path).unwrap_or_else(|_| path.clone()).to_string_lossy().into_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_named_as_it_is_parsed() {
        let hub = |repository: &str, revision: Option<&str>| ModelRef::Hub {
            repository: repository.to_owned(),
            revision: revision.map(str::to_owned),
        };
        for model in [
            ModelRef::Default,
            ModelRef::Catalogue("smollm2-135m-q4_1".to_owned()),
            hub("owner/name", None),
            hub("owner/name:Q4_K_M", None),
            hub("owner/name", Some("v1")),
            hub("owner/name:x.gguf", Some("abc")),
            ModelRef::Path("/a/model.gguf".into()),
        ] {
            assert_eq!(ModelRef::parse(&model_argument(&model)), model);
        }
    }
}
