//! Prompts from files: text, chats and token ids.

use std::path::Path;

use super::PromptError;
use crate::model::chat::ChatMessage;

/// Reads a prompt from a UTF-8 file, byte for byte (a byte-order mark at the start is no text and is left out).
///
/// # Errors
/// The file can't be read, is not UTF-8, or is empty.
pub fn read_prompt_file(path: &Path) -> Result<String, PromptError> {
    let bytes = std::fs::read(path)
        .map_err(|error| PromptError::Read { why: error.to_string(), path: path.to_owned() })?;
    let mut text = String::from_utf8(bytes).map_err(|error| PromptError::NotUtf8 {
        at_byte: error.utf8_error().valid_up_to(),
        path: path.to_owned(),
    })?;
    if text.starts_with('\u{FEFF}') {
        text.remove(0);
    }
    if text.is_empty() { Err(PromptError::Empty) } else { Ok(text) }
}

/// Reads a chat, `[{"role": …, "content": …}, …]`, from a JSON file.
///
/// # Errors
/// The file can't be read, is no such list, or holds no message.
pub fn read_chat_file(path: &Path) -> Result<Vec<ChatMessage>, PromptError> {
    let messages: Vec<ChatMessage> = serde_json::from_str(&read_prompt_file(path)?)
        .map_err(|error| PromptError::ChatJson { why: error.to_string(), path: path.to_owned() })?;
    if messages.is_empty() { Err(PromptError::EmptyChat) } else { Ok(messages) }
}

/// Reads token ids from a JSON file: an array, or an object with `input_ids`.
///
/// # Errors
/// The file can't be read, holds no such list, or the list is empty.
pub fn read_token_ids_file(path: &Path) -> Result<Vec<u32>, PromptError> {
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum TokenIds {
        List(Vec<u32>),
        Object { input_ids: Vec<u32> },
    }
    let text = read_prompt_file(path)?;
    let ids = serde_json::from_str(&text).map_err(|error| {
        let why = if error.is_data() { "no list of whole numbers".to_owned() } else { error.to_string() };
        PromptError::TokenIdsJson { why, path: path.to_owned() }
    })?;
    let (TokenIds::List(ids) | TokenIds::Object { input_ids: ids }) = ids;
    if ids.is_empty() { Err(PromptError::Empty) } else { Ok(ids) }
}
