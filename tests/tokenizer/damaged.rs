//! Damaged files: each loader answers, with one line that says what is wrong and ends with the path.

use serde_json::{Value, json};

use super::kinds::gguf_header;
use super::*;

/// What a folder with these files says, less the path at its end.
fn folder_says(files: &[(&str, &[u8])]) -> Result<PromptTokenizer, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    PromptTokenizer::from_folder(folder.path()).map_err(|error| {
        let (text, path) = (error.to_string(), folder.path().display().to_string());
        assert!(!text.contains('\n'), "{text:?}");
        let text = text.strip_suffix(&path).unwrap_or_else(|| panic!("the path is last: {text}"));
        let text = text.strip_suffix(": ").unwrap();
        text.strip_prefix("The tokenizer is damaged or not supported: ").unwrap().to_owned()
    })
}

fn gguf_says(header: &GgufHeader) -> Result<PromptTokenizer, String> {
    PromptTokenizer::from_gguf(header, Path::new("x/model.gguf")).map_err(|error| {
        let text = error.to_string();
        assert!(!text.contains('\n'), "{text:?}");
        let text = text.strip_suffix(": x/model.gguf").unwrap_or_else(|| panic!("the path is last: {text}"));
        text.strip_prefix("The tokenizer is damaged or not supported: ").unwrap().to_owned()
    })
}

const TOKENIZER: &str = "tokenizer.json";
const CONFIG: &str = "tokenizer_config.json";

fn good() -> Vec<u8> {
    std::fs::read(fixtures().join("spm-llama.tokenizer.json")).unwrap()
}

#[test]
fn a_tokenizer_json_cut_anywhere_is_refused() {
    let good = good();
    assert!(folder_says(&[(TOKENIZER, &good)]).is_ok());
    for end in (0..good.len() - 2).step_by(good.len() / 97) {
        let said = folder_says(&[(TOKENIZER, &good[..end])]).unwrap_err();
        assert!(said.starts_with("tokenizer.json: "), "{said}");
    }
}

#[test]
fn a_wrong_tokenizer_json_is_refused() {
    let mut good: Value = serde_json::from_slice(&good()).unwrap();
    let cases: [(&str, Value); 12] = [
        ("", json!(null)),
        ("", json!([])),
        ("", json!({})),
        ("/model", json!(null)),
        ("/model", json!({"type": "Unheard"})),
        ("/model/vocab", json!([])),
        ("/model/vocab", json!({"a": -1})),
        ("/model/vocab", json!({"a": "b"})),
        ("/model/merges", json!([["a"]])),
        ("/model/merges", json!([["日本", "語"]])),
        ("/added_tokens", json!([{"id": 1}])),
        ("/normalizer", json!({"type": "Precompiled", "precompiled_charsmap": "AAAA"})),
    ];
    for (place, value) in cases {
        let whole = good.clone();
        *good.pointer_mut(place).unwrap() = value.clone();
        let said = folder_says(&[(TOKENIZER, good.to_string().as_bytes())]);
        let said = said.expect_err(&format!("{place} {value}"));
        assert!(said.starts_with("tokenizer.json: "), "{place} {value}: {said}");
        good = whole;
    }
    assert!(folder_says(&[(TOKENIZER, b"\xFF\xFE{")]).unwrap_err().starts_with("tokenizer.json: "));
    let empty = json!({"model": {"type": "BPE", "vocab": {}, "merges": []}, "added_tokens": []});
    assert_eq!(
        folder_says(&[(TOKENIZER, empty.to_string().as_bytes())]).unwrap_err(),
        "tokenizer.json: the vocabulary is empty"
    );
}

#[test]
fn a_wrong_tokenizer_config_is_refused() {
    for (config, why) in [
        ("", "EOF while parsing a value at line 1 column 0"),
        ("[]", "no object"),
        ("{\"add_bos_token\": tru", "EOF while parsing a value at line 1 column 21"),
        ("{\"add_bos_token\": \"yes\"}", "add_bos_token is neither true nor false"),
        ("{\"add_eos_token\": 1}", "add_eos_token is neither true nor false"),
        ("{\"bos_token\": 1}", "bos_token is no text"),
        ("{\"eos_token\": {\"contents\": \"x\"}}", "eos_token is no text"),
    ] {
        let said = folder_says(&[(TOKENIZER, &good()), (CONFIG, config.as_bytes())]).unwrap_err();
        assert!(said.starts_with("tokenizer_config.json: "), "{said}");
        assert!(said.contains(why), "{config}: {said}");
    }
    let said = folder_says(&[(TOKENIZER, &good()), ("special_tokens_map.json", b"{\"pad_token\": []}")]);
    assert_eq!(said.unwrap_err(), "special_tokens_map.json: pad_token is no text");
    // What names no token of this vocabulary is no token.
    let tokenizer = folder_says(&[(TOKENIZER, &good()), (CONFIG, br#"{"bos_token": "<nobody>"}"#)]).unwrap();
    assert_eq!(tokenizer.bos_id(), None);
}

#[test]
fn wrong_older_files_are_refused() {
    let vocab: &[u8] = br#"{"a": 0, "b": 1, "ab": 2}"#;
    let merges: &[u8] = b"#version: 0.2\na b\n";
    assert!(folder_says(&[("vocab.json", vocab), ("merges.txt", merges)]).is_ok());
    let missing = "there is no tokenizer.json, get it from the model's page";
    for files in [&[][..], &[("vocab.json", vocab)], &[("merges.txt", merges)]] {
        assert_eq!(folder_says(files).unwrap_err(), missing);
    }
    for (vocab, merges, why) in [
        (&b"{"[..], merges, "vocab.json: EOF"),
        (b"[]", merges, "vocab.json: invalid type"),
        (b"{}", merges, "vocab.json: the vocabulary is empty"),
        (b"{\"a\": -1}", merges, "vocab.json: invalid value"),
        (vocab, b"ab", "merges.txt: line 1 is no pair"),
        (vocab, b"#version: 0.2\na b c", "merges.txt: line 2 is no pair"),
        (vocab, b"a c", "merges.txt: the vocabulary lacks ac, which a merge makes"),
        (vocab, b"a \xFF", "merges.txt: not UTF-8 text (byte 2)"),
    ] {
        let said = folder_says(&[("vocab.json", vocab), ("merges.txt", merges)]).unwrap_err();
        assert!(said.starts_with(why), "{said}");
    }
    let model = std::fs::read(fixtures().join("spm-llama.model")).unwrap();
    assert!(folder_says(&[("tokenizer.model", &model)]).is_ok());
    for end in (0..model.len()).step_by(model.len() / 97) {
        if let Err(said) = folder_says(&[("tokenizer.model", &model[..end])]) {
            assert!(said.starts_with("tokenizer.model: "), "{end}: {said}");
        }
    }
    let said = folder_says(&[("tokenizer.model", b"")]).unwrap_err();
    assert_eq!(said, "tokenizer.model: the vocabulary is empty");
    assert!(folder_says(&[("tokenizer.model", b"version https://git-lfs")]).is_err());
    let far = br#"{"added_tokens_decoder": {"9000": {"content": "<far>"}}}"#;
    let said = folder_says(&[("tokenizer.model", &model), (CONFIG, far)]).unwrap_err();
    assert_eq!(said, "the added token <far> leaves a gap before its id");
}

fn list(values: impl IntoIterator<Item = u64>) -> GgufValue {
    GgufValue::Array(values.into_iter().map(GgufValue::Unsigned).collect())
}

fn texts(values: &[&str]) -> GgufValue {
    GgufValue::Array(values.iter().map(|&text| GgufValue::String(text.to_owned())).collect())
}

#[test]
fn wrong_sentencepiece_metadata_is_refused() {
    let nan = || {
        let mut scores = gguf_header("spm-llama").array("tokenizer.ggml.scores").unwrap().to_vec();
        scores[300] = GgufValue::Float(f64::NAN);
        GgufValue::Array(scores)
    };
    let unheard = GgufValue::String("unheard".to_owned());
    let cases: Vec<(&str, Option<GgufValue>, &str)> = vec![
        ("model", None, "the file has no tokenizer (tokenizer.ggml.model is missing)"),
        (
            "model",
            Some(unheard.clone()),
            "tokenizer kind unheard is not supported (gpt2, llama, gemma4 and t5 are)",
        ),
        ("tokens", None, "tokenizer.ggml.tokens is missing"),
        ("tokens", Some(texts(&[])), "the vocabulary is empty"),
        ("tokens", Some(list([1, 2])), "tokenizer.ggml.tokens is no list of texts"),
        ("tokens", Some(unheard.clone()), "tokenizer.ggml.tokens is missing"),
        ("tokens", Some(texts(&["a", "b", "c"])), "703 scores for 3 tokens"),
        ("scores", None, "tokenizer.ggml.scores is missing"),
        ("scores", Some(list([1])), "1 scores for 703 tokens"),
        ("scores", Some(texts(&["a"])), "tokenizer.ggml.scores is no list of numbers"),
        ("scores", Some(unheard.clone()), "tokenizer.ggml.scores is no list of numbers"),
        ("scores", Some(nan()), "the score of token 300 is NaN"),
        ("token_type", Some(list([1; 704])), "704 token types for 703 tokens"),
        ("token_type", Some(texts(&["a"])), "tokenizer.ggml.token_type is no list of numbers"),
        (
            "bos_token_id",
            Some(GgufValue::Unsigned(703)),
            "tokenizer.ggml.bos_token_id is 703, outside the vocabulary of 703",
        ),
        (
            "eos_token_id",
            Some(GgufValue::Unsigned(u64::MAX)),
            "tokenizer.ggml.eos_token_id is 18446744073709551615, outside the vocabulary of 703",
        ),
        ("bos_token_id", Some(GgufValue::Signed(-1)), "tokenizer.ggml.bos_token_id is no id"),
        ("bos_token_id", Some(unheard), "tokenizer.ggml.bos_token_id is no id"),
    ];
    for (key, value, why) in cases {
        let mut header = gguf_header("spm-llama");
        let key = format!("tokenizer.ggml.{key}");
        match value.clone() {
            Some(value) => header.metadata.insert(key.clone(), value),
            None => header.metadata.remove(&key),
        };
        assert_eq!(gguf_says(&header).expect_err(&key), why, "{key}");
    }
    let mut header = gguf_header("spm-unigram");
    for damaged in [list([256]), list([1, 2, 3]), list([255; 64]), texts(&["a"])] {
        header.metadata.insert("tokenizer.ggml.precompiled_charsmap".into(), damaged.clone());
        let said = gguf_says(&header).map(|t| t.encode_text("the ½", true, BosChoice::Auto));
        assert!(matches!(&said, Err(_) | Ok(Err(_))), "{damaged:?}: {said:?}");
    }
}

#[test]
fn vague_sentencepiece_metadata_is_told() {
    let mut header = gguf_header("spm-llama");
    header.metadata.insert("tokenizer.ggml.scores".into(), list([0; 703]));
    assert_eq!(
        gguf_says(&header).unwrap().assumptions(),
        ["The file ranks no piece of its vocabulary above another: words may be split differently"]
    );
    // Without kinds, the looks and the named ids tell.
    let mut header = gguf_header("spm-llama");
    header.metadata.remove("tokenizer.ggml.token_type");
    header.metadata.insert("tokenizer.ggml.unknown_token_id".into(), GgufValue::Unsigned(0));
    let tokenizer = gguf_says(&header).unwrap();
    let sequence = tokenizer.encode_text("<s>\u{10FFFF}", true, BosChoice::No).unwrap();
    let labels: Vec<String> = sequence.tokens.iter().map(Token::label).collect();
    assert_eq!(labels, ["<s>", "", "<F4>", "<8F>", "<BF>", "<BF>"]);
}

#[test]
fn merges_must_name_pieces() {
    for (merge, why) in [
        ("a", "merge \"a\" is no pair"),
        ("Ġ zq", "the vocabulary lacks Ġzq, which a merge makes"),
        ("", "merge \"\" is no pair"),
    ] {
        let mut header = header(&small("gpt2"));
        header.metadata.insert("tokenizer.ggml.merges".into(), texts(&[merge]));
        assert_eq!(gguf_says(&header).unwrap_err(), why);
    }
    let mut header = header(&json!({"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2"}));
    header.metadata.insert("tokenizer.ggml.tokens".into(), texts(&["a", "ab"]));
    header.metadata.insert("tokenizer.ggml.merges".into(), texts(&["a b"]));
    assert_eq!(gguf_says(&header).unwrap_err(), "the vocabulary lacks b, which a merge joins");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever is damaged in a SentencePiece vocabulary, the loader answers and so does the tokenizer.
    #[test]
    fn damaged_sentencepiece_metadata_never_panics(
        name in prop::sample::select(vec!["spm-llama", "spm-gemma", "spm-unigram"]),
        key in prop::sample::select(vec!["tokens", "scores", "token_type", "precompiled_charsmap", "model"]),
        at in any::<prop::sample::Index>(),
        text in "[a-z▁<>x0-9 ]{0,9}",
        number in any::<u32>(),
        cut in any::<bool>(),
    ) {
        let mut header = gguf_header(name);
        match header.metadata.get_mut(&format!("tokenizer.ggml.{key}")) {
            Some(GgufValue::Array(values)) if cut => values.truncate(at.index(values.len())),
            Some(GgufValue::Array(values)) => {
                let at = at.index(values.len());
                values[at] = match &values[at] {
                    GgufValue::String(_) => GgufValue::String(text),
                    _ => GgufValue::Unsigned(u64::from(number)),
                };
            }
            Some(value) => *value = GgufValue::String(["llama", "t5", "gemma4", "gpt2"][at.index(4)].to_owned()),
            None => {}
        }
        if let Ok(tokenizer) = gguf_says(&header) {
            drop(tokenizer.encode_text("the user's <|im_end|> 日 ½ 12", true, BosChoice::Auto));
        }
    }

    #[test]
    fn damaged_model_files_never_panic(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut model = std::fs::read(fixtures().join("spm-unigram.model")).unwrap();
        let at = at.index(model.len());
        model[at] = byte;
        if let Ok(tokenizer) = folder_says(&[("tokenizer.model", &model)]) {
            drop(tokenizer.encode_text("the user's ½ 日", true, BosChoice::Auto));
        }
    }
}
