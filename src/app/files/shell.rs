//! Words of a POSIX shell.

/// A word as a shell reads it back: as it is where that is safe, else in single quotes.
#[must_use]
pub fn quoted(word: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "_-./,:=@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_safe) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A command line under construction.
#[derive(Debug, Clone, Default)]
pub struct CommandLine(String);

impl CommandLine {
    /// A line that begins with the program and its command.
    #[must_use]
    pub fn new(command: &str) -> Self {
        Self(format!("sinkscope {command}"))
    }

    /// Adds a word as it is.
    pub fn word(&mut self, word: &str) {
        self.0.push(' ');
        self.0.push_str(word);
    }

    /// Adds an option with its value, in one word: a value may begin with a dash.
    pub fn option(&mut self, name: &str, value: &str) {
        self.word(&format!("--{name}={}", quoted(value)));
    }

    /// The line.
    #[must_use]
    pub fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_what_must_be_is_quoted() {
        for (word, said) in [
            ("a/b.gguf", "a/b.gguf"),
            ("", "''"),
            ("two words", "'two words'"),
            ("it's", r"'it'\''s'"),
            ("$HOME `x` \"y\" !", "'$HOME `x` \"y\" !'"),
            ("~/a", "'~/a'"),
            ("#", "'#'"),
        ] {
            assert_eq!(quoted(word), said);
        }
    }

    #[cfg(unix)]
    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_shell_reads_every_word_back(words in proptest::collection::vec("[^\0]{0,20}", 1..6)) {
            let line: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            let script = format!("printf '%s\\0' {}", line.join(" "));
            let output = std::process::Command::new("sh").args(["-c", &script]).output().expect("a shell");
            let read: Vec<String> = output
                .stdout
                .split(|&byte| byte == 0)
                .map(|word| String::from_utf8_lossy(word).into_owned())
                .collect();
            prop_assert_eq!(&read[..words.len()], &words[..]);
        }
    }
}
