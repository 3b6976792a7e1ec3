//! Text of files on its way to a person: one line, no control characters, not without end.

/// Characters that a message keeps at most: its beginning and its end, where the path stands.
const MOST_CHARACTERS: usize = 600;

/// A message as one line that a terminal and a toast can take: control characters escaped, the middle of a very long
/// one left out.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(4 * MOST_CHARACTERS));
    let length = text.chars().count();
    let kept = MOST_CHARACTERS / 2;
    for (index, character) in text.chars().enumerate() {
        if length > MOST_CHARACTERS && (kept..length - kept).contains(&index) {
            if index == kept {
                line.push_str(" … ");
            }
            continue;
        }
        if character.is_control() { line.extend(character.escape_default()) } else { line.push(character) }
    }
    line
}

/// The letter that names the thing at a place of a list: A, B, …; what comes behind Z is Z.
#[must_use]
pub fn letter(place: usize) -> char {
    char::from(b'A' + u8::try_from(place.min(25)).unwrap_or(25))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_stays_one_short_line() {
        assert_eq!(
            one_line("Tensor \u{1b}[31m\nx is missing: /a/ü"),
            "Tensor \\u{1b}[31m\\nx is missing: /a/ü"
        );
        let long = format!("{}: /the/path", "y".repeat(100_000));
        let line = one_line(&long);
        assert!(line.chars().count() <= MOST_CHARACTERS + 3 && line.ends_with(": /the/path"), "{line}");
    }
}
