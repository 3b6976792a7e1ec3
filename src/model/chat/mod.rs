//! Chat prompts and the model's own chat template.

mod clock;
mod dialect;
mod sources;
mod spans;
mod template;

pub(crate) use sources::TemplateSources;
pub(crate) use spans::content_spans;
pub use template::ChatTemplate;

/// One turn of a chat.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ChatMessage {
    /// `system`, `user` or `assistant` (whatever the template knows).
    pub role: String,
    /// What was said.
    pub content: String,
}
