//! Every kind of tokenizer gives the ids of the library that it comes from, from every file that
//! carries it. The fixtures are made by tests/fixtures/tokenizer/make.py.

use std::collections::BTreeMap;

use serde_json::Value;

use super::*;

/// SentencePiece vocabularies: as GGUF files by the gguf package, as folders, as model files.
const SENTENCEPIECE: [(&str, &str); 3] = [
    ("spm-llama", "SentencePiece BPE"),
    ("spm-gemma", "SentencePiece BPE"),
    ("spm-unigram", "SentencePiece unigram"),
];

pub(super) fn gguf_header(name: &str) -> GgufHeader {
    GgufHeader::parse(&std::fs::read(fixtures().join(format!("{name}.gguf"))).unwrap()).unwrap()
}

pub(super) fn gguf_tokenizer(name: &str) -> PromptTokenizer {
    PromptTokenizer::from_gguf(&gguf_header(name), Path::new("model.gguf")).unwrap()
}

#[test]
fn sentencepiece_ids_equal_the_originals() {
    for (name, kind) in SENTENCEPIECE {
        let tokenizer = gguf_tokenizer(name);
        assert_eq!(tokenizer.kind(), kind);
        assert_ids(&tokenizer, name);
        assert!(tokenizer.assumptions().is_empty(), "{name}: {:?}", tokenizer.assumptions());
        let tokenizer = from_folder(name);
        assert_eq!(tokenizer.kind(), kind);
        assert_ids(&tokenizer, name);
    }
}

/// The model file knows nothing of what was added to it later.
#[test]
fn sentencepiece_model_files_are_read() {
    let config = r#"{"added_tokens_decoder": {
        "700": {"content": "<|im_start|>", "special": true}, "701": {"content": "<|im_end|>", "special": true},
        "702": {"content": "<tool>", "special": false}}}"#;
    for (name, config) in [("spm-llama", config), ("spm-gemma", "{}"), ("spm-unigram", "{}")] {
        let folder = folder(&[("tokenizer_config.json", config)]);
        std::fs::copy(fixtures().join(format!("{name}.model")), folder.path().join("tokenizer.model"))
            .unwrap();
        let tokenizer = PromptTokenizer::from_folder(folder.path()).unwrap();
        assert_ids(&tokenizer, name);
        assert_eq!(tokenizer.assumptions(), ["There is no tokenizer.json: tokenizer.model is read"]);
    }
}

/// GPT-2's own pair of files, as OPT still comes.
#[test]
fn a_vocabulary_with_merges_beside_it_is_read() {
    let mut json = json("gpt2.tokenizer.json");
    let merges = json["model"]["merges"].as_array().unwrap().iter().map(|merge| match merge {
        Value::String(pair) => pair.clone(),
        pair => format!("{} {}", pair[0].as_str().unwrap(), pair[1].as_str().unwrap()),
    });
    let merges = format!("#version: 0.2\n{}\n", merges.collect::<Vec<_>>().join("\n"));
    let added: serde_json::Map<String, Value> = json["added_tokens"]
        .as_array()
        .unwrap()
        .iter()
        .map(|token| (token["id"].to_string(), token.clone()))
        .collect();
    let config = serde_json::json!({ "added_tokens_decoder": added, "tokenizer_class": "GPT2Tokenizer" });
    let vocab = json["model"]["vocab"].take().to_string();
    let folder = folder(&[
        ("vocab.json", &vocab),
        ("merges.txt", &merges),
        ("tokenizer_config.json", &config.to_string()),
    ]);
    let tokenizer = PromptTokenizer::from_folder(folder.path()).unwrap();
    assert_ids(&tokenizer, "gpt2");
    assert_eq!(
        tokenizer.assumptions(),
        ["There is no tokenizer.json: vocab.json and merges.txt are read by the rule of gpt-2"]
    );
}

#[derive(serde::Deserialize)]
pub(super) struct Rules {
    vocab: Vec<String>,
    merges: Vec<String>,
    specials: Vec<String>,
    /// By rule and index of the string; what is not there is as under GPT-2's rule.
    ids: BTreeMap<String, BTreeMap<usize, Vec<Vec<u32>>>>,
    tokenizers: BTreeMap<String, Value>,
}

impl Rules {
    fn metadata(&self, pre: &str) -> Value {
        self.metadata_with(pre, &[])
    }

    /// The specials of the vocabulary and these.
    fn specials_and<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let mut specials: Vec<&str> = self.specials.iter().map(String::as_str).collect();
        for text in more {
            if !specials.contains(text) {
                specials.push(text);
            }
        }
        specials
    }

    pub(super) fn metadata_with(&self, pre: &str, more: &[&str]) -> Value {
        let specials = self.specials_and(more);
        let tokens: Vec<&str> = self.vocab.iter().map(String::as_str).chain(specials).collect();
        let types = (0..tokens.len()).map(|id| if id < self.vocab.len() { 1 } else { 3 }).collect::<Vec<_>>();
        serde_json::json!({
            "tokenizer.ggml.model": "gpt2",
            "tokenizer.ggml.pre": pre,
            "tokenizer.ggml.tokens": tokens,
            "tokenizer.ggml.token_type": types,
            "tokenizer.ggml.merges": self.merges,
        })
    }

    fn tokenizer_json(&self, rule: &str) -> String {
        self.tokenizer_json_with(rule, &[])
    }

    pub(super) fn tokenizer_json_with(&self, rule: &str, more: &[&str]) -> String {
        let own = &self.tokenizers[rule];
        let vocab: BTreeMap<&String, usize> = self.vocab.iter().zip(0..).collect();
        let added = self.specials_and(more).into_iter().zip(self.vocab.len()..).map(|(content, id)| {
            serde_json::json!({"id": id, "content": content, "single_word": false, "lstrip": false,
                "rstrip": false, "normalized": false, "special": true})
        });
        let json = serde_json::json!({
            "version": "1.0", "truncation": null, "padding": null, "post_processor": null,
            "added_tokens": added.collect::<Vec<_>>(),
            "normalizer": own["normalizer"],
            "pre_tokenizer": own["pre_tokenizer"],
            "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
            "model": {"type": "BPE", "vocab": vocab, "merges": self.merges, "ignore_merges": own["ignore_merges"]},
        });
        json.to_string()
    }

    /// `(text, ids plain, ids with specials read)` under a rule.
    fn expected(&self, rule: &str) -> Vec<(String, Vec<u32>, Vec<u32>)> {
        let all = strings().into_iter().enumerate();
        let with_ids = all.map(|(at, text)| {
            let ids = self.ids[rule].get(&at).unwrap_or_else(|| &self.ids["gpt-2"][&at]);
            (text, ids[0].clone(), ids.last().unwrap().clone())
        });
        with_ids.collect()
    }
}

pub(super) static RULES: LazyLock<Rules> =
    LazyLock::new(|| serde_json::from_value(json("rules.json")).unwrap());

#[test]
fn every_rule_of_byte_level_bpe_gives_the_originals_ids() {
    assert!(RULES.ids.len() >= 18);
    for rule in RULES.ids.keys() {
        let folder = folder(&[("tokenizer.json", &RULES.tokenizer_json(rule))]);
        let folder = PromptTokenizer::from_folder(folder.path()).unwrap();
        let gguf = from_gguf(&RULES.metadata(rule)).unwrap();
        assert_eq!(gguf.kind(), format!("byte-level BPE ({rule})"));
        for (text, plain, parsed) in RULES.expected(rule) {
            for (from, tokenizer) in [("folder", &folder), ("gguf", &gguf)] {
                for (parse, ids) in [(false, &plain), (true, &parsed)] {
                    let sequence = tokenizer.encode_text(&text, parse, BosChoice::No).unwrap();
                    assert_eq!(&sequence.ids(), ids, "{rule} {from} {parse} {text:?}");
                    assert_eq!(rejoined(&sequence), text.as_bytes(), "{rule} {from} {parse} {text:?}");
                }
            }
        }
    }
}

/// Rules that nobody could tell apart would be one; these two differ in what they do to whole tokens.
#[test]
fn every_rule_is_its_own() {
    let rules: Vec<&String> = RULES.ids.keys().collect();
    let differ = |a: &str, b: &str| RULES.expected(a) != RULES.expected(b);
    for (at, a) in rules.iter().enumerate() {
        for b in &rules[..at] {
            let same_cuts = [a.as_str(), b.as_str()] == ["llama-bpe", "dbrx"];
            assert_eq!(differ(a, b), !same_cuts, "{a} and {b}");
        }
    }
}

#[test]
fn sentencepiece_text_rejoins() {
    for (name, _) in SENTENCEPIECE {
        for tokenizer in [gguf_tokenizer(name), from_folder(name)] {
            for text in strings() {
                let sequence = match tokenizer.encode_text(&text, true, BosChoice::No) {
                    // This model's own rules take blanks away.
                    Err(error) if name == "spm-unigram" && text.trim().is_empty() => {
                        assert!(error.to_string().contains("no token for any of it"), "{error}");
                        continue;
                    }
                    sequence => sequence.unwrap(),
                };
                let unseen = sequence.warnings.iter().any(|w| w.contains("the model does not see them"));
                if unseen && name == "spm-unigram" {
                    assert!(rejoined_text(&sequence).len() < text.len(), "{text:?}");
                } else {
                    assert_eq!(rejoined_text(&sequence), text.as_bytes(), "{name} {text:?}");
                }
            }
        }
    }
}

/// The bytes of a sequence without those that the tokenizer itself added.
fn rejoined_text(sequence: &TokenSequence) -> Vec<u8> {
    let added = sequence.warnings.iter().any(|warning| warning.starts_with("EOS was added"));
    let own = sequence.tokens.len() - usize::from(added);
    sequence.tokens[..own].iter().flat_map(|token| token.bytes.clone()).collect()
}

/// Gemma 4's files list the merges instead of scores.
#[test]
fn listed_merges_do_the_same_as_scores() {
    let json = json("spm-gemma.tokenizer.json");
    let merges = json["model"]["merges"].as_array().unwrap().iter().map(|merge| {
        let part = |at: usize| merge[at].as_str().unwrap();
        GgufValue::String(format!("{} {}", part(0), part(1)))
    });
    let mut header = gguf_header("spm-gemma");
    header.metadata.insert("tokenizer.ggml.merges".into(), GgufValue::Array(merges.collect()));
    header.metadata.insert("tokenizer.ggml.model".into(), GgufValue::String("gemma4".into()));
    header.metadata.remove("tokenizer.ggml.scores");
    let tokenizer = PromptTokenizer::from_gguf(&header, Path::new("model.gguf")).unwrap();
    assert_ids(&tokenizer, "spm-gemma");
    assert!(tokenizer.adds_bos());
}

/// Blank runs are tokens of their own there, and still nobody's structure.
#[test]
fn runs_of_blanks_are_content() {
    for tokenizer in [gguf_tokenizer("spm-gemma"), from_folder("spm-gemma")] {
        let sequence = tokenizer.encode_text("the  the\n\nthe<b>", false, BosChoice::No).unwrap();
        let of = |text: &str| {
            let token = sequence.tokens.iter().find(|token| token.text() == text);
            token.unwrap_or_else(|| panic!("{text:?} in {:?}", sequence.tokens)).origin
        };
        assert_eq!(of("\n\n"), TokenOrigin::Text);
        assert_eq!(of("  "), TokenOrigin::Text);
        assert_eq!(of("<b>"), TokenOrigin::Special);
    }
}

#[test]
fn what_no_piece_covers_is_content_and_told() {
    let tokenizer = gguf_tokenizer("spm-unigram");
    let sequence = tokenizer.encode_text("ᚠ the", false, BosChoice::No).unwrap();
    let unknown: Vec<&Token> = sequence.tokens.iter().filter(|token| token.id == 0).collect();
    assert_eq!(
        unknown.iter().map(|t| (t.text(), t.origin)).collect::<Vec<_>>(),
        [("ᚠ".into(), TokenOrigin::Text)]
    );
    let told = "The model's vocabulary has no piece for the text of 1 tokens: the model sees none of it";
    assert!(sequence.warnings.iter().any(|warning| warning == told), "{:?}", sequence.warnings);
    let typed = tokenizer.encode_text("<unk>", true, BosChoice::No).unwrap();
    assert_eq!(typed.tokens[0].origin, TokenOrigin::Special);
}

/// Phi-3's markers swallow the blanks behind them; a GGUF file can't say so.
#[test]
fn phi3_markers_swallow_blanks() {
    let mut header = gguf_header("spm-llama");
    let texts = |header: &GgufHeader| {
        let tokenizer = PromptTokenizer::from_gguf(header, Path::new("model.gguf")).unwrap();
        let sequence = tokenizer.encode_text("<|im_start|>\nthe", true, BosChoice::No).unwrap();
        sequence.tokens.iter().map(Token::label).collect::<Vec<_>>()
    };
    assert_eq!(texts(&header)[0], "<|im_start|>");
    header.metadata.insert("general.architecture".into(), GgufValue::String("phi3".into()));
    assert_eq!(texts(&header)[0], "<|im_start|>↵");
}
