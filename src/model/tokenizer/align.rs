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
///
/// `lacking` tells the bytes that the vocabulary has no token for.
pub(super) fn align(text: &[u8], tokens: &[RawToken], lacking: impl Fn(u8) -> bool) -> Aligned {
    let mut aligned = Aligned { bytes: Vec::with_capacity(tokens.len()), dropped_bytes: 0, rewritten: 0 };
    let mut at = 0;
    let mut last_rewritten = false;
    for token in tokens {
        let end = token.span.end.clamp(at, text.len());
        let start = token.span.start.clamp(at, end);
        let own = &text[start..end];
        let lacked = own.iter().take_while(|&&byte| lacking(byte)).count();
        let (taken, rewritten) = if token.special {
            (start..end, false)
        } else if own.starts_with(token.piece) {
            (start..start + token.piece.len(), false)
        } else if let Some(rest) = without_invented_space(own, token.piece) {
            (start..start + rest.len(), false)
        } else if own[lacked..].starts_with(token.piece) {
            (start + lacked..start + lacked + token.piece.len(), false)
        } else {
            (start..end, true)
        };
        aligned.skip(&text[at..taken.start], last_rewritten);
        aligned.rewritten += usize::from(rewritten);
        last_rewritten = rewritten;
        at = taken.end;
        aligned.bytes.push(text[taken].to_vec());
    }
    aligned.skip(&text[at..], last_rewritten);
    aligned
}

impl Aligned {
    /// Bytes that no token covers: composed away into the token before, or dropped.
    fn skip(&mut self, bytes: &[u8], after_rewritten: bool) {
        match self.bytes.last_mut() {
            Some(last) if after_rewritten => last.extend_from_slice(bytes),
            _ => self.dropped_bytes += bytes.len(),
        }
    }
}

fn without_invented_space<'a>(text: &[u8], piece: &'a [u8]) -> Option<&'a [u8]> {
    piece.strip_prefix(b" ").filter(|rest| text.starts_with(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn raw(piece: &[u8], span: Range<usize>, special: bool) -> RawToken<'_> {
        RawToken { piece, span, special }
    }

    #[test]
    fn split_characters_keep_their_own_bytes() {
        let text = "日x".as_bytes();
        let tokens = [raw(b"\xE6\x97", 0..3, false), raw(b"\xA5", 0..3, false), raw(b"x", 3..4, false)];
        let aligned = align(text, &tokens, |_| false);
        assert_eq!(aligned.bytes, [&b"\xE6\x97"[..], b"\xA5", b"x"]);
        assert_eq!((aligned.dropped_bytes, aligned.rewritten), (0, 0));
    }

    #[test]
    fn an_invented_space_is_left_out_and_swallowed_blanks_are_kept() {
        let tokens = [raw(b" Hi", 0..2, false), raw(b"<m>", 2..6, true), raw(b" you", 6..9, false)];
        let aligned = align(b"Hi <m>you", &tokens, |_| false);
        assert_eq!(aligned.bytes, [&b"Hi"[..], b" <m>", b"you"]);
        assert_eq!((aligned.dropped_bytes, aligned.rewritten), (0, 0));
    }

    #[test]
    fn dropped_bytes_are_counted() {
        let inside =
            align("\u{40000}".as_bytes(), &[const { raw(b"\x80", 0..4, false) }; 3], |byte| byte == 0xF1);
        assert_eq!(inside.bytes, [b"\x80"; 3]);
        assert_eq!((inside.dropped_bytes, inside.rewritten), (1, 0));
        let tokens = [raw(b"a", 0..1, false), raw(b"b", 2..3, false)];
        let aligned = align(b"a\x04b\x06", &tokens, |byte| byte < 9);
        assert_eq!(aligned.bytes, [b"a", b"b"]);
        assert_eq!((aligned.dropped_bytes, aligned.rewritten), (2, 0));
    }

    #[test]
    fn rewritten_text_is_shown_as_typed() {
        let text = "e\u{301}!".as_bytes();
        for composed in [0..3, 0..1] {
            let tokens = [raw("é".as_bytes(), composed, false), raw(b"!", 3..4, false)];
            let aligned = align(text, &tokens, |_| false);
            assert_eq!(aligned.bytes, [&b"e\xCC\x81"[..], b"!"]);
            assert_eq!((aligned.dropped_bytes, aligned.rewritten), (0, 1));
        }
        // U+2F956 becomes U+25626, whose last bytes occur in it too.
        let bytes = [b"\xF0", b"\xA5", b"\x98", b"\xA6"].map(|piece| raw(piece, 0..4, false));
        let ideograph = align("\u{2F956}".as_bytes(), &bytes, |_| false);
        assert_eq!(ideograph.bytes.concat(), "\u{2F956}".as_bytes());
        assert_eq!((ideograph.dropped_bytes, ideograph.rewritten), (0, 3));
        let alone = align(&text[..3], &[raw("é".as_bytes(), 0..1, false)], |_| false);
        assert_eq!((alone.bytes, alone.dropped_bytes), (vec![text[..3].to_vec()], 0));
    }
}
