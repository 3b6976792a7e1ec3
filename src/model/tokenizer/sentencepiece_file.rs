//! SentencePiece's model file: a protocol-buffers message, of which the pieces and a few switches
//! are read (`sentencepiece_model.proto` of its repository).

use super::sentencepiece::{Algorithm, SentencePiece};
use super::vocabulary::{Kind, Piece};

/// A field of a message.
enum Field<'a> {
    Number(u64),
    Float(f32),
    Bytes(&'a [u8]),
    Other,
}

/// Reads a model file.
///
/// # Errors
/// One line: the file is cut short, no such message, or of an algorithm without pieces.
pub(super) fn parse(file: &[u8]) -> Result<SentencePiece, String> {
    let mut model = SentencePiece {
        pieces: Vec::new(),
        algorithm: Algorithm::Unigram,
        // The format's defaults.
        space_in_front: true,
        trims_spaces: true,
        charsmap: Vec::new(),
    };
    for_each_field(file, |number, field| match (number, field) {
        (1, Field::Bytes(piece)) => {
            model.pieces.push(parse_piece(piece)?);
            Ok(())
        }
        (2, Field::Bytes(trainer)) => for_each_field(trainer, |number, field| {
            if let (3, Field::Number(kind)) = (number, field) {
                model.algorithm = match kind {
                    1 => Algorithm::Unigram,
                    2 => Algorithm::ScoredMerges,
                    _ => return Err("its algorithm is neither unigram nor BPE".to_owned()),
                };
            }
            Ok(())
        }),
        (3, Field::Bytes(normalizer)) => for_each_field(normalizer, |number, field| {
            match (number, field) {
                (2, Field::Bytes(map)) => model.charsmap = map.to_vec(),
                (3, Field::Number(on)) => model.space_in_front = on != 0,
                (4, Field::Number(on)) => model.trims_spaces = on != 0,
                _ => {}
            }
            Ok(())
        }),
        _ => Ok(()),
    })?;
    if model.pieces.is_empty() {
        return Err("the vocabulary is empty".to_owned());
    }
    Ok(model)
}

fn parse_piece(message: &[u8]) -> Result<Piece, String> {
    let mut piece = Piece { text: String::new(), score: 0.0, kind: Kind::Normal, strips_right: false };
    for_each_field(message, |number, field| {
        match (number, field) {
            (1, Field::Bytes(text)) => {
                piece.text =
                    String::from_utf8(text.to_vec()).map_err(|_| "a piece is not UTF-8 text".to_owned())?;
            }
            (2, Field::Float(score)) => piece.score = f64::from(score),
            (3, Field::Number(kind)) => piece.kind = Kind::numbered(kind),
            _ => {}
        }
        Ok(())
    })?;
    Ok(piece)
}

/// Walks a message.
fn for_each_field<'a>(
    mut message: &'a [u8],
    mut visit: impl FnMut(u64, Field<'a>) -> Result<(), String>,
) -> Result<(), String> {
    while !message.is_empty() {
        let tag = varint(&mut message)?;
        let field = match tag & 7 {
            0 => Field::Number(varint(&mut message)?),
            1 => {
                take(&mut message, 8)?;
                Field::Other
            }
            2 => {
                let length = usize::try_from(varint(&mut message)?).unwrap_or(usize::MAX);
                Field::Bytes(take(&mut message, length)?)
            }
            5 => {
                let bytes = take(&mut message, 4)?.try_into().expect("take returned 4 bytes");
                Field::Float(f32::from_le_bytes(bytes))
            }
            _ => return Err("no SentencePiece model".to_owned()),
        };
        visit(tag >> 3, field)?;
    }
    Ok(())
}

fn take<'a>(message: &mut &'a [u8], length: usize) -> Result<&'a [u8], String> {
    let (taken, rest) = message.split_at_checked(length).ok_or_else(|| "cut short".to_owned())?;
    *message = rest;
    Ok(taken)
}

fn varint(message: &mut &[u8]) -> Result<u64, String> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(message, 1)?[0];
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err("no SentencePiece model".to_owned())
}
