//! Prompts to tokens: ids equal to Hugging Face `tokenizers`, labels that rejoin to the text, the
//! right number of BOS, and chats rendered by the model's own template.

#[path = "../common/mod.rs"]
mod common;
mod damaged;
mod ends;
mod kinds;
mod templates;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proptest::prelude::*;
use sinkscope::model::chat::ChatMessage;
use sinkscope::model::gguf::{GgufHeader, GgufValue};
use sinkscope::model::tokenizer::{
    BosChoice, PromptError, PromptTokenizer, Token, TokenOrigin, TokenSequence, read_chat_file,
    read_prompt_file, read_token_ids_file,
};

/// Byte-level BPE, in both forms.
const KINDS: [&str; 4] = ["smollm", "gpt2", "llama-bpe", "qwen2"];
/// SentencePiece-like BPE with byte fallback, as folders; their files also ask to cut and to pad.
const PIECES: [&str; 3] = ["llama2", "gemma", "metaspace"];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tokenizer")
}

fn json(name: &str) -> serde_json::Value {
    let text = std::fs::read_to_string(fixtures().join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn strings() -> Vec<String> {
    serde_json::from_value(json("strings.json")).unwrap()
}

/// A GGUF header as a file with this metadata would have.
fn header(metadata: &serde_json::Value) -> GgufHeader {
    fn value(json: &serde_json::Value) -> GgufValue {
        match json {
            serde_json::Value::Bool(v) => GgufValue::Bool(*v),
            serde_json::Value::Number(v) => GgufValue::Unsigned(v.as_u64().unwrap()),
            serde_json::Value::String(v) => GgufValue::String(v.clone()),
            serde_json::Value::Array(v) => GgufValue::Array(v.iter().map(value).collect()),
            other => panic!("no metadata value: {other}"),
        }
    }
    let metadata = metadata.as_object().unwrap();
    let metadata: BTreeMap<String, GgufValue> = metadata.iter().map(|(k, v)| (k.clone(), value(v))).collect();
    GgufHeader { metadata, tensors: Vec::new(), data_offset: 0 }
}

fn small(kind: &str) -> serde_json::Value {
    json(&format!("{kind}.gguf.json"))
}

fn from_gguf(metadata: &serde_json::Value) -> Result<PromptTokenizer, PromptError> {
    PromptTokenizer::from_gguf(&header(metadata), Path::new("model.gguf"))
}

/// A small tokenizer of the given kind with this metadata on top.
fn small_with(kind: &str, extra: &[(&str, serde_json::Value)]) -> PromptTokenizer {
    let mut metadata = small(kind);
    for (key, value) in extra {
        metadata[key] = value.clone();
    }
    from_gguf(&metadata).unwrap()
}

/// A folder with these files; it goes when the value is dropped.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// The folder form of a small tokenizer, with more files beside it.
fn small_folder(kind: &str, files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = folder(files);
    std::fs::copy(fixtures().join(format!("{kind}.tokenizer.json")), folder.path().join("tokenizer.json"))
        .unwrap();
    folder
}

fn from_folder(kind: &str) -> PromptTokenizer {
    PromptTokenizer::from_folder(small_folder(kind, &[]).path()).unwrap()
}

fn message(role: &str, content: &str) -> ChatMessage {
    ChatMessage { role: role.to_owned(), content: content.to_owned() }
}

fn rejoined(sequence: &TokenSequence) -> Vec<u8> {
    sequence.tokens.iter().flat_map(|token| token.bytes.clone()).collect()
}

fn real_header() -> GgufHeader {
    GgufHeader::parse(&std::fs::read(common::smollm2_path()).unwrap()).unwrap()
}

/// The default model's tokenizer, from its GGUF file.
fn real_model() -> PromptTokenizer {
    PromptTokenizer::from_gguf(&real_header(), Path::new("model.gguf")).unwrap()
}

/// Compares with the ids that Hugging Face `tokenizers` gives: `[plain]` or `[plain, parsed]`.
fn assert_ids(tokenizer: &PromptTokenizer, name: &str) {
    let expected: Vec<Vec<Vec<u32>>> = serde_json::from_value(json(&format!("{name}.ids.json"))).unwrap();
    let strings = strings();
    assert_eq!(strings.len(), expected.len());
    assert!(strings.len() >= 200);
    for (text, ids) in strings.iter().zip(expected) {
        for (parse_specials, ids) in [(false, &ids[0]), (true, ids.last().unwrap())] {
            match tokenizer.encode_text(text, parse_specials, BosChoice::No) {
                Ok(sequence) => {
                    let mut own = sequence.ids();
                    let closed = sequence.warnings.iter().any(|warning| warning.starts_with("EOS was added"));
                    own.truncate(own.len() - usize::from(closed));
                    assert_eq!(&own, ids, "{name} {parse_specials} {text:?}");
                }
                Err(error) => assert!(ids.is_empty(), "{name} {text:?}: {error}"),
            }
        }
    }
}

#[test]
fn ids_equal_those_of_hugging_face() {
    for kind in KINDS {
        assert_ids(&from_gguf(&small(kind)).unwrap(), kind);
        assert_ids(&from_folder(kind), kind);
    }
    for kind in PIECES {
        assert_ids(&from_folder(kind), kind);
    }
}

#[test]
fn ids_of_the_default_model_equal_those_of_hugging_face() {
    let tokenizer = real_model();
    assert_ids(&tokenizer, "smollm2");
    assert_eq!((tokenizer.vocab_size(), tokenizer.bos_id(), tokenizer.adds_bos()), (49152, Some(1), false));
}

#[test]
fn every_rule_splits_differently() {
    let text = "x12345 DON'T\r\n\r\ne\u{301}";
    let ids =
        KINDS.map(|kind| from_gguf(&small(kind)).unwrap().encode_text(text, false, BosChoice::No).unwrap());
    let texts = ids.map(|sequence| sequence.tokens.iter().map(|t| t.bytes.clone()).collect::<Vec<_>>());
    for a in 0..KINDS.len() {
        for b in 0..a {
            assert_ne!(texts[a], texts[b], "{} and {}", KINDS[a], KINDS[b]);
        }
    }
}

/// Texts that each property is tried on.
const TEXTS: u32 = 256;

const METADATA: [&str; 7] = [
    "tokenizer.ggml.model",
    "tokenizer.ggml.pre",
    "tokenizer.ggml.tokens",
    "tokenizer.ggml.token_type",
    "tokenizer.ggml.merges",
    "tokenizer.ggml.bos_token_id",
    "tokenizer.ggml.eos_token_id",
];

static CHATML_TOKENIZER: LazyLock<PromptTokenizer> = LazyLock::new(|| chatml(&[]));

static SMALL: LazyLock<Vec<PromptTokenizer>> = LazyLock::new(|| {
    let gguf = KINDS.map(|kind| from_gguf(&small(kind)).unwrap());
    gguf.into_iter().chain(KINDS.map(from_folder)).chain(PIECES.map(from_folder)).collect()
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(TEXTS))]

    /// The small vocabularies hold every byte, so nothing may be missing.
    #[test]
    fn labels_rejoin_to_the_text(text in "(\\PC|[a-z ]|\\s|<\\|im_end\\|>|<tool>|\u{301}|日|👩🏽‍💻){1,40}", parse in any::<bool>()) {
        for tokenizer in SMALL.iter() {
            let sequence = tokenizer.encode_text(&text, parse, BosChoice::No).unwrap();
            prop_assert_eq!(rejoined(&sequence), text.as_bytes());
        }
    }

    /// In ChatML every byte of a content is the user's and every other byte is the template's.
    #[test]
    fn every_token_knows_its_origin(contents in prop::collection::vec("([a-z ]|\\s|user|assistant\n|\u{301}|日){0,12}", 1..4)) {
        let chat: Vec<ChatMessage> = contents.iter().map(|content| message("user", content)).collect();
        let mut users = "<|im_start|>system\nBe brief.<|im_end|>\n".bytes().map(|_| false).collect::<Vec<bool>>();
        for content in &contents {
            users.extend([false; "<|im_start|>user\n".len()]);
            users.extend(content.bytes().map(|_| true));
            users.extend([false; "<|im_end|>\n".len()]);
        }
        let sequence = CHATML_TOKENIZER.encode_chat(&chat, BosChoice::Auto).unwrap();
        let mut at = 0;
        for token in &sequence.tokens {
            let own = users.get(at..at + token.bytes.len()).unwrap_or_default();
            at += token.bytes.len();
            let expected = match token.origin {
                TokenOrigin::Special => token.text().starts_with("<|"),
                TokenOrigin::Text => own.iter().any(|&user| user),
                TokenOrigin::Template => own.iter().all(|&user| !user),
            };
            prop_assert!(expected, "{:?} at byte {}", token, at);
        }
    }

    /// Whatever is damaged in the metadata, the loader answers.
    #[test]
    fn damaged_metadata_never_panics(key in prop::sample::select(METADATA.to_vec()), at in any::<prop::sample::Index>(), value in "[a-zĠ ]{0,9}", number in any::<u32>(), cut in any::<bool>()) {
        let mut metadata = small("qwen2");
        match &mut metadata[key] {
            serde_json::Value::Array(list) if cut => list.truncate(at.index(list.len())),
            serde_json::Value::Array(list) => {
                let at = at.index(list.len());
                list[at] = if list[at].is_number() { number.into() } else { value.into() };
            }
            serde_json::Value::Number(old) => *old = number.into(),
            other => *other = value.into(),
        }
        match from_gguf(&metadata) {
            Ok(tokenizer) => drop(tokenizer.encode_text("the user's <|im_end|> 日 12", true, BosChoice::Auto)),
            Err(error) => prop_assert!(!error.to_string().contains('\n')),
        }
    }

    #[test]
    fn any_text_rejoins(text in any::<String>().prop_filter("not empty", |t| !t.is_empty())) {
        for tokenizer in SMALL.iter() {
            let sequence = tokenizer.encode_text(&text, true, BosChoice::No).unwrap();
            prop_assert_eq!(rejoined(&sequence), text.as_bytes());
        }
    }
}

#[test]
fn hard_strings_rejoin_with_the_default_model() {
    let tokenizer = real_model();
    let mut dropped = 0;
    for text in strings() {
        match tokenizer.encode_text(&text, true, BosChoice::No) {
            // This vocabulary has no token for some bytes.
            Ok(sequence) if sequence.warnings.iter().any(|w| w.contains("the model does not see them")) => {
                assert!(rejoined(&sequence).len() < text.len(), "{text:?}: {:?}", sequence.warnings);
                dropped += 1;
            }
            Ok(sequence) => assert_eq!(rejoined(&sequence), text.as_bytes(), "{text:?}"),
            Err(error) => panic!("{text:?}: {error}"),
        }
    }
    assert!((1..20).contains(&dropped), "{dropped}");
}

#[test]
fn an_invented_space_is_no_text() {
    let tokenizer = from_folder("llama2");
    let texts = |text: &str| {
        let sequence = tokenizer.encode_text(text, true, BosChoice::Auto).unwrap();
        sequence.tokens.iter().map(Token::label).collect::<Vec<_>>()
    };
    assert_eq!(texts("hello").concat(), "<s>hello");
    assert_eq!(texts(" hello").concat(), "<s>·hello");
    // These swallow the blanks after and before them.
    assert_eq!(
        texts("hello<|im_end|> \n x  <|im_start|>")[1..],
        ["", "hello", "<|im_end|>·↵·", "x", "··<|im_start|>"]
    );
    assert_eq!(texts("\u{10FFFF}"), ["<s>", "", "<F4>", "<8F>", "<BF>", "<BF>"]);
}

#[test]
fn the_oracles_small_tokenizer_loads() {
    let config = r#"{"bos_token_id": 1, "vocab_size": 320}"#;
    let folder = folder(&[("config.json", config)]);
    std::fs::copy(fixtures().join("tiny.tokenizer.json"), folder.path().join("tokenizer.json")).unwrap();
    let tokenizer = PromptTokenizer::from_folder(folder.path()).unwrap();
    assert_eq!((tokenizer.vocab_size(), tokenizer.bos_id(), tokenizer.adds_bos()), (285, Some(1), false));
    assert_eq!(tokenizer.check_vocabulary(320), Ok(()));
    let sequence = tokenizer.encode_text("the <|im_start|>", true, BosChoice::Yes).unwrap();
    assert_eq!(
        sequence.tokens.iter().map(Token::text).collect::<Vec<_>>().concat(),
        "<|im_start|>the <|im_start|>"
    );
}

#[test]
fn split_characters_show_their_bytes() {
    let sequence = SMALL[1].encode_text("\u{10FFFF}", false, BosChoice::No).unwrap();
    let labels: Vec<String> = sequence.tokens.iter().map(Token::label).collect();
    assert_eq!(labels.concat(), "<F4><8F><BF><BF>", "{labels:?}");
}

/// The ids that transformers computed for the oracle's texts, specials parsed.
#[test]
fn the_default_model_reads_the_oracles_texts() {
    let tokenizer = real_model();
    for (text, ids) in [("smollm2-chat.json", 155), ("smollm2-gpl3.json", 300)].map(|(name, n)| {
        let oracle = json(name);
        let ids: Vec<u32> = serde_json::from_value(oracle["input_ids"].clone()).unwrap();
        assert_eq!(ids.len(), n);
        (oracle["text"].as_str().unwrap().to_owned(), ids)
    }) {
        let sequence = tokenizer.encode_text(&text, true, BosChoice::Auto).unwrap();
        assert_eq!(sequence.ids(), ids);
        assert_eq!(rejoined(&sequence), text.as_bytes());
    }
}

#[test]
fn typed_specials_are_read_only_on_demand() {
    let tokenizer = &SMALL[0];
    let plain = tokenizer.encode_text("<|im_end|><tool>", false, BosChoice::Auto).unwrap();
    assert_eq!(
        plain.tokens.iter().filter(|t| t.origin == TokenOrigin::Special).count(),
        1,
        "<tool> is no special"
    );
    assert_eq!(plain.warnings, ["The prompt contains <|im_end|>: it is read as plain text"]);
    let parsed = tokenizer.encode_text("<|im_end|><tool>", true, BosChoice::Auto).unwrap();
    assert!(parsed.warnings.is_empty());
    assert_eq!(parsed.ids().len(), 2);
    assert!(parsed.tokens.iter().all(|t| t.origin == TokenOrigin::Special));
    assert_eq!(parsed.tokens[0].label(), "<|im_end|>");
}

#[test]
fn bos_is_placed_as_the_model_or_the_user_says() {
    use BosChoice::{Auto, No, Yes};
    let adds = small_with("smollm", &[("tokenizer.ggml.add_bos_token", true.into())]);
    let bare = small_with("smollm", &[("tokenizer.ggml.add_bos_token", false.into())]);
    assert_eq!((adds.adds_bos(), bare.adds_bos(), bare.bos_id()), (true, false, Some(3)));
    for (tokenizer, choice, expected) in [
        (&adds, Auto, true),
        (&adds, Yes, true),
        (&adds, No, false),
        (&bare, Auto, false),
        (&bare, Yes, true),
        (&bare, No, false),
    ] {
        let sequence = tokenizer.encode_text("hello", false, choice).unwrap();
        assert_eq!(sequence.starts_with_bos(), expected, "{choice:?}");
        assert_eq!(sequence.ids().iter().filter(|&&id| id == 3).count(), usize::from(expected));
        let told = sequence
            .warnings
            .iter()
            .any(|w| w == "This model expects BOS at the start and the prompt has none");
        assert_eq!(told, tokenizer.adds_bos() && !expected);
        if expected {
            assert_eq!(
                (sequence.tokens[0].label(), sequence.tokens[0].origin),
                ("<s>".into(), TokenOrigin::Special)
            );
        }
    }
    let typed = adds.encode_text("<s>hello", true, Auto).unwrap();
    assert_eq!(typed.ids().iter().filter(|&&id| id == 3).count(), 1);
    assert_eq!(typed.warnings, ["The prompt already starts with BOS: none was added"]);
    let twice = adds.encode_text("<s><s>hello", true, Auto).unwrap();
    assert!(twice.warnings.contains(&"The prompt starts with BOS twice".to_owned()));
}

/// An explicit switch wins over the post-processor (as where GGUF files are made).
#[test]
fn bos_of_a_folder_follows_its_files() {
    let loaded = |kind, files: &[(&str, &str)]| {
        let tokenizer = PromptTokenizer::from_folder(small_folder(kind, files).path()).unwrap();
        let text = |id| tokenizer.sequence_of_ids(&[id], 10_000).unwrap().tokens[0].text();
        (tokenizer.bos_id().map(text), tokenizer.adds_bos())
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(loaded("smollm", &[]), (None, false));
    assert_eq!(loaded("llama-bpe", &[]), (some("<s>"), true));
    assert_eq!(
        loaded("llama-bpe", &[("tokenizer_config.json", r#"{"add_bos_token": false}"#)]),
        (some("<s>"), false)
    );
    let config = r#"{"bos_token": {"content": "<s>", "lstrip": false}, "add_bos_token": true}"#;
    assert_eq!(loaded("smollm", &[("tokenizer_config.json", config)]), (some("<s>"), true));
    let map = r#"{"bos_token": "<|im_start|>"}"#;
    assert_eq!(loaded("smollm", &[("special_tokens_map.json", map)]), (some("<|im_start|>"), false));
    let both = [
        ("tokenizer_config.json", r#"{"bos_token": null}"#),
        ("generation_config.json", r#"{"bos_token_id": 0}"#),
    ];
    assert_eq!(loaded("smollm", &both), (some("<|endoftext|>"), false));
    assert_eq!(loaded("smollm", &[("config.json", r#"{"bos_token_id": 99999}"#)]), (None, false));
    assert_eq!(loaded("smollm", &[("tokenizer_config.json", r#"{"add_bos_token": true}"#)]), (None, false));
    let contradicted = small_folder("smollm", &[("tokenizer_config.json", config)]);
    let tokenizer = PromptTokenizer::from_folder(contradicted.path()).unwrap();
    assert_eq!(
        tokenizer.assumptions(),
        ["tokenizer_config.json wants BOS and tokenizer.json adds none: the former is followed"]
    );
}

const CHATML: &str = "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nBe brief.<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

fn chatml(extra: &[(&str, serde_json::Value)]) -> PromptTokenizer {
    let mut all = vec![("tokenizer.chat_template", CHATML.into())];
    all.extend_from_slice(extra);
    small_with("smollm", &all)
}

#[test]
fn origins_tell_the_templates_words_from_the_users() {
    use TokenOrigin::{Special, Template, Text};
    let tokenizer = chatml(&[]);
    let chat = [message("user", "user"), message("assistant", "system\nBe brief.")];
    let sequence = tokenizer.encode_chat(&chat, BosChoice::Auto).unwrap();
    let rendered = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nuser<|im_end|>\n<|im_start|>assistant\nsystem\nBe brief.<|im_end|>\n";
    assert_eq!(tokenizer.render_chat(&chat).unwrap(), rendered);
    assert_eq!(rejoined(&sequence), rendered.as_bytes());
    let mut runs: Vec<(TokenOrigin, String)> = Vec::new();
    for token in &sequence.tokens {
        match runs.last_mut() {
            Some((origin, text)) if *origin == token.origin && token.origin != Special => {
                text.push_str(&token.text());
            }
            _ => runs.push((token.origin, token.text())),
        }
    }
    let run = |origin, text: &str| (origin, text.to_owned());
    assert_eq!(
        runs,
        [
            run(Special, "<|im_start|>"),
            run(Template, "system\nBe brief."),
            run(Special, "<|im_end|>"),
            run(Template, "\n"),
            run(Special, "<|im_start|>"),
            run(Template, "user\n"),
            run(Text, "user"),
            run(Special, "<|im_end|>"),
            run(Template, "\n"),
            run(Special, "<|im_start|>"),
            run(Template, "assistant\n"),
            run(Text, "system\nBe brief."),
            run(Special, "<|im_end|>"),
            run(Template, "\n"),
        ]
    );
}

#[test]
fn the_answer_is_asked_for_unless_it_is_there() {
    let tokenizer = chatml(&[]);
    let open = tokenizer.render_chat(&[message("user", "Hi")]).unwrap();
    assert!(open.ends_with("<|im_end|>\n<|im_start|>assistant\n"), "{open}");
    let closed = tokenizer.render_chat(&[message("user", "Hi"), message("assistant", "Ho")]).unwrap();
    assert!(closed.ends_with("Ho<|im_end|>\n"), "{closed}");
}

#[test]
fn specials_in_a_message_are_read_and_reported() {
    let sequence = chatml(&[]).encode_chat(&[message("user", "a<|im_end|>b")], BosChoice::Auto).unwrap();
    assert_eq!(sequence.warnings, ["A message contains <|im_end|>: it was read as a special token"]);
    let ends = sequence
        .tokens
        .iter()
        .filter(|t| t.text() == "<|im_end|>" && t.origin == TokenOrigin::Special)
        .count();
    assert_eq!(ends, 3);
}

#[test]
fn a_template_that_writes_bos_never_gets_a_second() {
    let adds = ("tokenizer.ggml.add_bos_token", serde_json::Value::from(true));
    let template = |source: &str| ("tokenizer.chat_template", serde_json::Value::from(source));
    let writes = small_with("smollm", &[adds.clone(), template("{{ bos_token }}{{ messages[0].content }}")]);
    let bare = small_with("smollm", &[adds, template("{{ messages[0].content }}")]);
    let chat = [message("user", "hello")];
    let count = |s: &TokenSequence| s.ids().iter().filter(|&&id| id == 3).count();
    for choice in [BosChoice::Auto, BosChoice::Yes] {
        for tokenizer in [&writes, &bare] {
            let sequence = tokenizer.encode_chat(&chat, choice).unwrap();
            assert!(sequence.starts_with_bos());
            assert_eq!(count(&sequence), 1);
        }
    }
    assert_eq!(count(&writes.encode_chat(&chat, BosChoice::No).unwrap()), 0);
}

#[test]
fn ids_are_taken_as_given() {
    let tokenizer = &SMALL[0];
    let size = tokenizer.vocab_size();
    let last = u32::try_from(size).unwrap();
    let sequence = tokenizer.sequence_of_ids(&[3, 3, 40, last], size + 8).unwrap();
    assert_eq!(sequence.ids(), [3, 3, 40, last]);
    assert_eq!(sequence.tokens[0].origin, TokenOrigin::Special);
    assert_eq!(sequence.tokens[2].origin, TokenOrigin::Text);
    assert_eq!(sequence.tokens[3].label(), format!("<id:{last}>"));
    assert_eq!(
        sequence.warnings,
        ["The prompt starts with BOS twice", "The tokenizer has no text for 1 of the ids: shown as <id:…>"]
    );
}

#[test]
fn bad_prompts_say_what_is_wrong() {
    let tokenizer = &SMALL[0];
    let say = |result: Result<TokenSequence, PromptError>| result.unwrap_err().to_string();
    assert_eq!(say(tokenizer.encode_text("", true, BosChoice::Yes)), "The prompt is empty: type some text");
    assert_eq!(say(tokenizer.sequence_of_ids(&[], 10)), "The prompt is empty: type some text");
    assert_eq!(
        say(tokenizer.sequence_of_ids(&[1, 700], 700)),
        "Token id 700 at index 1 is outside the model's vocabulary of 700: use ids below 700"
    );
    assert_eq!(
        say(tokenizer.encode_chat(&[message("user", "x")], BosChoice::Auto)),
        "This model has no chat template: use a plain text prompt"
    );
    assert_eq!(
        say(chatml(&[]).encode_chat(&[], BosChoice::Auto)),
        "The chat has no message: add at least one turn"
    );
    let no_bos = PromptTokenizer::from_folder(small_folder("smollm", &[]).path()).unwrap();
    assert_eq!(
        say(no_bos.encode_text("x", false, BosChoice::Yes)),
        "This model has no BOS token: choose BOS auto or no"
    );
    let refusing =
        chatml(&[("tokenizer.chat_template", "\n{{ raise_exception('Only users may speak') }}".into())]);
    assert_eq!(
        say(refusing.encode_chat(&[message("x", "x")], BosChoice::Auto)),
        "The chat template refuses this chat: Only users may speak (template line 2)"
    );
    // A broken template leaves plain prompts alone.
    let broken = chatml(&[("tokenizer.chat_template", "{% for %}".into())]);
    assert!(broken.has_chat_template() && broken.encode_text("x", false, BosChoice::No).is_ok());
    assert!(
        say(broken.encode_chat(&[message("user", "x")], BosChoice::Auto))
            .starts_with("The chat template failed: ")
    );
}

#[test]
fn a_tokenizer_must_fit_the_vocabulary() {
    let load = || from_gguf(&small("gpt2")).unwrap();
    let (tokenizer, size) = (load(), load().vocab_size());
    assert_eq!(tokenizer.check_vocabulary(size), Ok(()));
    assert_eq!(load().check_vocabulary(size + 100), Ok(()));
    // The last ids are added tokens, which may lack a row as long as nobody uses them.
    let last = u32::try_from(size - 1).unwrap();
    assert!(tokenizer.is_special(last));
    let added = tokenizer.sequence_of_ids(&[last], size).unwrap().tokens[0].text();
    assert!(tokenizer.encode_text(&format!("the {added}"), true, BosChoice::No).is_ok());
    let short = load();
    assert_eq!(short.check_vocabulary(size - 1), Ok(()));
    assert!(short.encode_text("the work", true, BosChoice::No).is_ok());
    let refused = short.encode_text(&format!("the {added}"), true, BosChoice::No).unwrap_err();
    assert!(
        matches!(refused, PromptError::IdOutsideVocabulary { id, vocab, .. } if id == last && vocab == size - 1),
        "{refused}"
    );
    let ordinary = (0..=last).rev().find(|&id| !tokenizer.is_special(id)).unwrap() as usize;
    assert_eq!(load().check_vocabulary(ordinary + 1), Ok(()));
    assert_eq!(
        load().check_vocabulary(ordinary).unwrap_err().to_string(),
        format!(
            "The tokenizer has {size} tokens but the model only {ordinary}: use the tokenizer that came with the model"
        )
    );
}

#[test]
fn bad_gguf_metadata_says_what_is_wrong() {
    let message = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut metadata = small("smollm");
        change(&mut metadata);
        from_gguf(&metadata).unwrap_err().to_string()
    };
    let wrong = |why: &str| format!("The tokenizer is damaged or not supported: {why}: model.gguf");
    assert_eq!(
        message(&|m| m["tokenizer.ggml.pre"] = "unheard-of".into()),
        wrong(
            "pre-tokenizer unheard-of is not known (those of gpt-2, olmo, smollm, command-r, qwen2, qwen35, llama-bpe, dbrx, tekken, gpt-4o, falcon, bloom, viking, deepseek-llm, deepseek-coder, deepseek-v3, seed-coder, bailingmoe are)"
        )
    );
    assert_eq!(
        message(&|m| m["tokenizer.ggml.model"] = "bert".into()),
        wrong("tokenizer kind bert is not supported (gpt2, llama, gemma4 and t5 are)")
    );
    assert_eq!(
        message(&|m| m["tokenizer.ggml.bos_token_id"] = 70_000.into()),
        wrong("tokenizer.ggml.bos_token_id is 70000, outside the vocabulary of 601")
    );
    assert_eq!(
        message(&|m| m["tokenizer.ggml.token_type"] = serde_json::json!([1])),
        wrong("1 token types for 601 tokens")
    );
    assert_eq!(
        message(&|m| m["tokenizer.ggml.merges"] = serde_json::json!(["ab"])),
        wrong("merge \"ab\" is no pair")
    );
    assert_eq!(
        message(&|m| m["tokenizer.ggml.merges"] = serde_json::json!(["日 本"])),
        wrong("the vocabulary lacks 日本, which a merge makes")
    );
    let longest = "x".repeat(200);
    assert_eq!(
        message(&|m| m["tokenizer.ggml.merges"] = serde_json::json!([format!("{longest} y")])),
        wrong(&format!("the vocabulary lacks {longest}y, which a merge makes"))
    );
    assert_eq!(
        message(&|m| m["tokenizer.ggml.tokens"] = serde_json::json!([1, 2])),
        wrong("tokenizer.ggml.tokens is no list of texts")
    );
    let none =
        PromptTokenizer::from_gguf(&header(&serde_json::json!({})), Path::new("model.gguf")).unwrap_err();
    assert_eq!(none.to_string(), wrong("the file has no tokenizer (tokenizer.ggml.model is missing)"));
}

#[test]
fn what_the_file_does_not_say_is_told() {
    let assumed = small_with("gpt2", &[("tokenizer.ggml.pre", "default".into())]);
    assert_eq!(assumed.assumptions().len(), 1);
    assert!(from_gguf(&small("gpt2")).unwrap().assumptions().is_empty());
}

#[test]
fn bad_folders_say_what_is_wrong() {
    let message = |files: &[(&str, &str)]| {
        let folder = folder(files);
        let error = PromptTokenizer::from_folder(folder.path()).unwrap_err().to_string();
        let path = folder.path().display().to_string();
        error.strip_suffix(&path).unwrap_or_else(|| panic!("the path is last: {error}")).to_owned()
    };
    assert_eq!(
        message(&[]),
        "The tokenizer is damaged or not supported: there is no tokenizer.json, get it from the model's page: "
    );
    for (name, text) in [("tokenizer.json", "{\"version\": "), ("tokenizer.json", "[]")] {
        let error = message(&[(name, text)]);
        assert!(error.starts_with("The tokenizer is damaged or not supported: tokenizer.json: "), "{error}");
        assert!(!error.contains('\n'));
    }
    let mut contradictory = json("smollm.tokenizer.json");
    contradictory["model"]["merges"] = serde_json::json!([["a".repeat(9), "b"]]);
    contradictory["model"]["vocab"] = serde_json::json!({"aaaaaaaaa": 0, "b": 1});
    assert_eq!(
        message(&[("tokenizer.json", &contradictory.to_string())]),
        "The tokenizer is damaged or not supported: tokenizer.json: its vocabulary and merges contradict each other, or a part of it is damaged: "
    );
    let mut far = json("smollm.tokenizer.json");
    far["model"]["vocab"]["zzz"] = u32::MAX.into();
    let folder = folder(&[("tokenizer.json", &far.to_string())]);
    let tokenizer = PromptTokenizer::from_folder(folder.path()).unwrap();
    assert!(tokenizer.check_vocabulary(1 << 20).is_err());
}

#[test]
fn bad_prompt_files_say_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let file = |bytes: &[u8]| {
        let path = folder.path().join("prompt");
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let tail = format!(": {}", folder.path().join("prompt").display());
    let say = |error: PromptError| {
        let text = error.to_string();
        text.strip_suffix(&tail).unwrap_or(&text).to_owned()
    };
    assert_eq!(read_prompt_file(&file("\u{FEFF}hé\r\n".as_bytes())).unwrap(), "hé\r\n");
    assert_eq!(
        say(read_prompt_file(&file(b"ab\xFFcd")).unwrap_err()),
        "The file is not UTF-8 text (byte 2): save it as UTF-8"
    );
    assert_eq!(say(read_prompt_file(&file(b"")).unwrap_err()), "The prompt is empty: type some text");
    let missing = read_prompt_file(&folder.path().join("none")).unwrap_err().to_string();
    assert!(missing.starts_with("Can't read the file (") && missing.ends_with("none"), "{missing}");

    let chat = read_chat_file(&file(br#"[{"role": "user", "content": "Hi"}]"#)).unwrap();
    assert_eq!(chat, [message("user", "Hi")]);
    assert_eq!(
        say(read_chat_file(&file(b"[]")).unwrap_err()),
        "The chat has no message: add at least one turn"
    );
    for (text, why) in [
        (r#"[{"role": "user"}]"#, "missing field `content` at line 1 column 17"),
        ("[{", "EOF while parsing"),
        ("Hi", "expected value at line 1 column 1"),
    ] {
        let said = say(read_chat_file(&file(text.as_bytes())).unwrap_err());
        assert!(
            said.starts_with(r#"The chat is not a list like [{"role": "user", "content": "…"}] ("#),
            "{said}"
        );
        assert!(said.contains(why), "{said}");
    }

    assert_eq!(read_token_ids_file(&file(b"[1, 2]")).unwrap(), [1, 2]);
    assert_eq!(read_token_ids_file(&file(br#"{"text": "x", "input_ids": [3]}"#)).unwrap(), [3]);
    assert_eq!(say(read_token_ids_file(&file(b"[]")).unwrap_err()), "The prompt is empty: type some text");
    for text in ["[-1]", "[4294967296]", "{\"ids\": [1]}", "[1.5]"] {
        assert_eq!(
            say(read_token_ids_file(&file(text.as_bytes())).unwrap_err()),
            "The token ids are not an array or an object with \"input_ids\" (no list of whole numbers)",
            "{text}"
        );
    }
}

#[test]
fn the_template_of_a_folder_is_found() {
    let rendered = |files: &[(&str, &str)]| {
        let tokenizer = PromptTokenizer::from_folder(small_folder("smollm", files).path()).unwrap();
        tokenizer.render_chat(&[message("user", "x")]).map_err(|error| error.to_string())
    };
    let in_config =
        ("tokenizer_config.json", r#"{"bos_token": "<s>", "chat_template": "{{ bos_token }}config"}"#);
    let named = (
        "tokenizer_config.json",
        r#"{"chat_template": [{"name": "tool_use", "template": "tool"}, {"name": "default", "template": "named"}]}"#,
    );
    let own = ("chat_template.jinja", "own{{ bos_token }}");
    assert_eq!(rendered(&[in_config]).as_deref(), Ok("<s>config"));
    assert_eq!(rendered(&[named]).as_deref(), Ok("named"));
    assert_eq!(rendered(&[in_config, own]).as_deref(), Ok("own<s>"));
    assert_eq!(rendered(&[]).unwrap_err(), "This model has no chat template: use a plain text prompt");
}

/// One template with one chat, as transformers renders and tokenises it.
#[derive(serde::Deserialize)]
struct ChatCase {
    template: String,
    chat: String,
    rendered: Option<String>,
    error: Option<String>,
    ids: Option<Vec<u32>>,
}

#[derive(serde::Deserialize)]
struct ChatCases {
    templates: BTreeMap<String, String>,
    chats: BTreeMap<String, Vec<ChatMessage>>,
    cases: Vec<ChatCase>,
}

fn chat_cases() -> ChatCases {
    serde_json::from_value(json("chats.json")).unwrap()
}

#[test]
fn chats_are_rendered_as_by_transformers() {
    let all = chat_cases();
    assert!(all.cases.len() >= 36);
    for case in &all.cases {
        let source = all.templates[&case.template].as_str();
        let tokenizer = small_with(
            "smollm",
            &[
                ("tokenizer.chat_template", source.into()),
                ("tokenizer.ggml.bos_token_id", 1.into()),
                ("tokenizer.ggml.eos_token_id", 2.into()),
            ],
        );
        let rendered = tokenizer.render_chat(&all.chats[&case.chat]);
        match (&case.rendered, &case.error) {
            (Some(expected), None) => {
                assert_eq!(rendered.as_ref(), Ok(expected), "{} / {}", case.template, case.chat);
                let sequence = tokenizer.encode_chat(&all.chats[&case.chat], BosChoice::Auto).unwrap();
                assert_eq!(rejoined(&sequence), expected.as_bytes());
            }
            (None, Some(why)) => assert!(rendered.unwrap_err().to_string().contains(why.as_str())),
            _ => panic!("a case is rendered or refused"),
        }
    }
}

#[test]
fn chats_of_the_default_model_get_the_ids_of_transformers() {
    let mut header = real_header();
    let all = chat_cases();
    for (name, source) in &all.templates {
        header.metadata.insert("tokenizer.chat_template".into(), GgufValue::String(source.clone()));
        let tokenizer = PromptTokenizer::from_gguf(&header, Path::new("model.gguf")).unwrap();
        for case in all.cases.iter().filter(|case| &case.template == name) {
            let Some(ids) = &case.ids else { continue };
            let sequence = tokenizer.encode_chat(&all.chats[&case.chat], BosChoice::Auto).unwrap();
            assert_eq!(&sequence.ids(), ids, "{name} / {}", case.chat);
        }
    }
}
