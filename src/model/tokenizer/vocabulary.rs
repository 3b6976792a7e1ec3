//! A vocabulary as model files list it: each piece with its score and kind.

use tokenizers::AddedToken;

/// What a piece is for, as SentencePiece and ggml number it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text.
    Normal,
    /// Stands for text that no piece covers.
    Unknown,
    /// Never text: BOS, EOS, chat markers.
    Control,
    /// Text that always is one token.
    UserDefined,
    /// Kept for later use.
    Unused,
    /// One byte, such as `<0xE4>`.
    Byte,
}

impl Kind {
    /// The kind of a number in a file; numbers that nobody defined are text.
    pub(super) fn numbered(number: u64) -> Self {
        match number {
            2 => Self::Unknown,
            3 => Self::Control,
            4 => Self::UserDefined,
            5 => Self::Unused,
            6 => Self::Byte,
            _ => Self::Normal,
        }
    }

    /// The kind that a piece has by its looks, where a file does not say.
    pub(super) fn of_text(text: &str) -> Self {
        if byte_piece(text).is_some() { Self::Byte } else { Self::Normal }
    }
}

/// One entry of a vocabulary; its place is its id.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    /// As the file spells it.
    pub(super) text: String,
    /// Higher is merged earlier, or likelier.
    pub(super) score: f64,
    pub(super) kind: Kind,
    /// Whether the token swallows the blanks behind it.
    pub(super) strips_right: bool,
}

impl Piece {
    /// Whether it is a special or added token, which owns its text and is structure rather than
    /// content. Runs of blanks are added to some vocabularies, and are content all the same.
    pub(super) fn is_special(&self) -> bool {
        match self.kind {
            Kind::Unknown | Kind::Control => true,
            Kind::UserDefined => !is_blank(&self.text),
            Kind::Normal | Kind::Unused | Kind::Byte => false,
        }
    }

    /// The piece as a token that is sought in the text before anything else, if it is one.
    pub(super) fn added(&self) -> Option<AddedToken> {
        let special = match self.kind {
            Kind::Unknown | Kind::Control => true,
            Kind::UserDefined => false,
            Kind::Normal | Kind::Unused | Kind::Byte => return None,
        };
        let content = self.text.clone();
        let rstrip = self.strips_right;
        Some(AddedToken { content, special, rstrip, normalized: false, ..AddedToken::default() })
    }
}

/// Whether a token's text is nothing but blanks, `▁` included.
pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c == '▁')
}

/// The byte of a piece such as `<0xE4>`.
pub(super) fn byte_piece(text: &str) -> Option<u8> {
    let hex = text.strip_prefix("<0x")?.strip_suffix('>')?;
    if hex.len() == 2 { u8::from_str_radix(hex, 16).ok() } else { None }
}

/// The first merge that names or makes a piece which the vocabulary lacks, as a message.
/// The builder of `tokenizers` panics on some of them.
pub(super) fn lacking_merge(merges: &[(String, String)], has: impl Fn(&str) -> bool) -> Option<String> {
    merges.iter().find_map(|(left, right)| {
        let whole = format!("{left}{right}");
        if !has(&whole) {
            return Some(format!("the vocabulary lacks {whole}, which a merge makes"));
        }
        let part = [left, right].into_iter().find(|part| !has(part))?;
        Some(format!("the vocabulary lacks {part}, which a merge joins"))
    })
}
