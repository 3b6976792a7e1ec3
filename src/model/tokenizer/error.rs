//! Why a prompt, a chat or a tokenizer can't be used.

use std::path::PathBuf;

/// Why a prompt could not be turned into tokens; one line each, the path last.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// Nothing to run.
    #[error("The prompt is empty: type some text")]
    Empty,
    /// A chat without turns.
    #[error("The chat has no message: add at least one turn")]
    EmptyChat,
    /// BOS was asked of a model that has none.
    #[error("This model has no BOS token: choose BOS auto or no")]
    NoBos,
    /// A chat was given to a model without a chat template.
    #[error("This model has no chat template: use a plain text prompt")]
    NoTemplate,
    /// The model's chat template refuses these messages, in its own words: no system role, roles
    /// that must alternate, …
    #[error("The chat template refuses this chat: {why}{}", at_line(*.line))]
    TemplateRefuses {
        /// What the template says.
        why: String,
        /// Line of the template, 1-based, where it is known.
        line: Option<usize>,
    },
    /// The model's chat template can't be read, or fails on the messages.
    #[error("The chat template failed: {why}{}", at_line(*.line))]
    Template {
        /// What the template engine says, and of which part of the template.
        why: String,
        /// Line of the template, 1-based, where it is known.
        line: Option<usize>,
    },
    /// A token id that the model has no embedding for.
    #[error(
        "Token id {id} at index {index} is outside the model's vocabulary of {vocab}: use ids below {vocab}"
    )]
    IdOutsideVocabulary {
        /// The id.
        id: u32,
        /// Its position in the list.
        index: usize,
        /// Rows of the model's embedding.
        vocab: usize,
    },
    /// The tokenizer can produce ids that the model has no embedding for.
    #[error(
        "The tokenizer has {tokenizer} tokens but the model only {model}: use the tokenizer that came with the model"
    )]
    VocabularyMismatch {
        /// One more than the tokenizer's largest id.
        tokenizer: usize,
        /// Rows of the model's embedding.
        model: usize,
    },
    /// The tokenizer library gave up on this text.
    #[error("The prompt could not be tokenised: {0}")]
    Encode(String),
    /// A prompt file that is not there or not readable.
    #[error("Can't read the file ({why}): {path}")]
    Read {
        /// The system's reason.
        why: String,
        /// What was read.
        path: PathBuf,
    },
    /// A prompt file in another encoding.
    #[error("The file is not UTF-8 text (byte {at_byte}): save it as UTF-8: {path}")]
    NotUtf8 {
        /// Offset of the first invalid byte.
        at_byte: usize,
        /// The file.
        path: PathBuf,
    },
    /// A chat file that is no list of messages.
    #[error("The chat is not a list like [{{\"role\": \"user\", \"content\": \"…\"}}] ({why}): {path}")]
    ChatJson {
        /// What the JSON reader says.
        why: String,
        /// The file.
        path: PathBuf,
    },
    /// A file of token ids that holds no list of ids.
    #[error("The token ids are not an array or an object with \"input_ids\" ({why}): {path}")]
    TokenIdsJson {
        /// What the JSON reader says.
        why: String,
        /// The file.
        path: PathBuf,
    },
    /// A tokenizer that can't be used.
    #[error("The tokenizer is damaged or not supported: {why}: {path}")]
    Tokenizer {
        /// What is wrong with it.
        why: String,
        /// The model's file or folder.
        path: PathBuf,
    },
}

fn at_line(line: Option<usize>) -> String {
    line.map(|line| format!(" (template line {line})")).unwrap_or_default()
}

/// Collapses a message of another library to one line.
pub(crate) fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}
