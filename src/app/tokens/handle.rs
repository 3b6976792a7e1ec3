//! What changes the selection and its tools; called by [`AppState::handle`] alone.

use super::{CopyTokens, TokenSelection, TokensCommand};
use crate::app::run::{Run, TokenFacts};
use crate::app::state::AppState;
use std::fmt::Write as _;

impl AppState {
    pub(in crate::app) fn tokens_command(&mut self, command: TokensCommand) {
        let Some(run) = &self.run else { return };
        let n = run.capture.len();
        let selection = self.view.selection();
        match command {
            TokensCommand::Go(token) if token < n => self.select(TokenSelection::one(Some(token)), false),
            TokensCommand::Toggle(token) if token < n => self.select(selection.toggled(token), false),
            TokensCommand::ExtendTo(token) if token < n => self.select(selection.extended_to(token), false),
            TokensCommand::Go(_) | TokensCommand::Toggle(_) | TokensCommand::ExtendTo(_) => {}
            TokensCommand::Back => {
                if let Some(before) = self.tokens.history.go_back(selection) {
                    self.show_selection(before);
                }
            }
            TokensCommand::Forward => {
                if let Some(after) = self.tokens.history.go_forward(selection) {
                    self.show_selection(after);
                }
            }
            TokensCommand::Find(text) => {
                self.tokens.search.text = text;
                self.tokens.search.look(&run.capture.tokens, &run.analysis.classes);
            }
            TokensCommand::Step(by) => {
                let from = self.view.selected.unwrap_or(0);
                if let Some(token) = self.tokens.search.step(by, from) {
                    self.select(TokenSelection::one(Some(token)), false);
                }
            }
            TokensCommand::Lock => {
                self.tokens.locked = selection.all();
                self.tokens.locked_facts =
                    self.tokens.locked.last().map(|&last| TokenFacts::of(&run.capture, last));
                self.ask_for_partners();
            }
            TokensCommand::Unlock => {
                self.unlock();
                self.ask_for_partners();
            }
            TokensCommand::ShowPlot(plot) => self.tokens.plot = plot,
            TokensCommand::Copy(what) => self.clipboard = Some(copied(run, &selection.all(), what)),
        }
    }

    /// Leaves the current selection for another.
    pub(in crate::app) fn select(&mut self, selection: TokenSelection, by_walking: bool) {
        let left = self.view.selection();
        if left != selection {
            self.tokens.history.leave(left, by_walking);
            self.show_selection(selection);
        }
    }

    pub(in crate::app) fn unlock(&mut self) {
        self.tokens.locked.clear();
        self.tokens.locked_facts = None;
    }

    fn show_selection(&mut self, selection: TokenSelection) {
        self.view.selected = selection.lead;
        self.view.also_selected = selection.others;
        self.refocus();
    }
}

fn copied(run: &Run, tokens: &[usize], what: CopyTokens) -> String {
    let all = &run.capture.tokens.tokens;
    let each = |text: &dyn Fn(usize) -> String| -> String {
        tokens.iter().map(|&token| text(token)).collect::<Vec<_>>().join(" ")
    };
    match what {
        CopyTokens::Text => {
            let bytes: Vec<u8> = tokens.iter().flat_map(|&token| all[token].bytes.iter().copied()).collect();
            // Parts of characters are no text: they are copied as the chips show them.
            String::from_utf8(bytes)
                .unwrap_or_else(|_| tokens.iter().map(|&token| all[token].text()).collect())
        }
        CopyTokens::Ids => each(&|token| all[token].id.to_string()),
        CopyTokens::Positions => each(&|token| token.to_string()),
        CopyTokens::All => {
            let mut lines = "position\tid\tclass\ttext\n".to_owned();
            for (position, (token, class)) in all.iter().zip(&run.analysis.classes).enumerate() {
                let text = serde_json::Value::from(token.text());
                let _ = writeln!(lines, "{position}\t{}\t{}\t{text}", token.id, class.name());
            }
            lines
        }
    }
}
