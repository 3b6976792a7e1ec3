//! Exactly the right number of BOS and EOS: as the model wants, or as the user says.

use super::{BosChoice, PromptError, Token, TokenOrigin};

/// Who wrote the start of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writer {
    /// The user: nothing typed is ever removed.
    User,
    /// The model's chat template.
    Template,
}

/// The model's BOS, and whether its metadata wants one.
#[derive(Debug, Clone, Default)]
pub(super) struct Bos {
    /// Id and text, where the model has one.
    pub(super) token: Option<(u32, Vec<u8>)>,
    /// Whether the metadata wants one in front of plain text; never without a token.
    pub(super) wanted: bool,
}

impl Bos {
    /// The id, where the model has one.
    pub(super) fn id(&self) -> Option<u32> {
        self.token.as_ref().map(|(id, _)| *id)
    }

    fn opens(&self, tokens: &[Token]) -> bool {
        tokens.first().is_some_and(|token| Some(token.id) == self.id())
    }

    /// Puts BOS in front, or takes the template's away, and says so where it is not the rule.
    pub(super) fn place(
        &self,
        tokens: &mut Vec<Token>,
        writer: Writer,
        choice: BosChoice,
    ) -> Result<Vec<String>, PromptError> {
        if choice == BosChoice::Yes && self.token.is_none() {
            return Err(PromptError::NoBos);
        }
        let mut notes = Vec::new();
        let wanted = choice == BosChoice::Yes || (choice == BosChoice::Auto && self.wanted);
        match (wanted, self.opens(tokens), writer) {
            (true, false, writer) => {
                let (id, bytes) = self.token.clone().ok_or(PromptError::NoBos)?;
                tokens.insert(0, Token { id, bytes, origin: TokenOrigin::Special });
                if writer == Writer::Template && choice == BosChoice::Auto {
                    notes.push(
                        "The chat template writes no BOS: one was added, as the tokenizer wants".into(),
                    );
                }
            }
            (true, true, Writer::User) => {
                notes.push("The prompt already starts with BOS: none was added".into());
            }
            (false, true, Writer::Template) if choice == BosChoice::No => {
                tokens.remove(0);
                notes.push("The BOS that the chat template writes was left out, as you chose".into());
            }
            (false, true, Writer::User) if choice == BosChoice::No => {
                notes.push("The prompt itself starts with BOS: it was kept".into());
            }
            _ => {}
        }
        notes.extend(self.warnings(tokens));
        Ok(notes)
    }

    /// What is unusual about the BOS of a finished prompt.
    pub(super) fn warnings(&self, tokens: &[Token]) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.wanted && !self.opens(tokens) {
            warnings.push("This model expects BOS at the start and the prompt has none".into());
        }
        if self.opens(tokens) && self.opens(&tokens[1..]) {
            warnings.push("The prompt starts with BOS twice".into());
        }
        warnings
    }
}

/// EOS, where the model's metadata wants one behind plain text.
#[derive(Debug, Clone, Default)]
pub(super) struct Eos {
    /// Id and text, only where it is wanted.
    pub(super) token: Option<(u32, Vec<u8>)>,
}

impl Eos {
    /// Closes plain text, and says so. Chats end as their template has it.
    pub(super) fn place(&self, tokens: &mut Vec<Token>, writer: Writer) -> Option<String> {
        let (id, bytes) = self.token.clone().filter(|_| writer == Writer::User)?;
        if tokens.last().is_some_and(|token| token.id == id) {
            return None;
        }
        tokens.push(Token { id, bytes, origin: TokenOrigin::Special });
        Some("EOS was added at the end, as the tokenizer wants".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bos(wanted: bool) -> Bos {
        Bos { token: Some((1, b"<s>".to_vec())), wanted }
    }

    fn tokens(ids: &[u32]) -> Vec<Token> {
        ids.iter().map(|&id| Token { id, bytes: vec![], origin: TokenOrigin::Text }).collect()
    }

    /// (wanted, ids before, writer, choice) → (ids after, number of notes)
    #[test]
    fn the_number_of_bos_is_right() {
        use BosChoice::{Auto, No, Yes};
        use Writer::{Template, User};
        type Case = (bool, &'static [u32], Writer, BosChoice, &'static [u32], usize);
        let cases: [Case; 13] = [
            (true, &[7], User, Auto, &[1, 7], 0),
            (false, &[7], User, Auto, &[7], 0),
            (false, &[7], User, Yes, &[1, 7], 0),
            (true, &[7], User, No, &[7], 1),
            (true, &[1, 7], User, Auto, &[1, 7], 1),
            (true, &[1, 7], User, No, &[1, 7], 1),
            (false, &[1, 1, 7], User, Auto, &[1, 1, 7], 1),
            (true, &[1, 7], Template, Auto, &[1, 7], 0),
            (true, &[1, 7], Template, Yes, &[1, 7], 0),
            (true, &[7], Template, Auto, &[1, 7], 1),
            (false, &[7], Template, Auto, &[7], 0),
            (false, &[1, 7], Template, No, &[7], 1),
            (true, &[1, 7], Template, No, &[7], 2),
        ];
        for (wanted, before, writer, choice, after, notes) in cases {
            let mut sequence = tokens(before);
            let said = bos(wanted).place(&mut sequence, writer, choice).unwrap();
            let ids: Vec<u32> = sequence.iter().map(|t| t.id).collect();
            assert_eq!(ids, after, "{wanted} {before:?} {writer:?} {choice:?}");
            assert_eq!(said.len(), notes, "{wanted} {before:?} {writer:?} {choice:?}: {said:?}");
        }
    }

    #[test]
    fn eos_closes_plain_text_once() {
        let eos = Eos { token: Some((2, b"</s>".to_vec())) };
        for (before, writer, after) in [
            (&[7][..], Writer::User, &[7, 2][..]),
            (&[7, 2], Writer::User, &[7, 2]),
            (&[7], Writer::Template, &[7]),
        ] {
            let mut sequence = tokens(before);
            let note = eos.place(&mut sequence, writer);
            assert_eq!(sequence.iter().map(|t| t.id).collect::<Vec<_>>(), after);
            assert_eq!(note.is_some(), after.len() > before.len());
        }
        assert_eq!(Eos::default().place(&mut tokens(&[7]), Writer::User), None);
    }

    #[test]
    fn yes_without_a_bos_is_an_error() {
        let none = Bos::default();
        assert_eq!(none.place(&mut tokens(&[7]), Writer::User, BosChoice::Yes), Err(PromptError::NoBos));
        assert_eq!(none.place(&mut tokens(&[7]), Writer::User, BosChoice::Auto), Ok(vec![]));
    }
}
