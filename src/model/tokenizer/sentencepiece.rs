//! SentencePiece vocabularies: merges by score with bytes for the rest, or the likeliest split.

use std::collections::{BTreeSet, HashMap};

use tokenizers::Tokenizer;
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::models::unigram::Unigram;
use tokenizers::normalizers::replace::ReplacePattern;
use tokenizers::normalizers::{NormalizerWrapper, Precompiled, Prepend, Replace, Sequence};
use tokenizers::pre_tokenizers::metaspace::{Metaspace, PrependScheme};

use super::one_line;
use super::pieces::{Pieces, Spelling};
use super::vocabulary::{Kind, Piece, lacking_merge};

/// What SentencePiece writes for a space.
const SPACE: char = '▁';

/// How a text is put together from pieces.
#[derive(Debug)]
pub(super) enum Algorithm {
    /// Neighbours are joined, the piece with the best score first.
    ScoredMerges,
    /// Neighbours are joined in this order.
    Merges(Vec<(String, String)>),
    /// Of all splits the likeliest.
    Unigram,
}

/// A SentencePiece model, from whichever file.
#[derive(Debug)]
pub(super) struct SentencePiece {
    /// By id.
    pub(super) pieces: Vec<Piece>,
    pub(super) algorithm: Algorithm,
    /// Whether a text, and what follows a special token, gets a space in front.
    pub(super) space_in_front: bool,
    /// Whether spaces at the ends go and runs of them become one.
    pub(super) trims_spaces: bool,
    /// SentencePiece's compiled rules of normalisation; may be empty.
    pub(super) charsmap: Vec<u8>,
}

impl SentencePiece {
    /// The tokenizer that does the same.
    ///
    /// # Errors
    /// One line: a score is no number, a merge does not fit, the rules of normalisation are damaged.
    pub(super) fn build(mut self) -> Result<(Tokenizer, Pieces), String> {
        if self.pieces.is_empty() {
            return Err("the vocabulary is empty".to_owned());
        }
        if let Some(id) = self.pieces.iter().position(|piece| !piece.score.is_finite()) {
            return Err(format!("the score of token {id} is {}", self.pieces[id].score));
        }
        // These are sought in the text as it is typed.
        for piece in self.pieces.iter_mut().filter(|piece| piece.kind == Kind::UserDefined) {
            piece.text = typed(&piece.text);
        }
        self.tokenizer()
            .map_err(|error| one_line(&error.to_string()))
            .map(|tokenizer| (tokenizer, self.spelled()))
    }

    fn tokenizer(&self) -> Result<Tokenizer, tokenizers::Error> {
        let mut steps = self.normalisation()?;
        let mut tokenizer = match &self.algorithm {
            Algorithm::Unigram => {
                let mut tokenizer = Tokenizer::new(self.unigram()?);
                let prepend = if self.space_in_front { PrependScheme::Always } else { PrependScheme::Never };
                tokenizer.with_pre_tokenizer(Some(Metaspace::new(SPACE, prepend, true)));
                tokenizer
            }
            Algorithm::ScoredMerges => Tokenizer::new(self.bpe(self.merges_by_score())?),
            Algorithm::Merges(merges) => Tokenizer::new(self.bpe(merges.clone())?),
        };
        if !matches!(self.algorithm, Algorithm::Unigram) {
            if self.space_in_front {
                steps.push(Prepend::new(SPACE.to_string()).into());
            }
            steps.push(replace(" ", &SPACE.to_string())?);
        }
        tokenizer.with_normalizer(Some(Sequence::new(steps)))?;
        tokenizer.add_tokens(self.pieces.iter().filter_map(Piece::added))?;
        Ok(tokenizer)
    }

    fn normalisation(&self) -> Result<Vec<NormalizerWrapper>, tokenizers::Error> {
        let mut steps = Vec::new();
        if !self.charsmap.is_empty() {
            // A damaged map makes its reader panic.
            let map = std::panic::catch_unwind(|| Precompiled::from(&self.charsmap));
            let map = map.ok().and_then(Result::ok).ok_or("the rules of normalisation are damaged")?;
            steps.push(map.into());
        }
        if self.trims_spaces {
            steps.push(replace_all(r"\A +| +\z", "")?);
            steps.push(replace_all(" {2,}", " ")?);
        }
        Ok(steps)
    }

    /// The id of the piece that stands for the unknown.
    fn unknown(&self) -> Option<usize> {
        self.pieces.iter().position(|piece| piece.kind == Kind::Unknown)
    }

    fn has_bytes(&self) -> bool {
        self.pieces.iter().any(|piece| piece.kind == Kind::Byte)
    }

    fn unigram(&self) -> Result<Unigram, tokenizers::Error> {
        let vocabulary = self.pieces.iter().map(|piece| (piece.text.clone(), piece.score)).collect();
        Unigram::from(vocabulary, self.unknown(), self.has_bytes())
    }

    fn bpe(&self, merges: Vec<(String, String)>) -> Result<BPE, tokenizers::Error> {
        let mut vocab = Vocab::default();
        for (piece, id) in self.pieces.iter().zip(0u32..) {
            vocab.entry(piece.text.clone()).or_insert(id);
            if piece.kind == Kind::UserDefined {
                // Merges name it as the text is after normalisation.
                vocab.entry(piece.text.replace(' ', &SPACE.to_string())).or_insert(id);
            }
        }
        if let Some(why) = lacking_merge(&merges, |text| vocab.contains_key(text)) {
            return Err(why.into());
        }
        let mut builder =
            BPE::builder().vocab_and_merges(vocab, merges).byte_fallback(self.has_bytes()).fuse_unk(true);
        if let Some(id) = self.unknown() {
            builder = builder.unk_token(self.pieces[id].text.clone());
        }
        builder.build()
    }

    /// Every way to join two pieces to a third, the third's best score first. SentencePiece keeps
    /// no merges: it joins whatever neighbours make the piece of the best score. Where one piece
    /// can be joined in several ways, the order is that of transformers' converter.
    fn merges_by_score(&self) -> Vec<(String, String)> {
        let normal = || self.pieces.iter().zip(0u32..).filter(|(piece, _)| piece.kind == Kind::Normal);
        let ids: HashMap<&str, u32> = normal().map(|(piece, id)| (piece.text.as_str(), id)).collect();
        let mut merges = Vec::new();
        for (piece, _) in normal() {
            let text = piece.text.as_str();
            let mut ways: Vec<_> = text
                .char_indices()
                .skip(1)
                .filter_map(|(at, _)| {
                    let (left, right) = text.split_at(at);
                    Some((*ids.get(left)?, *ids.get(right)?, left, right))
                })
                .collect();
            ways.sort_unstable();
            merges.extend(ways.into_iter().map(|(_, _, left, right)| (piece.score, left, right)));
        }
        merges.sort_by(|a, b| b.0.total_cmp(&a.0));
        merges.into_iter().map(|(_, left, right)| (left.to_owned(), right.to_owned())).collect()
    }

    fn spelled(&self) -> Pieces {
        let special: BTreeSet<u32> = self
            .pieces
            .iter()
            .zip(0u32..)
            .filter(|(piece, _)| piece.is_special())
            .map(|(_, id)| id)
            .collect();
        let texts = self.pieces.iter().zip(0u32..).map(|(piece, id)| (piece.text.as_str(), id));
        let unknown = self.unknown().and_then(|id| u32::try_from(id).ok());
        Pieces::new(texts, special, Spelling::SentencePiece).with_unknown(unknown)
    }
}

/// A piece's text as a person types it.
fn typed(piece: &str) -> String {
    piece.replace(SPACE, " ")
}

fn replace(text: &str, by: &str) -> Result<NormalizerWrapper, tokenizers::Error> {
    Ok(Replace::new(ReplacePattern::String(text.to_owned()), by)?.into())
}

fn replace_all(regex: &str, by: &str) -> Result<NormalizerWrapper, tokenizers::Error> {
    Ok(Replace::new(ReplacePattern::Regex(regex.to_owned()), by)?.into())
}
