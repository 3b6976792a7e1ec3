//! The chat templates of the families: what they write, whose words are whose, and how they fail.
//! The fixtures are made by tests/fixtures/templates/make.py.

use super::*;

#[derive(serde::Deserialize)]
struct Specials {
    bos_token: Option<String>,
    eos_token: String,
}

#[derive(serde::Deserialize)]
struct Case {
    template: String,
    chat: String,
    rendered: Option<String>,
    refused: Option<String>,
}

#[derive(serde::Deserialize)]
struct Rendered {
    families: BTreeMap<String, Specials>,
    chats: BTreeMap<String, Vec<ChatMessage>>,
    cases: Vec<Case>,
}

fn folder_of_templates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/templates")
}

fn rendered() -> Rendered {
    let text = std::fs::read_to_string(folder_of_templates().join("rendered.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// A small tokenizer with the template and the special tokens of a family.
fn of_family(name: &str, specials: &Specials) -> PromptTokenizer {
    let template = std::fs::read_to_string(folder_of_templates().join(format!("{name}.jinja"))).unwrap();
    let config = serde_json::json!({"bos_token": specials.bos_token, "eos_token": specials.eos_token});
    let files = [("chat_template.jinja", template.as_str()), ("tokenizer_config.json", &config.to_string())];
    PromptTokenizer::from_folder(small_folder("smollm", &files).path()).unwrap()
}

#[test]
fn every_familys_template_writes_what_transformers_writes() {
    let all = rendered();
    assert!(all.families.len() >= 18 && all.cases.len() == all.families.len() * all.chats.len());
    for (family, specials) in &all.families {
        let tokenizer = of_family(family, specials);
        for case in all.cases.iter().filter(|case| &case.template == family) {
            let own = tokenizer.render_chat(&all.chats[&case.chat]);
            match (&case.rendered, &case.refused) {
                (Some(text), None) => assert_eq!(own.as_ref(), Ok(text), "{family} / {}", case.chat),
                (None, Some(why)) => {
                    let said = own.unwrap_err().to_string();
                    let start = format!("The chat template refuses this chat: {why} (template line ");
                    assert!(said.starts_with(&start), "{family} / {}: {said}", case.chat);
                }
                _ => panic!("a case is rendered or refused"),
            }
        }
    }
}

/// Contents are the user's, all else is the template's, whatever the family does with them.
#[test]
fn every_familys_words_are_told_from_the_users() {
    let all = rendered();
    for (family, specials) in &all.families {
        let tokenizer = of_family(family, specials);
        for chat in ["one turn", "one turn under a system", "three turns", "five turns under a system"] {
            let messages = &all.chats[chat];
            let Ok(sequence) = tokenizer.encode_chat(messages, BosChoice::No) else { continue };
            let text = String::from_utf8(rejoined(&sequence)).unwrap();
            let mut own = vec![false; text.len()];
            let mut at = 0;
            // Mistral writes the system's words in the last turn.
            let moved = family == "mistral-v0.3";
            for message in messages.iter().filter(|message| !moved || message.role != "system") {
                let content = message.content.trim();
                at += text[at..]
                    .find(content)
                    .unwrap_or_else(|| panic!("{family} {chat}: {content:?} in {text:?}"));
                own[at..at + content.len()].fill(true);
                at += content.len();
            }
            let mut at = 0;
            for token in &sequence.tokens {
                let bytes = &own[at..at + token.bytes.len()];
                at += token.bytes.len();
                let users = bytes.iter().any(|&user| user);
                let blank = token.text().trim().is_empty();
                match token.origin {
                    TokenOrigin::Special | TokenOrigin::Template => {
                        assert!(!users, "{family} {chat}: {token:?}");
                    }
                    TokenOrigin::Text => assert!(users || blank || moved, "{family} {chat}: {token:?}"),
                }
            }
        }
    }
}

#[test]
fn templates_are_found_wherever_models_keep_them() {
    let rendered = |files: &[(&str, &str)]| {
        let tokenizer = PromptTokenizer::from_folder(small_folder("smollm", files).path()).unwrap();
        let text = tokenizer.render_chat(&[message("user", "x")]).map_err(|error| error.to_string());
        (text, tokenizer.assumptions().to_vec())
    };
    let ok = |text: &str| (Ok(text.to_owned()), Vec::new());
    let config = ("tokenizer_config.json", r#"{"chat_template": "config"}"#);
    let own = ("chat_template.json", r#"{"chat_template": "own"}"#);
    assert_eq!(rendered(&[own]), ok("own"));
    assert_eq!(rendered(&[own, config]), ok("config"));
    assert_eq!(rendered(&[own, config, ("chat_template.jinja", "jinja")]), ok("jinja"));
    let object = r#"{"chat_template": {"default": "plain", "rag": "other"}}"#;
    assert_eq!(rendered(&[("tokenizer_config.json", object)]), ok("plain"));
    let none = r#"{"chat_template": [{"name": "rag", "template": "r"}, {"name": "talk", "template": "t"}]}"#;
    let assumed = "The model has the chat templates rag, talk and no default: talk is used";
    assert_eq!(rendered(&[("tokenizer_config.json", none)]), (Ok("t".to_owned()), vec![assumed.to_owned()]));

    let gguf = |keys: &[(&str, &str)]| {
        let keys: Vec<(&str, serde_json::Value)> =
            keys.iter().map(|&(key, text)| (key, text.into())).collect();
        let tokenizer = small_with("smollm", &keys);
        (
            tokenizer.render_chat(&[message("user", "x")]).map_err(|error| error.to_string()),
            tokenizer.assumptions().to_vec(),
        )
    };
    let named = ("tokenizer.chat_template.tool_use", "tools");
    assert_eq!(gguf(&[("tokenizer.chat_template", "main"), named]), ok("main"));
    assert_eq!(gguf(&[("tokenizer.chat_template.default", "default"), named]), ok("default"));
    assert_eq!(gguf(&[named]), ok("tools"));
}

/// A template that can't be used is told when a chat is asked for; plain prompts go on.
#[test]
fn broken_templates_say_why_and_where() {
    let said = |files: &[(&str, &[u8])]| {
        let folder = small_folder("smollm", &[]);
        for (name, bytes) in files {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        let tokenizer = PromptTokenizer::from_folder(folder.path()).unwrap();
        assert!(tokenizer.encode_text("x", false, BosChoice::Auto).is_ok());
        let error = tokenizer.render_chat(&[message("user", "x")]).unwrap_err();
        assert_eq!(tokenizer.encode_chat(&[message("user", "x")], BosChoice::Auto).unwrap_err(), error);
        let text = error.to_string();
        assert!(!text.contains('\n'));
        text
    };
    let jinja = |text: &'static str| said(&[("chat_template.jinja", text.as_bytes())]);
    let start = "The chat template failed: ";
    for (source, end) in [
        ("a\n{% if messages %}\nb", "(template line 3)"),
        ("{% for m in messages %}{{ m.content }}", "(template line 1)"),
        ("{{ messages[0].content | unheard_of }}", "at unheard_of (template line 1)"),
        ("\n{{ messages[0].content + 1 }}", "at messages[0].content + 1 (template line 2)"),
        ("{{ }}", "(template line 1)"),
        ("{% generation", "(template line 1)"),
    ] {
        let text = jinja(source);
        assert!(text.starts_with(start) && text.ends_with(end), "{source:?}: {text}");
    }
    let endless = "{% for a in range(99999) %}{% for b in range(99999) %}{{ a }}{% endfor %}{% endfor %}";
    assert!(jinja(endless).starts_with(&format!("{start}it does not come to an end, or writes too much")));
    assert_eq!(
        said(&[("chat_template.jinja", b"ab\xFFc")]),
        format!("{start}chat_template.jinja is not UTF-8 text (byte 2)")
    );
    for (config, why) in [
        (r#"{"chat_template": 5}"#, "chat_template is no text"),
        (r#"{"chat_template": [{"template": "x"}]}"#, "chat_template has an entry without a name or a text"),
        (r#"{"chat_template": [5]}"#, "chat_template has an entry without a name or a text"),
    ] {
        let text = said(&[("tokenizer_config.json", config.as_bytes())]);
        assert_eq!(text, format!("{start}tokenizer_config.json: {why}"));
    }
    assert_eq!(said(&[("chat_template.json", b"[]")]), format!("{start}chat_template.json: no object"));
    let cut = said(&[("chat_template.json", b"{\"chat_template\": \"x")]);
    assert!(cut.starts_with(&format!("{start}chat_template.json: EOF")), "{cut}");
}

#[test]
fn a_model_without_a_template_offers_plain_text_and_says_so() {
    let without = small_with("smollm", &[]);
    assert_eq!(without.template_problem(), Some(PromptError::NoTemplate));
    assert_eq!(
        PromptError::NoTemplate.to_string(),
        "This model has no chat template: use a plain text prompt"
    );
    assert_eq!(chatml(&[]).template_problem(), None);
    let broken = chatml(&[("tokenizer.chat_template", "{% for %}".into())]);
    assert!(matches!(broken.template_problem(), Some(PromptError::Template { .. })));
}
