//! What each id of a vocabulary stands for, as exact bytes.

use std::collections::{BTreeMap, BTreeSet};

/// How the strings of a vocabulary spell bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// GPT-2's alphabet: one visible character for each byte.
    ByteLevel,
    /// SentencePiece's: `▁` is a space, `<0xE4>` a byte.
    SentencePiece,
    /// The string itself.
    Plain,
}

/// The bytes of every id, and which ids are special or added tokens.
#[derive(Debug, Clone, Default)]
pub(super) struct Pieces {
    bytes: Vec<Option<Box<[u8]>>>,
    special: BTreeSet<u32>,
}

impl Pieces {
    /// Spells out `vocabulary`; `special` tokens (special or added) are taken literally.
    pub(super) fn new<'a>(
        vocabulary: impl IntoIterator<Item = (&'a str, u32)>,
        special: BTreeSet<u32>,
        spelling: Spelling,
    ) -> Self {
        let byte_of = byte_level_alphabet();
        let mut bytes: Vec<Option<Box<[u8]>>> = Vec::new();
        for (text, id) in vocabulary {
            let spelled = if special.contains(&id) {
                text.as_bytes().to_vec()
            } else {
                spell(text, spelling, &byte_of)
            };
            let at = id as usize;
            if bytes.len() <= at {
                bytes.resize(at + 1, None);
            }
            bytes[at] = Some(spelled.into_boxed_slice());
        }
        Self { bytes, special }
    }

    /// One more than the largest id.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes of an id, where the vocabulary has it.
    pub(super) fn get(&self, id: u32) -> Option<&[u8]> {
        self.bytes.get(id as usize)?.as_deref()
    }

    /// Whether an id is a special or added token.
    pub(super) fn is_special(&self, id: u32) -> bool {
        self.special.contains(&id)
    }
}

fn spell(text: &str, spelling: Spelling, byte_of: &BTreeMap<char, u8>) -> Vec<u8> {
    match spelling {
        Spelling::Plain => text.as_bytes().to_vec(),
        Spelling::SentencePiece => match byte_fallback(text) {
            Some(byte) => vec![byte],
            None => text.replace('▁', " ").into_bytes(),
        },
        Spelling::ByteLevel => {
            let mut bytes = Vec::with_capacity(text.len());
            for c in text.chars() {
                match byte_of.get(&c) {
                    Some(&byte) => bytes.push(byte),
                    None => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
                }
            }
            bytes
        }
    }
}

/// The byte of a piece such as `<0xE4>`.
fn byte_fallback(text: &str) -> Option<u8> {
    let hex = text.strip_prefix("<0x")?.strip_suffix('>')?;
    if hex.len() == 2 { u8::from_str_radix(hex, 16).ok() } else { None }
}

/// GPT-2's `bytes_to_unicode`, backwards: printable Latin-1 bytes stand for themselves, the other
/// 68 for the characters from U+0100 on, in byte order.
fn byte_level_alphabet() -> BTreeMap<char, u8> {
    let mut next = 0x100;
    (0..=255u8)
        .map(|byte| {
            let printable = matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
            let c = if printable {
                char::from(byte)
            } else {
                next += 1;
                char::from_u32(next - 1).expect("U+0100 to U+0143 are characters")
            };
            (c, byte)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alphabet_is_gpt2s() {
        let byte_of = byte_level_alphabet();
        assert_eq!(byte_of.len(), 256);
        for (c, byte) in
            [('Ġ', b' '), ('Ċ', b'\n'), ('ĉ', b'\t'), ('č', b'\r'), ('Ń', 0xAD), ('a', b'a'), ('ÿ', 0xFF)]
        {
            assert_eq!(byte_of.get(&c), Some(&byte), "{c}");
        }
    }

    #[test]
    fn pieces_are_spelled_by_their_kind() {
        let special = BTreeSet::from([2]);
        let level = Pieces::new([("Ġä½", 0), ("ł", 1), ("<Ġ>", 2)], special.clone(), Spelling::ByteLevel);
        assert_eq!(level.get(0), Some(&b" \xE4\xBD"[..]));
        assert_eq!(level.get(1), Some(&b"\xA0"[..]));
        assert_eq!(level.get(2), Some("<Ġ>".as_bytes()));
        assert_eq!((level.get(3), level.len()), (None, 3));
        let piece = Pieces::new([("▁a▁", 0), ("<0xE4>", 1), ("<0xZZ>", 3)], special, Spelling::SentencePiece);
        assert_eq!(piece.get(0), Some(&b" a "[..]));
        assert_eq!(piece.get(1), Some(&b"\xE4"[..]));
        assert_eq!((piece.get(2), piece.is_special(2)), (None, true));
        assert_eq!(piece.get(3), Some(&b"<0xZZ>"[..]));
    }
}
