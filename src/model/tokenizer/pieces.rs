//! What each id of a vocabulary stands for, as exact bytes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::vocabulary::byte_piece;

/// How the strings of a vocabulary spell bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// GPT-2's alphabet: one visible character for each byte.
    ByteLevel,
    /// `▁` is a space, `<0xE4>` a byte.
    SentencePiece,
    /// The string itself.
    Plain,
}

/// The bytes of every id, and which ids are special or added tokens.
#[derive(Debug, Clone, Default)]
pub(super) struct Pieces {
    /// By id. No list: a damaged file may give any number as an id.
    bytes: HashMap<u32, Box<[u8]>>,
    size: usize,
    special: BTreeSet<u32>,
    /// Bytes that no token stands for alone; only byte-level vocabularies can lack some.
    lacking: BTreeSet<u8>,
    unknown: Option<u32>,
}

impl Pieces {
    /// Spells out `vocabulary`; `special` tokens (special or added) are taken literally.
    pub(super) fn new<'a>(
        vocabulary: impl IntoIterator<Item = (&'a str, u32)>,
        special: BTreeSet<u32>,
        spelling: Spelling,
    ) -> Self {
        let byte_of = byte_level_alphabet();
        let mut bytes = HashMap::new();
        for (text, id) in vocabulary {
            let spelled = if special.contains(&id) {
                text.as_bytes().to_vec()
            } else {
                spell(text, spelling, &byte_of)
            };
            bytes.insert(id, spelled.into_boxed_slice());
        }
        let size = bytes.keys().max().map_or(0, |&id| id as usize + 1);
        let mut lacking = BTreeSet::new();
        if spelling == Spelling::ByteLevel {
            lacking.extend(0..=u8::MAX);
            for single in bytes.values().filter(|bytes| bytes.len() == 1) {
                lacking.remove(&single[0]);
            }
        }
        Self { bytes, size, special, lacking, unknown: None }
    }

    /// With the id of the token that stands for text which the vocabulary can't spell.
    pub(super) fn with_unknown(self, unknown: Option<u32>) -> Self {
        Self { unknown, ..self }
    }

    /// Whether an id is the token for text that the vocabulary can't spell.
    pub(super) fn is_unknown(&self, id: u32) -> bool {
        self.unknown == Some(id)
    }

    /// One more than the largest id.
    pub(super) fn len(&self) -> usize {
        self.size
    }

    /// One more than the largest id of a token that is neither special nor added.
    pub(super) fn ordinary_len(&self) -> usize {
        let ordinary = self.bytes.keys().filter(|id| !self.special.contains(id)).max();
        ordinary.map_or(0, |&id| id as usize + 1)
    }

    /// The bytes of an id, where the vocabulary has it.
    pub(super) fn get(&self, id: u32) -> Option<&[u8]> {
        self.bytes.get(&id).map(AsRef::as_ref)
    }

    /// Whether the vocabulary has no token for a byte, so that the tokenizer drops it.
    pub(super) fn lacks(&self, byte: u8) -> bool {
        self.lacking.contains(&byte)
    }

    /// The first special or added token whose text occurs in `text`.
    pub(super) fn special_in(&self, text: &str) -> Option<&str> {
        let texts = self.special.iter().filter_map(|&id| std::str::from_utf8(self.get(id)?).ok());
        texts.filter(|special| !special.trim().is_empty()).find(|special| text.contains(special))
    }

    /// Whether an id is a special or added token.
    pub(super) fn is_special(&self, id: u32) -> bool {
        self.special.contains(&id)
    }
}

fn spell(text: &str, spelling: Spelling, byte_of: &BTreeMap<char, u8>) -> Vec<u8> {
    match spelling {
        Spelling::Plain => text.as_bytes().to_vec(),
        Spelling::SentencePiece => match byte_piece(text) {
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
