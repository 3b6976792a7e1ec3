//! The tokens as something to look through: selecting several, searching, going back, comparing with a
//! locked selection.

mod handle;
mod history;
pub(super) mod keys;
mod search;

use super::run::TokenFacts;

pub use history::{History, TokenSelection};
pub use search::Search;

/// What the strip's tools remember.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TokensState {
    /// The search.
    pub search: Search,
    /// Selections before and after the current one.
    pub history: History,
    /// A selection that stays to be compared with, ascending positions of the shown run.
    pub locked: Vec<usize>,
    /// Facts about the last of them.
    pub locked_facts: Option<TokenFacts>,
    /// What the plot under the views shows.
    pub plot: LowerPlot,
}

/// What the plot under the views shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LowerPlot {
    /// The mass profile.
    #[default]
    Mass,
    /// The column (incoming) or row (outgoing) of the selected tokens.
    Selection,
}

/// What is put on the clipboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyTokens {
    /// Exact text of the selected tokens.
    Text,
    /// Their ids.
    Ids,
    /// Their positions.
    Positions,
    /// Every token of the prompt, a line each: position, id, class, text as a JSON string.
    All,
}

/// A wish about the tokens.
#[derive(Debug, Clone, PartialEq)]
pub enum TokensCommand {
    /// Select this one alone, also when it is selected.
    Go(usize),
    /// Add a token to the selection, or take it out.
    Toggle(usize),
    /// Select everything from the token selected last to this one.
    ExtendTo(usize),
    /// The selection before.
    Back,
    /// The selection that was gone back from.
    Forward,
    /// What to look for.
    Find(String),
    /// The hit that many further on; selects it.
    Step(isize),
    /// Keep the selection to compare with.
    Lock,
    /// Keep it no longer.
    Unlock,
    /// Show this under the views.
    ShowPlot(LowerPlot),
    /// Put something on the clipboard.
    Copy(CopyTokens),
}
