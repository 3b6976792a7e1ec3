//! Where Jinja2, which templates are written for, reads their source differently.

use std::sync::LazyLock;

use regex::Regex;

/// `{% generation %}` marks what the model wrote, for training; it prints nothing of its own.
static GENERATION_TAG: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\{%([-+]?)(\s*)(end)?generation(\s*)([-+]?)%\}").expect("the pattern is constant")
});

/// A template's source as the engine here has to be given it. Line numbers stay the same.
pub(super) fn translated(source: &str) -> String {
    without_generation_tags(&without_continuations(&with_unix_line_ends(source)))
}

/// Jinja2's lexer makes every line end `\n`.
fn with_unix_line_ends(source: &str) -> String {
    source.replace("\r\n", "\n").replace('\r', "\n")
}

/// Makes generation tags blocks that print their body.
fn without_generation_tags(source: &str) -> String {
    let replaced = GENERATION_TAG.replace_all(source, |tag: &regex::Captures| {
        let keyword = if tag.get(3).is_some() { "endif" } else { "if true" };
        format!("{{%{}{}{keyword}{}{}%}}", &tag[1], &tag[2], &tag[4], &tag[5])
    });
    replaced.into_owned()
}

/// Takes out of the strings in tags each backslash that ends a line, with the line end, which goes
/// behind the string.
fn without_continuations(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut tag_end = None;
    let mut quote = None;
    let mut moved_lines = 0;
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        match (tag_end, quote) {
            (None, _) if rest.starts_with("{#") => length = rest.find("#}").unwrap_or(rest.len()),
            (None, _) if rest.starts_with("{%") => tag_end = Some("%}"),
            (None, _) if rest.starts_with("{{") => tag_end = Some("}}"),
            (Some(end), None) if rest.starts_with(end) => tag_end = None,
            (Some(_), None) if c == '"' || c == '\'' => quote = Some(c),
            (Some(_), Some(_)) if rest.starts_with("\\\n") => {
                moved_lines += 1;
                rest = &rest[2..];
                continue;
            }
            (Some(_), Some(_)) if c == '\\' => {
                length += rest[1..].chars().next().map_or(0, char::len_utf8);
            }
            (Some(_), Some(open)) if c == open => {
                quote = None;
                out.push(c);
                out.extend(std::iter::repeat_n('\n', moved_lines));
                moved_lines = 0;
                rest = &rest[length..];
                continue;
            }
            _ => {}
        }
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::translated;

    #[test]
    fn only_line_ends_in_strings_of_tags_go() {
        let source =
            "a\\\n{# 'x\\\n #}{% set s = \"b'\\\nc\\\\\\\n\\\"d\" %}\\\n{{ 'e\\\n' ~ {'k': {}} }} 'f\\\n'";
        let expected =
            "a\\\n{# 'x\\\n #}{% set s = \"b'c\\\\\\\"d\"\n\n %}\\\n{{ 'e'\n ~ {'k': {}} }} 'f\\\n'";
        assert_eq!(translated(source), expected);
        assert_eq!(translated(expected), expected);
    }

    #[test]
    fn line_ends_and_generation_tags_are_translated() {
        assert_eq!(translated("a\r\nb\rc\n"), "a\nb\nc\n");
        let source = "{% generation %}x{%- endgeneration -%}{%+generation+%}{{ generation }}";
        assert_eq!(translated(source), "{% if true %}x{%- endif -%}{%+if true+%}{{ generation }}");
    }

    #[test]
    fn unfinished_sources_are_left_to_the_engine() {
        for source in ["{# open", "{{ 'open", "{{ 'open\\", "{%", "{{ \"\\é"] {
            assert_eq!(translated(source), source);
        }
    }
}
