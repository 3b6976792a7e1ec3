//! Finding tokens: by text, regular expression, id, class or position.

use super::TokenClass;
use crate::model::tokenizer::TokenSequence;
use regex::bytes::{Regex, RegexBuilder};
use std::ops::Range;

/// What is looked for.
#[derive(Debug, Clone)]
pub enum TokenQuery {
    /// Text or a regular expression, matched on the bytes of the whole prompt: a match may span tokens.
    Text(Regex),
    /// Tokens of an id.
    Id(u32),
    /// Tokens of a class.
    Class(TokenClass),
    /// One position.
    Position(usize),
}

/// Why a query can't be understood, one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// What stands between the slashes is no regular expression.
    #[error("Not a regular expression: {0}")]
    Regex(String),
    /// What stands behind a name is no number.
    #[error("{0} takes a number: {0}120")]
    Number(&'static str),
    /// No such class.
    #[error("Classes: bos, positional, structural, delimiter, content, virtual")]
    Class,
}

/// A regular expression compiles to at most this much, so that none can fill the memory.
const MOST_REGEX_BYTES: usize = 1 << 20;

impl TokenQuery {
    /// Reads a query: `/regular expression/`, `id:N`, `class:NAME`, `#POSITION`, else plain text in
    /// which upper and lower case are the same. `None` where nothing is asked.
    ///
    /// # Errors
    /// The query can't be understood.
    pub fn parse(text: &str) -> Result<Option<Self>, QueryError> {
        if text.is_empty() {
            return Ok(None);
        }
        if let Some(pattern) = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            let is_empty = pattern.is_empty();
            return Ok((!is_empty).then_some(Self::Text(compile(pattern, false)?)));
        }
        if let Some(id) = text.strip_prefix("id:") {
            return id.trim().parse().map(|id| Some(Self::Id(id))).map_err(|_| QueryError::Number("id:"));
        }
        if let Some(name) = text.strip_prefix("class:") {
            return TokenClass::of_name(name.trim())
                .map(|class| Some(Self::Class(class)))
                .ok_or(QueryError::Class);
        }
        if let Some(position) =
            text.strip_prefix('#').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        {
            let position = position.trim().parse().map_err(|_| QueryError::Number("#"))?;
            return Ok(Some(Self::Position(position)));
        }
        Ok(Some(Self::Text(compile(&regex::escape(text), true)?)))
    }

    /// The hits in order, each a range of tokens. Matches of text that share a token are one hit each.
    #[must_use]
    pub fn hits(&self, tokens: &TokenSequence, classes: &[TokenClass]) -> Vec<Range<usize>> {
        let single = |index: usize| index..index + 1;
        let all = 0..tokens.len();
        match self {
            Self::Text(regex) => matches(regex, tokens),
            Self::Id(id) => all.filter(|&index| tokens.tokens[index].id == *id).map(single).collect(),
            Self::Class(class) => {
                all.filter(|&index| classes.get(index) == Some(class)).map(single).collect()
            }
            Self::Position(position) => all.filter(|index| index == position).map(single).collect(),
        }
    }
}

fn compile(pattern: &str, ignore_case: bool) -> Result<Regex, QueryError> {
    RegexBuilder::new(pattern)
        .case_insensitive(ignore_case)
        .size_limit(MOST_REGEX_BYTES)
        .build()
        .map_err(|why| QueryError::Regex(last_line(&why.to_string())))
}

/// A parser's error shows the pattern over several lines, and ends with what is wrong.
fn last_line(text: &str) -> String {
    text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

fn matches(regex: &Regex, tokens: &TokenSequence) -> Vec<Range<usize>> {
    let mut starts = Vec::with_capacity(tokens.len());
    let mut text = Vec::new();
    for token in &tokens.tokens {
        starts.push(text.len());
        text.extend_from_slice(&token.bytes);
    }
    // The last of several tokens that start here: the others hold no bytes.
    let token_at = |byte: usize| starts.partition_point(|&start| start <= byte) - 1;
    let found = regex.find_iter(&text).filter(|found| !found.is_empty());
    found.map(|found| token_at(found.start())..token_at(found.end() - 1) + 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tokenizer::{Token, TokenOrigin};

    fn tokens() -> TokenSequence {
        let pieces: [(&[u8], u32); 7] = [
            (b"<s>", 1),
            (b"The", 5),
            (b" sky", 6),
            (b" is", 7),
            (b" \xed\x95", 8),
            (b"\x9c", 9),
            (b" the", 5),
        ];
        let tokens = pieces.map(|(bytes, id)| Token {
            id,
            bytes: bytes.to_vec(),
            origin: if id == 1 { TokenOrigin::Special } else { TokenOrigin::Text },
        });
        TokenSequence { tokens: tokens.to_vec(), bos_id: Some(1), warnings: Vec::new() }
    }

    fn hits(query: &str) -> Vec<Range<usize>> {
        let tokens = tokens();
        let classes = crate::analysis::classify(&tokens);
        let query = TokenQuery::parse(query).expect("a query").expect("not empty");
        query.hits(&tokens, &classes)
    }

    #[test]
    fn text_is_found_across_tokens_and_without_regard_to_case() {
        assert_eq!(hits("the"), [1..2, 6..7]);
        assert_eq!(hits("SKY IS"), [2..4]);
        assert_eq!(hits("한"), [4..6], "a character that two tokens share");
        assert!(hits("s.").is_empty(), "plain text is no pattern");
        assert_eq!(hits("/s./"), [0..1, 2..3, 3..5], "a pattern is, also in the text of a special token");
        assert_eq!(hits("/The/"), [1..2], "a pattern minds the case");
    }

    #[test]
    fn ids_classes_and_positions_are_found() {
        assert_eq!(hits("id:5"), [1..2, 6..7]);
        assert_eq!(hits("class:bos"), [0..1]);
        assert!(hits("class:virtual").is_empty());
        assert_eq!(hits("#3"), [3..4]);
        assert!(hits("#7").is_empty(), "behind the end");
        assert!(TokenQuery::parse("").expect("nothing").is_none());
        assert!(TokenQuery::parse("//").expect("nothing between").is_none());
    }

    #[test]
    fn what_is_wrong_is_said_in_one_line() {
        let error = |query: &str| TokenQuery::parse(query).expect_err("an error").to_string();
        assert_eq!(error("id:x"), "id: takes a number: id:120");
        assert_eq!(error("#1x"), "# takes a number: #120");
        assert!(error("class:sink").starts_with("Classes: bos, positional"));
        let regex = error("/(/");
        assert!(regex.starts_with("Not a regular expression: ") && !regex.contains('\n'), "{regex}");
        assert!(error("/(a{1000}){1000}/").contains("size limit"), "none may fill the memory");
    }
}
