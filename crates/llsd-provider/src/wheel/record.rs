//! `RECORD`: each file of a wheel with its hash. What it says and what is there must be one.

use std::collections::BTreeMap;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use sha2::digest::DynDigest;
use sha2::{Digest, Sha256, Sha384, Sha512};

/// A hash as `RECORD` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expected {
    algorithm: Algorithm,
    hash: Vec<u8>,
    /// As it is written.
    pub(super) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    Sha256,
    Sha384,
    Sha512,
}

/// The files of a `RECORD`; without a hash those that cannot have one, itself and signatures of it.
pub(super) type Record = BTreeMap<String, Option<Expected>>;

pub(super) fn parse(text: &str) -> Result<Record, Vec<String>> {
    let mut record = Record::new();
    let mut wrong = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let fields = fields(line);
        let [path, hash, _] = &fields[..] else {
            wrong.push(format!("RECORD, line {}: not path, hash and size", number + 1));
            continue;
        };
        let expected = expected(hash);
        if expected.is_none() && !hash.is_empty() {
            wrong.push(format!("RECORD: {path} has no hash of a kind that can be trusted"));
            continue;
        }
        if record.insert(path.clone(), expected).is_some() {
            wrong.push(format!("RECORD names {path} twice"));
        }
    }
    if wrong.is_empty() { Ok(record) } else { Err(wrong) }
}

/// The files of a `RECORD` with their hashes, as they are written; `None` where it says nothing.
pub(crate) fn recorded(text: &str) -> Option<Vec<(String, Option<String>)>> {
    let record = parse(text).ok().filter(|record| !record.is_empty())?;
    Some(record.into_iter().map(|(path, hash)| (path, hash.map(|hash| hash.text))).collect())
}

fn expected(text: &str) -> Option<Expected> {
    let (algorithm, hash) = text.split_once('=')?;
    let (algorithm, length) = match algorithm {
        "sha256" => (Algorithm::Sha256, 32),
        "sha384" => (Algorithm::Sha384, 48),
        "sha512" => (Algorithm::Sha512, 64),
        _ => return None,
    };
    let hash = BASE64_URL_SAFE_NO_PAD.decode(hash.trim_end_matches('=')).ok()?;
    (hash.len() == length).then(|| Expected { algorithm, hash, text: text.to_owned() })
}

/// A line of comma-separated values, quoted where they hold a comma.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        let field = fields.last_mut().expect("there is always one");
        match c {
            '"' if is_quoted && characters.peek() == Some(&'"') => {
                characters.next();
                field.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            c => field.push(c),
        }
    }
    fields
}

impl Expected {
    /// A hash of the same kind, to be compared once all bytes came.
    pub(super) fn hashing(&self) -> Box<dyn DynDigest> {
        match self.algorithm {
            Algorithm::Sha256 => Box::new(Sha256::new()),
            Algorithm::Sha384 => Box::new(Sha384::new()),
            Algorithm::Sha512 => Box::new(Sha512::new()),
        }
    }

    pub(super) fn is(&self, hashing: Box<dyn DynDigest>) -> bool {
        *hashing.finalize() == *self.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weak_hashes_are_no_hashes() {
        let wrong = parse("a.py,md5=abc,1\nb.py,sha256=abc,1\nc.py\n").unwrap_err();
        assert_eq!(wrong.len(), 3);
    }

    #[test]
    fn paths_may_be_quoted() {
        assert_eq!(fields(r#""a,""b"".py",,"#), [r#"a,"b".py"#, "", ""]);
    }
}
