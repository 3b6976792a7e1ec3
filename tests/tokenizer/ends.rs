//! Exactly the right number of BOS and EOS, family by family, from both kinds of files.

use serde_json::{Value, json};

use super::kinds::{RULES, gguf_header};
use super::*;

/// How a family's files are, and what must come of them.
struct Family {
    name: &'static str,
    /// A rule of byte-level BPE, or a SentencePiece fixture.
    base: &'static str,
    bos: &'static str,
    eos: &'static str,
    /// `add_bos_token` of the GGUF file, where it has one.
    gguf_adds: Option<bool>,
    /// Whether the post-processor of tokenizer.json adds BOS.
    processor_adds: bool,
    /// The folder's tokenizer_config.json.
    config: Value,
    template: Option<&'static str>,
    /// BOS at the start of plain text and of a chat.
    plain: usize,
    chat: usize,
}

const WRITES_BOS: &str = "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}";
const LLAMA2: &str =
    "{% for m in messages %}{{ bos_token + '[INST] ' + m.content + ' [/INST]' }}{% endfor %}";
const BARE: &str = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}";

fn families() -> Vec<Family> {
    let family = |name, base, bos, eos| Family {
        name,
        base,
        bos,
        eos,
        gguf_adds: None,
        processor_adds: false,
        config: json!({ "bos_token": bos, "eos_token": eos }),
        template: None,
        plain: 0,
        chat: 0,
    };
    let adds = |add: bool, bos: &str, eos: &str| json!({ "bos_token": bos, "eos_token": eos, "add_bos_token": add, "add_eos_token": false });
    let text = "<|endoftext|>";
    vec![
        Family {
            gguf_adds: Some(true),
            processor_adds: true,
            config: adds(true, "<s>", "</s>"),
            template: Some(LLAMA2),
            plain: 1,
            chat: 1,
            ..family("llama 2", "spm-llama", "<s>", "</s>")
        },
        Family {
            // Neither file says so: the rule and the post-processor do.
            processor_adds: true,
            template: Some(WRITES_BOS),
            plain: 1,
            chat: 1,
            ..family("llama 3", "llama-bpe", "<|begin_of_text|>", "<|eot_id|>")
        },
        Family {
            gguf_adds: Some(true),
            processor_adds: true,
            template: Some(WRITES_BOS),
            plain: 1,
            chat: 1,
            ..family("gemma", "spm-gemma", "<s>", "</s>")
        },
        Family {
            gguf_adds: Some(false),
            config: json!({ "bos_token": null, "eos_token": "<|im_end|>", "add_bos_token": false }),
            template: Some(BARE),
            ..family("qwen 2.5", "qwen2", text, "<|im_end|>")
        },
        family("gpt-2", "gpt-2", text, text),
        family("gpt-neox", "olmo", text, text),
        Family {
            // `</s>` is its BOS.
            gguf_adds: Some(true),
            config: json!({ "bos_token": {"content": "</s>"}, "eos_token": "</s>", "add_bos_token": true }),
            plain: 1,
            chat: 1,
            ..family("opt", "gpt-2", "</s>", "</s>")
        },
        Family {
            gguf_adds: Some(false),
            config: adds(false, "<s>", "</s>"),
            template: Some(BARE),
            ..family("phi-3", "spm-llama", "<s>", "</s>")
        },
        Family {
            gguf_adds: Some(true),
            processor_adds: true,
            config: adds(true, "<s>", "</s>"),
            template: Some(WRITES_BOS),
            plain: 1,
            chat: 1,
            ..family("mistral", "spm-llama", "<s>", "</s>")
        },
        Family {
            processor_adds: true,
            template: Some(WRITES_BOS),
            plain: 1,
            chat: 1,
            ..family("mistral nemo", "tekken", "<s>", "</s>")
        },
        Family {
            gguf_adds: Some(false),
            // Each turn starts with what is BOS here.
            template: Some("{% for m in messages %}<|im_start|>{{ m.role }}{{ m.content }}{% endfor %}"),
            plain: 0,
            chat: 1,
            ..family("smollm2", "smollm", "<|im_start|>", "<|im_end|>")
        },
        family("bloom", "bloom", "<s>", "</s>"),
        family("falcon", "falcon", text, text),
        family("olmo 2", "dbrx", text, text),
    ]
}

impl Family {
    fn as_gguf(&self) -> PromptTokenizer {
        let mut header = if self.base.starts_with("spm-") {
            gguf_header(self.base)
        } else {
            let mut metadata = RULES.metadata_with(self.base, &[self.bos, self.eos]);
            let tokens = metadata["tokenizer.ggml.tokens"].as_array().unwrap();
            let id = |text: &str| tokens.iter().position(|token| token == text).unwrap();
            let (bos, eos) = (id(self.bos), id(self.eos));
            metadata["tokenizer.ggml.bos_token_id"] = bos.into();
            metadata["tokenizer.ggml.eos_token_id"] = eos.into();
            header(&metadata)
        };
        header.metadata.remove("tokenizer.ggml.add_bos_token");
        if let Some(add) = self.gguf_adds {
            header.metadata.insert("tokenizer.ggml.add_bos_token".into(), GgufValue::Bool(add));
        }
        if let Some(template) = self.template {
            header.metadata.insert("tokenizer.chat_template".into(), GgufValue::String(template.into()));
        }
        PromptTokenizer::from_gguf(&header, Path::new("model.gguf")).unwrap()
    }

    fn as_folder(&self) -> PromptTokenizer {
        let mut tokenizer: Value = if self.base.starts_with("spm-") {
            super::json(&format!("{}.tokenizer.json", self.base))
        } else {
            serde_json::from_str(&RULES.tokenizer_json_with(self.base, &[self.bos, self.eos])).unwrap()
        };
        if self.processor_adds {
            let added = tokenizer["added_tokens"].as_array().unwrap();
            let id = added.iter().find(|token| token["content"] == self.bos).unwrap()["id"].clone();
            tokenizer["post_processor"] = json!({
                "type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": self.bos, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {self.bos: {"id": self.bos, "ids": [id], "tokens": [self.bos]}}
            });
        }
        let mut config = self.config.clone();
        if let Some(template) = self.template {
            config["chat_template"] = template.into();
        }
        let folder = folder(&[
            ("tokenizer.json", &tokenizer.to_string()),
            ("tokenizer_config.json", &config.to_string()),
        ]);
        PromptTokenizer::from_folder(folder.path()).unwrap()
    }
}

#[test]
fn every_family_gets_the_right_number_of_bos() {
    let chat = [message("user", "the work"), message("assistant", "the"), message("user", "work")];
    for family in families() {
        for (from, tokenizer) in [("gguf", family.as_gguf()), ("folder", family.as_folder())] {
            let name = format!("{} from {from}", family.name);
            let starts = |sequence: &TokenSequence| {
                sequence.tokens.iter().take_while(|token| token.text() == family.bos).count()
            };
            let plain = tokenizer.encode_text("the work", false, BosChoice::Auto).unwrap();
            assert_eq!(starts(&plain), family.plain, "{name}: {plain:?}");
            assert_eq!(plain.warnings, Vec::<String>::new(), "{name}");
            assert_eq!(rejoined(&plain)[family.bos.len() * family.plain..], *b"the work", "{name}");
            assert_eq!(plain.starts_with_bos(), family.plain == 1, "{name}");
            match tokenizer.encode_chat(&chat, BosChoice::Auto) {
                Ok(sequence) => {
                    assert_eq!(starts(&sequence), family.chat, "{name}: {sequence:?}");
                    assert_eq!(sequence.warnings, Vec::<String>::new(), "{name}");
                }
                Err(error) => assert_eq!((error, family.template), (PromptError::NoTemplate, None), "{name}"),
            }
            let yes = tokenizer.encode_text("the work", false, BosChoice::Yes);
            if tokenizer.bos_id().is_some() {
                assert_eq!(starts(&yes.unwrap()), 1, "{name}");
            } else {
                assert_eq!(yes, Err(PromptError::NoBos), "{name}");
            }
            let no = tokenizer.encode_text("the work", false, BosChoice::No).unwrap();
            assert_eq!(starts(&no), 0, "{name}");
        }
    }
}

#[test]
fn eos_closes_plain_text_where_the_model_wants_it() {
    let ends = |tokenizer: &PromptTokenizer| {
        let sequence = tokenizer.encode_text("the work", false, BosChoice::Auto).unwrap();
        let last = sequence.tokens.last().unwrap();
        (last.text() == "</s>", last.origin == TokenOrigin::Special, sequence.warnings)
    };
    let told = vec!["EOS was added at the end, as the tokenizer wants".to_owned()];
    let mut header = gguf_header("spm-llama");
    header.metadata.insert("tokenizer.ggml.add_eos_token".into(), GgufValue::Bool(true));
    let template = GgufValue::String("{{ bos_token }}{{ messages[0].content }}".into());
    header.metadata.insert("tokenizer.chat_template".into(), template);
    let gguf = PromptTokenizer::from_gguf(&header, Path::new("model.gguf")).unwrap();
    assert!(gguf.adds_eos() && gguf.adds_bos());
    assert_eq!(ends(&gguf), (true, true, told.clone()));
    let chat = gguf.encode_chat(&[message("user", "the work")], BosChoice::Auto).unwrap();
    assert!(chat.tokens.last().unwrap().text() != "</s>" && chat.warnings.is_empty(), "{chat:?}");

    let config = |add: &str| format!(r#"{{"eos_token": "</s>", "add_eos_token": {add}}}"#);
    let folder = |add: &str| {
        let folder = small_folder("spm-llama", &[("tokenizer_config.json", &config(add))]);
        PromptTokenizer::from_folder(folder.path()).unwrap()
    };
    assert_eq!(ends(&folder("true")), (true, true, told));
    assert_eq!(
        folder("true").assumptions(),
        ["tokenizer_config.json wants EOS and tokenizer.json adds none: the former is followed"]
    );
    assert_eq!(ends(&folder("false")), (false, false, Vec::new()));
    assert!(folder("false").assumptions().is_empty());
}

/// OPT comes without tokenizer.json; its BOS is `</s>`, and `<s>` is not used.
#[test]
fn opt_as_it_comes_starts_with_its_bos() {
    let metadata = RULES.metadata_with("gpt-2", &["<s>", "<pad>", "</s>"]);
    let strings = |key: &str| -> Vec<String> { serde_json::from_value(metadata[key].clone()).unwrap() };
    let vocab: BTreeMap<String, usize> = strings("tokenizer.ggml.tokens").into_iter().zip(0..).collect();
    let merges = format!("#version: 0.2\n{}\n", strings("tokenizer.ggml.merges").join("\n"));
    let added = |text: &str| json!({"content": text, "normalized": true, "__type": "AddedToken"});
    let config = json!({"errors": "replace", "bos_token": added("</s>"), "eos_token": added("</s>"),
        "unk_token": added("</s>"), "add_prefix_space": false, "add_bos_token": true});
    let map = json!({"bos_token": added("</s>"), "pad_token": added("<pad>")});
    let folder = folder(&[
        ("vocab.json", &serde_json::to_string(&vocab).unwrap()),
        ("merges.txt", &merges),
        ("tokenizer_config.json", &config.to_string()),
        ("special_tokens_map.json", &map.to_string()),
    ]);
    let tokenizer = PromptTokenizer::from_folder(folder.path()).unwrap();
    let id = |text: &str| u32::try_from(vocab[text]).unwrap();
    assert_eq!(
        (tokenizer.bos_id(), tokenizer.adds_bos(), tokenizer.adds_eos()),
        (Some(id("</s>")), true, false)
    );
    assert!(tokenizer.is_special(id("<pad>")));
    let sequence = tokenizer.encode_text("the work<pad>", true, BosChoice::Auto).unwrap();
    let texts: Vec<String> = sequence.tokens.iter().map(Token::text).collect();
    assert_eq!((texts[0].as_str(), texts[texts.len() - 1].as_str()), ("</s>", "<pad>"));
    assert_eq!(sequence.ids().iter().filter(|&&one| one == id("</s>")).count(), 1);
}

/// A SentencePiece model alone is read as the classes that go with it read it.
#[test]
fn a_model_file_alone_wants_bos_where_its_kind_does() {
    let adds = |name: &str, config: &str| {
        let folder = folder(&[("tokenizer_config.json", config)]);
        std::fs::copy(fixtures().join(format!("{name}.model")), folder.path().join("tokenizer.model"))
            .unwrap();
        let tokenizer = PromptTokenizer::from_folder(folder.path()).unwrap();
        (tokenizer.adds_bos(), tokenizer.assumptions().len())
    };
    assert_eq!(adds("spm-llama", "{}"), (true, 1));
    assert_eq!(adds("spm-llama", r#"{"add_bos_token": false}"#), (false, 1));
    assert_eq!(adds("spm-unigram", "{}"), (false, 1));
}
