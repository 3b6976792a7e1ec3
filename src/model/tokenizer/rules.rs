//! How each byte-level vocabulary cuts text before its merges.
//!
//! A GGUF file names its rule (`tokenizer.ggml.pre`) but does not carry it, so each is written down
//! here as it stands in the `tokenizer.json` of the models that it was named after. Names that share
//! a rule are those that llama.cpp joins.

use tokenizers::SplitDelimiterBehavior;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::punctuation::Punctuation;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};

/// One step of cutting. Later steps cut the pieces of earlier ones.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Each match of a regular expression stands alone.
    Regex(&'static str),
    /// Every digit (of any script) stands alone.
    EachDigit,
    /// Runs of digits stand alone.
    DigitRuns,
    /// Runs of punctuation stand alone.
    Punctuation,
    /// GPT-2's own rule; from here on the text is spelled in its alphabet of bytes.
    Gpt2,
    /// The text is spelled in the alphabet of bytes, without a cut.
    Bytes,
}

/// A rule that files name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    /// The names, the best known first.
    names: &'static [&'static str],
    steps: &'static [Step],
    /// Whether text is composed first (Unicode NFC).
    pub(super) composes: bool,
    /// Whether a piece that is a token as a whole is taken without merges.
    pub(super) ignores_merges: bool,
    /// Whether BOS is wanted where the file does not say.
    pub(super) adds_bos: bool,
}

/// A rule that neither composes, nor ignores merges, nor adds BOS.
const fn rule(names: &'static [&'static str], steps: &'static [Step]) -> Rule {
    Rule { names, steps, composes: false, ignores_merges: false, adds_bos: false }
}

const fn composing(rule: Rule) -> Rule {
    Rule { composes: true, ..rule }
}

/// As Llama 3: whole tokens first, BOS unless the file says otherwise.
const fn whole_first(rule: Rule) -> Rule {
    Rule { ignores_merges: true, adds_bos: true, ..rule }
}

static RULES: [Rule; 18] = [
    rule(
        &["gpt-2", "gpt2", "default", "phi-2", "jais", "trillion", "exaone4", "a.x-4.0", "mellum"],
        &[Step::Gpt2],
    ),
    composing(rule(&["olmo", "mpt"], &[Step::Gpt2])),
    rule(
        &["smollm", "starcoder", "refact", "codeshell", "exaone", "minerva-7b", "mellum2"],
        &[Step::EachDigit, Step::Gpt2],
    ),
    composing(rule(&["command-r"], &[Step::EachDigit, Step::Gpt2])),
    composing(rule(
        &["qwen2", "deepseek-r1-qwen", "stablelm2", "megrez", "hunyuan", "kormo", "f2llmv2"],
        &[Step::Regex(QWEN2), Step::Bytes],
    )),
    composing(rule(&["qwen35"], &[Step::Regex(QWEN35), Step::Bytes])),
    whole_first(rule(
        &[
            "llama-bpe",
            "llama3",
            "llama-v3",
            "falcon3",
            "falcon-h1",
            "pixtral",
            "midm-2.0",
            "lfm2",
            "smaug-bpe",
        ],
        &[Step::Regex(LLAMA3), Step::Bytes],
    )),
    rule(&["dbrx", "glm4", "chatglm-bpe"], &[Step::Regex(LLAMA3), Step::Bytes]),
    whole_first(rule(&["tekken"], &[Step::Regex(TEKKEN), Step::Bytes])),
    rule(&["gpt-4o", "llama4", "kanana2", "minimax-m2"], &[Step::Regex(GPT_4O), Step::Bytes]),
    // The digits are sought in the alphabet of bytes, as there.
    rule(&["falcon"], &[Step::Punctuation, Step::Gpt2, Step::DigitRuns, Step::Regex("[0-9][0-9][0-9]")]),
    rule(&["bloom", "poro-chat", "gpt3-finnish"], &[Step::Regex(BLOOM), Step::Bytes]),
    rule(&["viking"], &[Step::Regex(BLOOM), Step::EachDigit, Step::Bytes]),
    rule(
        &["deepseek-llm"],
        &[
            Step::Regex(r"[\r\n]"),
            Step::Regex(CASED_LETTERS),
            Step::Regex(r"\s?[!-/:-~！-／：-～‘-‟\x{3000}-。]+"),
            Step::Regex(r"\s+$"),
            Step::Regex(HAN_AND_MORE),
            Step::EachDigit,
            Step::Bytes,
        ],
    ),
    rule(
        &["deepseek-coder"],
        &[
            Step::Regex(r"[\r\n]"),
            Step::Regex(r"\s?\p{L}+"),
            Step::Regex(r"\s?\p{P}+"),
            Step::Regex(HAN_AND_MORE),
            Step::EachDigit,
            Step::Bytes,
        ],
    ),
    rule(
        &["deepseek-v3", "hunyuan-dense", "joyai-llm"],
        &[
            Step::Regex(r"\p{N}{1,3}"),
            Step::Regex("[一-龥\u{3040}-ゟ゠-ヿ]+"),
            Step::Regex(DEEPSEEK_V3),
            Step::Bytes,
        ],
    ),
    rule(&["seed-coder"], &[Step::Regex(SEED_CODER), Step::Bytes]),
    rule(&["bailingmoe", "bailingmoe2", "llada-moe"], &[Step::Regex(BAILING), Step::Bytes]),
];

/// `(?i:…)` contractions, letters with one leading sign, single digits, signs, line breaks.
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// The same with marks as parts of words.
const QWEN35: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// The same as `QWEN2` with up to three digits together.
const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// Words end where an upper-case letter follows a lower-case one.
const TEKKEN: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// The same with contractions kept on the word, and up to three digits together.
const GPT_4O: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// Whatever is neither blank nor one of these signs, with one space in front.
const BLOOM: &str = r" ?[^(\s|.,!?…。，、।۔،)]+";
const HAN_AND_MORE: &str = "[一-龥ࠀ-一가-\u{D7FF}]+";
const DEEPSEEK_V3: &str = r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"##;
const SEED_CODER: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+";
const BAILING: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+";
/// Letters that have a case, in Unicode 12, with one blank in front.
const CASED_LETTERS: &str = concat!(
    r"\s?[",
    r"A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚ",
    r"Ḁ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝ\x{1F5F}-\x{1F7D}ᾀ-ᾴᾶ-ᾼ\x{1FBE}ῂ-ῄῆ-ῌ\x{1FD0}-\x{1FD3}",
    r"\x{1FD6}-\x{1FDB}ῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\x{2126}ℨ\x{212A}-\x{212D}ℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻ",
    r"Ȿ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃",
    r"]+",
);

impl Rule {
    /// The rule of a `tokenizer.ggml.pre`.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        RULES.iter().find(|rule| rule.names.contains(&name))
    }

    /// GPT-2's, for files that name none.
    pub(super) fn gpt2() -> &'static Self {
        &RULES[0]
    }

    /// The best known name.
    pub(super) fn name(&self) -> &'static str {
        self.names[0]
    }

    /// The best known name of every rule, for a message.
    pub(super) fn known() -> String {
        RULES.iter().map(Self::name).collect::<Vec<_>>().join(", ")
    }

    /// The cuts as `tokenizers` makes them.
    pub(super) fn pre_tokenizer(&self) -> Result<PreTokenizerWrapper, tokenizers::Error> {
        let steps = self.steps.iter().map(|&step| -> Result<PreTokenizerWrapper, tokenizers::Error> {
            Ok(match step {
                Step::Regex(regex) => {
                    let pattern = SplitPattern::Regex(regex.to_owned());
                    Split::new(pattern, SplitDelimiterBehavior::Isolated, false)?.into()
                }
                Step::EachDigit => Digits::new(true).into(),
                Step::DigitRuns => Digits::new(false).into(),
                Step::Punctuation => Punctuation::new(SplitDelimiterBehavior::Contiguous).into(),
                Step::Gpt2 => ByteLevel::new(false, true, true).into(),
                Step::Bytes => ByteLevel::new(false, true, false).into(),
            })
        });
        Ok(Sequence::new(steps.collect::<Result<_, _>>()?).into())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_rule_compiles_and_every_name_is_one_rules() {
        let mut names = BTreeSet::new();
        for rule in &RULES {
            rule.pre_tokenizer().unwrap();
            assert!(rule.names.iter().all(|name| names.insert(*name)), "{:?}", rule.names);
        }
        assert_eq!(Rule::named("starcoder").map(Rule::name), Some("smollm"));
        assert!(Rule::named("").is_none() && names.len() > 40);
    }
}
