//! Values of Secrets, taken out of a report wherever they turn up.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// Shorter values are found in every text, and no secrets.
const SHORTEST: usize = 5;
/// Lines of a longer value, such as a private key, of which a log may show one.
const SHORTEST_LINE: usize = 16;

/// Values of Secrets. Not printable.
#[derive(Default)]
pub(super) struct Values(Vec<(String, String)>);

impl Values {
    /// Takes in one value of a Secret, as it is and in base64.
    pub(super) fn add(&mut self, secret: &str, key: &str, value: &[u8]) {
        let name = format!("(left out: {key} of Secret {secret})");
        let text = String::from_utf8_lossy(value).into_owned();
        let whole = text.trim();
        let lines = text.lines().map(str::trim).filter(|line| line.len() >= SHORTEST_LINE);
        let mut words: Vec<String> = lines.map(str::to_owned).collect();
        if whole.len() >= SHORTEST {
            words.push(whole.to_owned());
            words.push(BASE64_STANDARD.encode(value));
            words.push(BASE64_STANDARD.encode(whole));
        }
        self.0.extend(words.into_iter().map(|word| (word, name.clone())));
        // The longest first: one value may be part of another.
        self.0.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
    }

    /// The text without them.
    pub(super) fn left_out(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (word, name)| text.replace(word, name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_left_out_wherever_it_turns_up() {
        let mut values = Values::default();
        values.add("keys", "token", b"s3cret-value\n");
        values.add("keys", "flag", b"yes");
        let log = "asked with s3cret-value (czNjcmV0LXZhbHVl), yes";
        assert_eq!(
            values.left_out(log),
            "asked with (left out: token of Secret keys) ((left out: token of Secret keys)), yes"
        );
        let key =
            "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEG\n-----END PRIVATE KEY-----\n";
        values.add("tls", "tls.key", key.as_bytes());
        assert!(!values.left_out("MIGHAgEAMBMGByqGSM49AgEG").contains("MIGH"));
    }
}
