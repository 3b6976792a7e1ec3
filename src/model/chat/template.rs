//! Chat templates: Jinja as `transformers` runs it.

use std::collections::BTreeMap;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Kwargs;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Value};
use minijinja_contrib::pycompat::unknown_method_callback;

use super::{ChatMessage, clock, dialect};
use crate::model::tokenizer::{PromptError, one_line};

const NAME: &str = "chat_template";

/// What a rendering may cost, in the engine's unit of one instruction or about 64 bytes: a few
/// hundred megabytes for the template, and room for what each message brings.
const FUEL: u64 = 4_000_000;
const FUEL_A_MESSAGE: u64 = 10_000;
const FUEL_A_BYTE: u64 = 1;

/// Longest piece of a template that an error shows, in characters.
const SHOWN_CHARS: usize = 60;

/// A model's chat template, compiled.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    source: String,
    /// `bos_token`, `eos_token`, … as the template may ask for them.
    specials: BTreeMap<String, String>,
}

impl ChatTemplate {
    /// Compiles a template; `specials` maps `bos_token`, `eos_token`, … to their text.
    ///
    /// # Errors
    /// [`PromptError::Template`] with the line of the syntax error.
    pub fn new(source: &str, specials: BTreeMap<String, String>) -> Result<Self, PromptError> {
        let source = dialect::translated(source);
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| template_error(&error, &source))?);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_unknown_method_callback(unknown_method_callback);
        environment.add_function("raise_exception", raise_exception);
        environment.add_function("strftime_now", |format: &str| clock::strftime_now(format));
        environment.add_filter("tojson", to_json);
        environment
            .add_template_owned(NAME, source.clone())
            .map_err(|error| template_error(&error, &source))?;
        Ok(Self { environment, source, specials })
    }

    /// Renders a chat, with the start of an answer unless the last turn is the assistant's own.
    ///
    /// # Errors
    /// [`PromptError::TemplateRefuses`] where the template itself raises an error, and
    /// [`PromptError::Template`] where it fails or does not come to an end.
    pub fn render(&self, messages: &[ChatMessage]) -> Result<String, PromptError> {
        let answered = messages.last().is_some_and(|message| message.role == "assistant");
        let mut context: BTreeMap<&str, Value> =
            self.specials.iter().map(|(name, text)| (name.as_str(), Value::from(text.as_str()))).collect();
        context.insert("messages", messages.iter().map(message_value).collect());
        context.insert("add_generation_prompt", Value::from(!answered));
        context.insert("tools", Value::from(()));
        context.insert("documents", Value::from(()));
        let mut environment = self.environment.clone();
        environment.set_fuel(Some(fuel(messages)));
        let template = environment.get_template(NAME);
        let rendered = template.and_then(|template| template.render(context));
        rendered.map_err(|error| template_error(&error, &self.source))
    }
}

fn message_value(message: &ChatMessage) -> Value {
    Value::from_pairs([("role", message.role.as_str()), ("content", message.content.as_str())])
}

fn fuel(messages: &[ChatMessage]) -> u64 {
    let bytes: usize = messages.iter().map(|message| message.role.len() + message.content.len()).sum();
    FUEL + FUEL_A_MESSAGE * messages.len() as u64 + FUEL_A_BYTE * bytes as u64
}

/// Marks an error that the template itself raised.
#[derive(Debug, thiserror::Error)]
#[error("raised by the template")]
struct Raised;

fn raise_exception(message: &str) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message.to_owned()).with_source(Raised))
}

/// Python's `json.dumps(…, ensure_ascii=False)`: the engine's own filter also hides HTML signs.
#[expect(clippy::needless_pass_by_value, reason = "the engine hands options over by value")]
fn to_json(value: &Value, options: Kwargs) -> Result<Value, Error> {
    let indent: Option<Value> = options.get("indent")?;
    let json = minijinja::filters::tojson(value, indent, Kwargs::from_iter(Vec::<(String, Value)>::new()))?;
    Ok(Value::from(without_html_escapes(&json.to_string())))
}

fn without_html_escapes(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let escape = &rest[at..];
        let (plain, length) = match escape.get(..6) {
            Some("\\u003c") => ("<", 6),
            Some("\\u003e") => (">", 6),
            Some("\\u0026") => ("&", 6),
            Some("\\u0027") => ("'", 6),
            _ => (escape.get(..2).unwrap_or(escape), escape.len().min(2)),
        };
        out.push_str(plain);
        rest = &escape[length..];
    }
    out.push_str(rest);
    out
}

fn template_error(error: &Error, source: &str) -> PromptError {
    let line = error.line();
    let said = error.detail().map_or_else(|| error.kind().to_string(), one_line);
    if std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<Raised>) {
        return PromptError::TemplateRefuses { why: said, line };
    }
    let why = if error.kind() == ErrorKind::OutOfFuel {
        "it does not come to an end, or writes too much".to_owned()
    } else {
        said
    };
    let shown = shown(error, source).map(|part| format!(", at {part}"));
    PromptError::Template { why: why + &shown.unwrap_or_default(), line }
}

/// The part of the template that an error is about: the failing expression, else its line.
fn shown(error: &Error, source: &str) -> Option<String> {
    let part = error.range().and_then(|range| source.get(range)).filter(|part| !part.trim().is_empty());
    let part = part.or_else(|| source.lines().nth(error.line()?.checked_sub(1)?))?;
    let part = one_line(part);
    if part.is_empty() {
        return None;
    }
    let cut: String = part.chars().take(SHOWN_CHARS).collect();
    Some(if cut.len() < part.len() { cut + "…" } else { part })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(source: &str) -> Result<String, PromptError> {
        let specials = BTreeMap::from([("bos_token".to_owned(), "<s>".to_owned())]);
        let message = |role: &str, content: &str| ChatMessage { role: role.into(), content: content.into() };
        ChatTemplate::new(source, specials)?
            .render(&[message("user", " a<b>'c' \\u003c ü\n"), message("assistant", "x")])
    }

    /// Expected strings: Jinja2 3.1 with transformers' settings.
    #[test]
    fn templates_run_as_in_python() {
        let cases = [
            ("{{ bos_token }}{{ missing }}|", "<s>|"),
            (
                "{% for m in messages %}\n  {% if loop.first %}\n{{ m.role }}{{ m['content'] | trim }}\n  {% endif %}\n{% endfor %}\n",
                "usera<b>'c' \\u003c ü\n",
            ),
            ("{{ messages[0].content | tojson }}", "\" a<b>'c' \\\\u003c ü\\n\""),
            ("{{ messages[0].content | tojson(ensure_ascii=False) }}", "\" a<b>'c' \\\\u003c ü\\n\""),
            ("{{ {'a': [1, 2]} | tojson }}{{ [1] | tojson(indent=2) }}", "{\"a\": [1, 2]}[\n  1\n]"),
            (
                "{% for m in messages %}{% if loop.index0 == 1 %}{% break %}{% endif %}{{ m.role }}{% endfor %}",
                "user",
            ),
            (
                "{{ messages[0].content.strip().split('<')[0] }}{{ messages[-1].role.startswith('ass') }}",
                "aTrue",
            ),
            (
                "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}",
                "2",
            ),
            ("{%- generation -%}  {{ messages[1].content }} {%- endgeneration %}!", "x!"),
            ("{{ messages[1:] | length }}{{ add_generation_prompt }}{{ tools is none }}", "1FalseTrue"),
            ("{{ 'a\\\n b' }}", "a b"),
            ("{% macro hi(x) %}<{{ x }}>{% endmacro %}{{ hi('a' ~ 1) }}", "<a1>"),
        ];
        for (source, expected) in cases {
            assert_eq!(render(source).as_deref(), Ok(expected), "{source}");
        }
    }

    #[test]
    fn errors_name_the_line() {
        let refused = render("a\n{% if true %}\n{{ raise_exception('Roles must\nalternate') }}{% endif %}")
            .unwrap_err();
        assert_eq!(
            refused.to_string(),
            "The chat template refuses this chat: Roles must alternate (template line 3)"
        );
        let broken = render("a\n\n{% if %}").unwrap_err().to_string();
        assert!(broken.starts_with("The chat template failed: "), "{broken}");
        assert!(broken.contains(", at ") && broken.ends_with("(template line 3)"), "{broken}");
        let failing = render("a\n{{ messages[0].content + 1 }}").unwrap_err().to_string();
        assert!(failing.ends_with(", at messages[0].content + 1 (template line 2)"), "{failing}");
        for message in [broken, failing] {
            assert!(!message.contains('\n'));
        }
    }

    #[test]
    fn templates_that_do_not_end_are_stopped() {
        let deep = "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}";
        let wide = "{% for a in range(90000) %}{{ 'x' * 90000 }}{% endfor %}";
        let doubling =
            "{% set ns = namespace(s='x') %}{% for a in range(60) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}";
        let recursive = "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}";
        for source in [deep, wide, doubling, recursive] {
            let error = render(source).unwrap_err().to_string();
            assert!(error.starts_with("The chat template failed: "), "{error}");
        }
        assert!(
            render(deep).unwrap_err().to_string().contains("it does not come to an end, or writes too much")
        );
    }

    /// Long chats are no endless loops.
    #[test]
    fn long_chats_are_rendered() {
        let source = "{% for m in messages %}{% for n in messages[:50] %}{% endfor %}{{ m.content | trim | upper }}{% endfor %}";
        let template = ChatTemplate::new(source, BTreeMap::new()).unwrap();
        let chat: Vec<ChatMessage> =
            (0..2000).map(|_| ChatMessage { role: "user".into(), content: "word ".repeat(2000) }).collect();
        assert_eq!(template.render(&chat).unwrap().len(), 2000 * ("word ".len() * 2000 - 1));
    }

    #[test]
    fn dates_can_be_asked_for() {
        let year = render("{{ strftime_now('%Y') }}").unwrap();
        assert!(year.parse::<u32>().is_ok_and(|year| year >= 2025), "{year}");
    }
}
