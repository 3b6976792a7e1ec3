//! Chat templates: Jinja as `transformers` runs it.

use std::collections::BTreeMap;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Kwargs;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Value};
use minijinja_contrib::pycompat::unknown_method_callback;

use super::{ChatMessage, clock, dialect};
use crate::model::tokenizer::{PromptError, one_line};

const NAME: &str = "chat_template";

/// A model's chat template, compiled.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    /// `bos_token`, `eos_token`, … as the template may ask for them.
    specials: BTreeMap<String, String>,
}

impl ChatTemplate {
    /// Compiles a template; `specials` maps `bos_token`, `eos_token`, … to their text.
    ///
    /// # Errors
    /// [`PromptError::Template`] with the line of the syntax error.
    pub fn new(source: &str, specials: BTreeMap<String, String>) -> Result<Self, PromptError> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| template_error(&error))?);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_unknown_method_callback(unknown_method_callback);
        environment.add_function("raise_exception", raise_exception);
        environment.add_function("strftime_now", |format: &str| clock::strftime_now(format));
        environment.add_filter("tojson", to_json);
        environment
            .add_template_owned(NAME, dialect::translated(source))
            .map_err(|error| template_error(&error))?;
        Ok(Self { environment, specials })
    }

    /// Renders a chat, with the start of an answer unless the last turn is the assistant's own.
    ///
    /// # Errors
    /// [`PromptError::Template`] with the template's line, where it refuses the messages.
    pub fn render(&self, messages: &[ChatMessage]) -> Result<String, PromptError> {
        let answered = messages.last().is_some_and(|message| message.role == "assistant");
        let mut context: BTreeMap<&str, Value> =
            self.specials.iter().map(|(name, text)| (name.as_str(), Value::from(text.as_str()))).collect();
        context.insert("messages", messages.iter().map(message_value).collect());
        context.insert("add_generation_prompt", Value::from(!answered));
        context.insert("tools", Value::from(()));
        context.insert("documents", Value::from(()));
        let template = self.environment.get_template(NAME);
        let rendered = template.and_then(|template| template.render(context));
        rendered.map_err(|error| template_error(&error))
    }
}

fn message_value(message: &ChatMessage) -> Value {
    Value::from_pairs([("role", message.role.as_str()), ("content", message.content.as_str())])
}

fn raise_exception(message: &str) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message.to_owned()))
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

fn template_error(error: &Error) -> PromptError {
    let why = error.detail().map_or_else(|| error.kind().to_string(), one_line);
    PromptError::Template { why, line: error.line() }
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
        assert_eq!(refused.to_string(), "The chat template failed: Roles must alternate (template line 3)");
        let broken = render("a\n\n{% if %}").unwrap_err().to_string();
        assert!(
            broken.starts_with("The chat template failed: ") && broken.ends_with("(template line 3)"),
            "{broken}"
        );
        assert!(!broken.contains('\n'));
    }

    #[test]
    fn dates_can_be_asked_for() {
        let year = render("{{ strftime_now('%Y') }}").unwrap();
        assert!(year.parse::<u32>().is_ok_and(|year| year >= 2025), "{year}");
    }
}
