//! Which bytes of a rendered chat the messages' contents are.

use std::ops::Range;

use super::{ChatMessage, ChatTemplate};

/// Shortest end of a content that is taken for it where the template cut the rest away.
const SHORTEST_TAIL_BYTES: usize = 8;

/// Finds the contents of `messages` in `rendered`, the template's own rendering of them; sorted.
///
/// The chat is rendered once more with two marks around each content. Where the marks are all
/// that this changes, they show exactly where the contents went, also when one occurs elsewhere
/// too, or twice. Otherwise the messages are tried one by one: a template that trims contents
/// gets the marks inside the blanks; one that looks into contents (and cuts a reasoning part
/// away, say) loses the marks, and the content, or its longest end, is searched for after the
/// previous message.
pub(crate) fn content_spans(
    template: &ChatTemplate,
    messages: &[ChatMessage],
    rendered: &str,
) -> Vec<Range<usize>> {
    let Some(marks) = Marks::absent_from(messages, rendered) else { return Vec::new() };
    let marked_chat = |mark: &dyn Fn(usize, &str) -> String| {
        let marked = messages.iter().enumerate().map(|(index, message)| ChatMessage {
            role: message.role.clone(),
            content: mark(index, &message.content),
        });
        let marked: Vec<ChatMessage> = marked.collect();
        marks.spans(&template.render(&marked).ok()?, rendered)
    };
    let all = marked_chat(&|_, content| marks.around(content, content));
    let mut spans = all.unwrap_or_else(|| {
        let mut spans: Vec<Range<usize>> = Vec::new();
        for (index, message) in messages.iter().enumerate() {
            let content = message.content.as_str();
            let core = content.trim();
            let found = [content, core].into_iter().find_map(|part| {
                marked_chat(&|at, other| {
                    if at == index { marks.around(content, part) } else { other.to_owned() }
                })
            });
            let after = spans.iter().map(|span| span.end).max().unwrap_or(0);
            spans.extend(found.unwrap_or_else(|| search(rendered, after, core).into_iter().collect()));
        }
        spans
    });
    spans.retain(|span| !span.is_empty());
    spans.sort_by_key(|span| (span.start, span.end));
    spans
}

/// Two characters that occur nowhere in the chat.
struct Marks {
    open: char,
    close: char,
}

impl Marks {
    fn absent_from(messages: &[ChatMessage], rendered: &str) -> Option<Self> {
        let mut free = ('\u{E000}'..='\u{F8FF}').filter(|&c| {
            !rendered.contains(c) && messages.iter().all(|message| !message.content.contains(c))
        });
        Some(Self { open: free.next()?, close: free.next()? })
    }

    /// `content` with the marks around `core`, a part of it without the blanks at its ends.
    fn around(&self, content: &str, core: &str) -> String {
        let Self { open, close } = self;
        let lead = content.len() - content.trim_start().len();
        let (lead, trail) = if core.len() == content.len() {
            ("", "")
        } else {
            (&content[..lead], &content[lead + core.len()..])
        };
        format!("{lead}{open}{core}{close}{trail}")
    }

    /// Where the marked parts of `marked` are in `rendered`, if the marks are the only difference.
    fn spans(&self, marked: &str, rendered: &str) -> Option<Vec<Range<usize>>> {
        let mut spans = Vec::new();
        let mut opened = None;
        let mut at = 0;
        for c in marked.chars() {
            if c == self.open {
                if opened.replace(at).is_some() {
                    return None;
                }
            } else if c == self.close {
                spans.push(opened.take()?..at);
            } else if rendered[at..].starts_with(c) {
                at += c.len_utf8();
            } else {
                return None;
            }
        }
        (opened.is_none() && at == rendered.len()).then_some(spans)
    }
}

/// The content, or else its longest end that is long enough, in `rendered` from byte `after` on.
fn search(rendered: &str, after: usize, core: &str) -> Option<Range<usize>> {
    let find = |part: &str| rendered[after..].find(part).map(|at| after + at..after + at + part.len());
    if core.is_empty() {
        return None;
    }
    if let Some(whole) = find(core) {
        return Some(whole);
    }
    // If an end occurs, so does every shorter one: bisect.
    let starts: Vec<usize> = core.char_indices().map(|(at, _)| at).collect();
    let first = starts.partition_point(|&at| find(&core[at..]).is_none());
    let tail = &core[*starts.get(first)?..];
    if tail.len() < SHORTEST_TAIL_BYTES { None } else { find(tail) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn found(source: &str, contents: &[&str]) -> (String, Vec<String>) {
        let template = ChatTemplate::new(source, BTreeMap::new()).unwrap();
        let messages: Vec<ChatMessage> =
            contents.iter().map(|&c| ChatMessage { role: "user".into(), content: c.into() }).collect();
        let rendered = template.render(&messages).unwrap();
        let spans = content_spans(&template, &messages, &rendered);
        let texts = spans.iter().map(|span| rendered[span.clone()].to_owned()).collect();
        let starts: Vec<String> = spans.iter().map(|span| span.start.to_string()).collect();
        (starts.join(" "), texts)
    }

    const PLAIN: &str = "{% for m in messages %}[{{ m.role }}]\n{{ m.content }}\n{% endfor %}";
    const TRIMMED: &str = "{% for m in messages %}[{{ m.role }}]\n\n{{ m.content | trim }}\n{% endfor %}";

    #[test]
    fn contents_that_equal_the_templates_words_are_told_apart() {
        let (starts, texts) = found(PLAIN, &["user", "user", "\n"]);
        assert_eq!(starts, "7 19 31");
        assert_eq!(texts, ["user", "user", "\n"]);
    }

    #[test]
    fn blanks_that_the_template_trims_are_not_the_users() {
        assert_eq!(found(TRIMMED, &["\n\n hi \n"]), ("8".into(), vec!["hi".into()]));
        assert_eq!(found(PLAIN, &["\n\n hi \n"]), ("7".into(), vec!["\n\n hi \n".into()]));
        assert_eq!(found(TRIMMED, &["  ", "x"]).1, ["x"]);
    }

    #[test]
    fn a_content_may_occur_twice_or_never() {
        let twice = "{{ messages[0].content }}-{{ messages[0].content }}";
        assert_eq!(found(twice, &["ab", "unused"]), ("0 3".into(), vec!["ab".into(), "ab".into()]));
    }

    #[test]
    fn contents_that_the_template_cuts_are_searched_for() {
        let cut = "{% for m in messages %}<{{ m.content.split('</think>')[-1] if not m.content.startswith('!') }}>{% endfor %}";
        let answer = "The answer is four.";
        let (_, texts) = found(cut, &[answer, &format!("<think>so?</think>{answer}")]);
        assert_eq!(texts, [answer, answer]);
        let upper = "{{ messages[0].content | upper }}";
        assert_eq!(found(upper, &["abc"]).1, ["ABC"]);
        let gone = "{{ messages[0].content.split('</think>')[0] | length }}";
        assert!(found(gone, &["abc"]).1.is_empty());
    }
}
