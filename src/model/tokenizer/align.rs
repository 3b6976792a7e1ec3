//! Fits tokens to the text they came from, so that their bytes rejoin to it exactly.

use std::ops::Range;

/// A token as the tokenizer reports it.
pub(super) struct RawToken<'a> {
    /// What the vocabulary says that it stands for.
    pub(super) piece: &'a [u8],
    /// Which bytes of the text it covers; tokens that split a character all cover the whole of it.
    pub(super) span: Range<usize>,
    /// Special and added tokens own their span, with the blanks that they swallow.
    pub(super) special: bool,
}

/// Tokens fitted to their text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Aligned {
    /// The bytes of each token.
    pub(super) bytes: Vec<Vec<u8>>,
    /// Bytes of the text that no token stands for (the vocabulary lacks them).
    pub(super) dropped_bytes: usize,
    /// Tokens that stand for other bytes than the text's (Unicode normalisation).
    pub(super) rewritten: usize,
}

/// Gives each token the bytes of `text` that it stands for.
///
/// Nearly always these are the piece's own. Where the tokenizer put a space in front, the space is
/// left out; where it rewrote the text, the token gets the bytes as they were typed; bytes that
/// no token covers are counted. The tokens' bytes joined are `text` less the dropped bytes.
pub(super) fn align(text: &[u8], tokens: &[RawToken]) -> Aligned {
    let mut aligned = Aligned { bytes: Vec::with_capacity(tokens.len()), dropped_bytes: 0, rewritten: 0 };
    let mut at = 0;
    for token in tokens {
        let end = token.span.end.clamp(at, text.len());
        let start = token.span.start.clamp(at, end);
        let taken = if token.special {
            aligned.dropped_bytes += start - at;
            start..end
        } else if text[at..].starts_with(token.piece) {
            at..at + token.piece.len()
        } else if let Some(rest) = without_invented_space(&text[at..], token.piece) {
            at..at + rest.len()
        } else if let Some(skipped) = find(&text[at..end], token.piece) {
            aligned.dropped_bytes += skipped;
            at + skipped..at + skipped + token.piece.len()
        } else {
            aligned.rewritten += 1;
            at..end
        };
        at = taken.end;
        aligned.bytes.push(text[taken].to_vec());
    }
    aligned.dropped_bytes += text.len() - at;
    aligned
}

fn without_invented_space<'a>(text: &[u8], piece: &'a [u8]) -> Option<&'a [u8]> {
    piece.strip_prefix(b" ").filter(|rest| text.starts_with(rest))
}

fn find(text: &[u8], piece: &[u8]) -> Option<usize> {
    if piece.is_empty() { Some(0) } else { text.windows(piece.len()).position(|w| w == piece) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(piece: &[u8], span: Range<usize>, special: bool) -> RawToken<'_> {
        RawToken { piece, span, special }
    }

    #[test]
    fn split_characters_keep_their_own_bytes() {
        let text = "日x".as_bytes();
        let tokens = [raw(b"\xE6\x97", 0..3, false), raw(b"\xA5", 0..3, false), raw(b"x", 3..4, false)];
        let aligned = align(text, &tokens);
        assert_eq!(aligned.bytes, [&b"\xE6\x97"[..], b"\xA5", b"x"]);
        assert_eq!((aligned.dropped_bytes, aligned.rewritten), (0, 0));
    }

    #[test]
    fn an_invented_space_is_left_out_and_swallowed_blanks_are_kept() {
        let tokens = [raw(b" Hi", 0..2, false), raw(b"<m>", 2..6, true), raw(b" you", 6..9, false)];
        let aligned = align(b"Hi <m>you", &tokens);
        assert_eq!(aligned.bytes, [&b"Hi"[..], b" <m>", b"you"]);
        assert_eq!((aligned.dropped_bytes, aligned.rewritten), (0, 0));
    }

    #[test]
    fn dropped_bytes_are_counted() {
        let tokens = [raw(b"a", 0..1, false), raw(b"b", 2..3, false)];
        let aligned = align(b"a\x04b\x06", &tokens);
        assert_eq!(aligned.bytes, [b"a", b"b"]);
        assert_eq!((aligned.dropped_bytes, aligned.rewritten), (2, 0));
    }

    #[test]
    fn rewritten_text_is_shown_as_typed() {
        let text = "e\u{301}!".as_bytes();
        let tokens = [raw("é".as_bytes(), 0..3, false), raw(b"!", 3..4, false)];
        let aligned = align(text, &tokens);
        assert_eq!(aligned.bytes, [&b"e\xCC\x81"[..], b"!"]);
        assert_eq!((aligned.dropped_bytes, aligned.rewritten), (0, 1));
    }
}
