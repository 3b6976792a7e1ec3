//! Which of a model's chat templates is used.

use std::collections::BTreeMap;

/// Templates for other uses than plain chats.
const OTHER_USES: [&str; 2] = ["tool_use", "rag"];

/// The chat templates that a model's files hold.
#[derive(Debug, Clone, Default)]
pub(crate) struct TemplateSources {
    /// The one without a name.
    pub(crate) main: Option<String>,
    /// The others.
    pub(crate) named: BTreeMap<String, String>,
}

impl TemplateSources {
    /// The template for chats: the one without a name, else `default`, else the only one, else the
    /// first that has no other use. Where it was guessed, a line says so.
    pub(crate) fn choose(mut self) -> Option<(String, Option<String>)> {
        if let Some(source) = self.main.or_else(|| self.named.remove("default")) {
            return Some((source, None));
        }
        let names: Vec<String> = self.named.keys().cloned().collect();
        let name = names.iter().find(|name| !OTHER_USES.contains(&name.as_str())).or(names.first())?;
        let source = self.named.remove(name)?;
        let assumed = (names.len() > 1).then(|| {
            format!("The model has the chat templates {} and no default: {name} is used", names.join(", "))
        });
        Some((source, assumed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(main: Option<&str>, names: &[&str]) -> Option<(String, bool)> {
        let named = names.iter().map(|&name| (name.to_owned(), format!("<{name}>"))).collect();
        let sources = TemplateSources { main: main.map(str::to_owned), named };
        sources.choose().map(|(source, assumed)| (source, assumed.is_some()))
    }

    #[test]
    fn the_template_for_chats_is_chosen() {
        let some = |source: &str, assumed| Some((source.to_owned(), assumed));
        assert_eq!(chosen(None, &[]), None);
        assert_eq!(chosen(Some("main"), &["default"]), some("main", false));
        assert_eq!(chosen(None, &["a", "default"]), some("<default>", false));
        assert_eq!(chosen(None, &["rag"]), some("<rag>", false));
        assert_eq!(chosen(None, &["rag", "talk", "tool_use"]), some("<talk>", true));
        assert_eq!(chosen(None, &["rag", "tool_use"]), some("<rag>", true));
    }
}
