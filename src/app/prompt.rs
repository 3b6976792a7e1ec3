//! The prompt as the user is writing it, and the prompts that the app brings.

use crate::engine::PromptInput;
use crate::model::chat::ChatMessage;
use crate::model::tokenizer::{BosChoice, PromptError, read_chat_file, read_prompt_file};
use std::path::Path;

/// Plain text or a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub enum PromptKind {
    /// Text as it is.
    Text,
    /// Turns, rendered with the model's own template.
    #[default]
    Chat,
}

/// Prompts that the app brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sample {
    /// A short chat.
    Chat,
    /// A public-domain text of more than a thousand tokens.
    Text,
}

/// The prompt as it stands in the editor.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptDraft {
    /// Which of the two is meant.
    pub kind: PromptKind,
    /// The plain text.
    pub text: String,
    /// The chat turns.
    pub turns: Vec<ChatMessage>,
    /// Whether plain text starts with BOS.
    pub bos: BosChoice,
    /// Whether specials typed in plain text are read as such.
    pub parse_specials: bool,
}

/// Roles that the editor offers.
pub const ROLES: [&str; 3] = ["system", "user", "assistant"];

/// Largest prompt file that is read: far beyond any context, small enough never to stall the window.
const MAX_PROMPT_FILE_BYTES: u64 = 4 << 20;

const SAMPLE_CHAT: &str = include_str!("../../assets/prompts/sky.chat.json");
const SAMPLE_TEXT: &str = include_str!("../../assets/prompts/declaration.txt");

impl Default for PromptDraft {
    fn default() -> Self {
        let mut draft = Self {
            kind: PromptKind::Chat,
            text: String::new(),
            turns: Vec::new(),
            bos: BosChoice::Auto,
            parse_specials: false,
        };
        draft.load_sample(Sample::Text);
        draft.load_sample(Sample::Chat);
        draft
    }
}

impl PromptDraft {
    /// Replaces the draft by a prompt that the app brings.
    pub fn load_sample(&mut self, sample: Sample) {
        match sample {
            Sample::Chat => {
                self.kind = PromptKind::Chat;
                self.turns = serde_json::from_str(SAMPLE_CHAT).unwrap_or_default();
            }
            Sample::Text => {
                self.kind = PromptKind::Text;
                SAMPLE_TEXT.trim_end().clone_into(&mut self.text);
            }
        }
    }

    /// Replaces the draft by a file's content: a chat for `.json`, else plain text.
    ///
    /// # Errors
    /// When the file can't be read, is not UTF-8, or its JSON is not a chat; the draft is then left alone.
    pub fn load_file(&mut self, path: &Path) -> Result<(), PromptError> {
        let bytes = std::fs::metadata(path).map_or(0, |meta| meta.len());
        if bytes > MAX_PROMPT_FILE_BYTES {
            let why = format!(
                "it has {} MiB, no context holds more than {}",
                bytes >> 20,
                MAX_PROMPT_FILE_BYTES >> 20
            );
            return Err(PromptError::Read { why, path: path.to_owned() });
        }
        if path.extension().is_some_and(|ext| ext.eq_ignore_ascii_case("json")) {
            self.turns = read_chat_file(path)?;
            self.kind = PromptKind::Chat;
        } else {
            self.text = read_prompt_file(path)?;
            self.kind = PromptKind::Text;
        }
        Ok(())
    }

    /// What the engine is given.
    #[must_use]
    pub fn input(&self) -> PromptInput {
        match self.kind {
            PromptKind::Text => {
                PromptInput::Text { text: self.text.clone(), parse_specials: self.parse_specials }
            }
            PromptKind::Chat => PromptInput::Chat(self.turns.clone()),
        }
    }

    /// Adds a turn of the role that comes next.
    pub fn add_turn(&mut self) {
        let role = match self.turns.last().map(|turn| turn.role.as_str()) {
            Some("user") => "assistant",
            _ => "user",
        };
        self.turns.push(ChatMessage { role: role.to_owned(), content: String::new() });
    }
}

/// Whether a dropped or typed path is meant as a prompt (else it is a model).
#[must_use]
pub fn is_prompt_path(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let model_json = ["config.json", "tokenizer.json", "model.safetensors.index.json"].contains(&name);
    let ext = path.extension().and_then(|ext| ext.to_str()).map(str::to_ascii_lowercase);
    !model_json && matches!(ext.as_deref(), Some("txt" | "md" | "markdown" | "json" | "text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_samples_are_there() {
        let draft = PromptDraft::default();
        assert_eq!(draft.kind, PromptKind::Chat);
        assert_eq!(draft.turns.first().map(|turn| turn.role.as_str()), Some("system"));
        assert!(draft.text.split_whitespace().count() > 900, "the sample text must exceed a thousand tokens");
    }

    #[test]
    fn turns_alternate() {
        let mut draft = PromptDraft { turns: Vec::new(), ..PromptDraft::default() };
        draft.add_turn();
        draft.add_turn();
        draft.add_turn();
        let roles: Vec<&str> = draft.turns.iter().map(|turn| turn.role.as_str()).collect();
        assert_eq!(roles, ["user", "assistant", "user"]);
    }

    #[test]
    fn a_bad_prompt_file_says_what_is_wrong() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let text = dir.path().join("p.txt");
        std::fs::write(&text, b"ok \xff").expect("a file");
        let said = PromptDraft::default().load_file(&text).expect_err("not UTF-8").to_string();
        assert!(said.contains("UTF-8"), "{said}");

        let chat = dir.path().join("c.json");
        std::fs::write(&chat, br#"{"role":"user"}"#).expect("a file");
        let mut draft = PromptDraft::default();
        let before = draft.clone();
        let said = draft.load_file(&chat).expect_err("not a chat").to_string();
        assert!(said.contains("c.json"), "{said}");
        assert_eq!(draft, before, "a bad file must leave the draft alone");
    }

    #[test]
    fn a_file_beyond_any_context_is_not_read() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("huge.txt");
        let file = std::fs::File::create(&path).expect("a file");
        file.set_len(5 << 20).expect("a sparse file");
        let said = PromptDraft::default().load_file(&path).expect_err("too large").to_string();
        assert!(said.contains("it has 5 MiB, no context holds more than 4"), "{said}");
    }

    #[test]
    fn prompts_and_models_are_told_apart() {
        for prompt in ["a.txt", "b/notes.md", "chat.json"] {
            assert!(is_prompt_path(Path::new(prompt)), "{prompt}");
        }
        for model in ["m.gguf", "folder", "x/config.json", "x/tokenizer.json"] {
            assert!(!is_prompt_path(Path::new(model)), "{model}");
        }
    }
}
