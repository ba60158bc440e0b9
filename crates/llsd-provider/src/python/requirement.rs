//! What a distribution needs: `httpx[http2]>=0.28,<1; python_version < "3.13"`, and whether its
//! condition holds on a server.

use std::str::FromStr;

use pep440_rs::{Operator, Version, VersionSpecifier, VersionSpecifiers};

use super::name::normalised;

/// One requirement of `Requires-Dist`.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// As it is compared.
    pub name: String,
    /// `None` where any version will do, and where it is named by its address.
    pub versions: Option<VersionSpecifiers>,
    condition: Option<Condition>,
}

impl Requirement {
    pub fn fits(&self, version: &Version) -> bool {
        self.versions.as_ref().is_none_or(|wanted| wanted.contains(version))
    }

    /// Whether it counts where a variable such as `python_version` has the value that `known` says.
    pub fn counts(&self, known: &impl Fn(&str) -> Option<String>) -> bool {
        self.condition.as_ref().is_none_or(|condition| condition.holds(known))
    }
}

impl std::fmt::Display for Requirement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        let Some(versions) = &self.versions else { return Ok(()) };
        f.write_str(&versions.to_string().replace(", ", ","))
    }
}

/// A text that is no requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRequirement;

impl FromStr for Requirement {
    type Err = NoRequirement;

    fn from_str(text: &str) -> Result<Self, NoRequirement> {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let end = text.find(|c| !is_of_name(c)).unwrap_or(text.len());
        let (name, rest) = (&text[..end], text[end..].trim_start());
        if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            return Err(NoRequirement);
        }
        let rest = match rest.strip_prefix('[') {
            Some(extras) => extras.split_once(']').ok_or(NoRequirement)?.1.trim_start(),
            None => rest,
        };
        let (versions, condition) = if let Some(address) = rest.strip_prefix('@') {
            (None, address.split_once(" ;").map(|(_, condition)| condition))
        } else {
            let (versions, condition) = match rest.split_once(';') {
                Some((versions, condition)) => (versions, Some(condition)),
                None => (rest, None),
            };
            let versions = versions.trim().trim_start_matches('(').trim_end_matches(')').trim();
            let parsed = match versions {
                "" => None,
                text => Some(VersionSpecifiers::from_str(text).map_err(|_| NoRequirement)?),
            };
            (parsed, condition)
        };
        let condition = condition.map(Condition::parse).transpose()?;
        Ok(Self { name: normalised(name), versions, condition })
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Compare { left: Token, operator: String, right: Token },
}

/// Conditions within conditions; nobody writes more than two or three.
const DEPTH: usize = 16;

impl Condition {
    fn parse(text: &str) -> Result<Self, NoRequirement> {
        let mut tokens = tokens(text)?;
        tokens.reverse();
        let condition = Self::any(&mut tokens, DEPTH)?;
        if tokens.is_empty() { Ok(condition) } else { Err(NoRequirement) }
    }

    fn any(tokens: &mut Vec<Token>, depth: usize) -> Result<Self, NoRequirement> {
        let mut parts = vec![Self::all(tokens, depth)?];
        while take(tokens, "or") {
            parts.push(Self::all(tokens, depth)?);
        }
        Ok(Self::Any(parts))
    }

    fn all(tokens: &mut Vec<Token>, depth: usize) -> Result<Self, NoRequirement> {
        let mut parts = vec![Self::one(tokens, depth)?];
        while take(tokens, "and") {
            parts.push(Self::one(tokens, depth)?);
        }
        Ok(Self::All(parts))
    }

    fn one(tokens: &mut Vec<Token>, depth: usize) -> Result<Self, NoRequirement> {
        if take(tokens, "(") {
            let depth = depth.checked_sub(1).ok_or(NoRequirement)?;
            let inner = Self::any(tokens, depth)?;
            return if take(tokens, ")") { Ok(inner) } else { Err(NoRequirement) };
        }
        let left = term(tokens)?;
        let operator = match tokens.pop() {
            Some(Token::Word(word)) if word == "not" && take(tokens, "in") => "not in".to_owned(),
            Some(Token::Word(word)) => word,
            _ => return Err(NoRequirement),
        };
        let known = ["==", "!=", "<", "<=", ">", ">=", "~=", "===", "in", "not in"];
        if !known.contains(&operator.as_str()) {
            return Err(NoRequirement);
        }
        Ok(Self::Compare { left, operator, right: term(tokens)? })
    }

    fn holds(&self, known: &impl Fn(&str) -> Option<String>) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.holds(known)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(known)),
            Self::Compare { left, operator, right } => {
                let value = |term: &Token| match term {
                    Token::Text(text) => text.clone(),
                    Token::Word(name) => known(name).unwrap_or_default(),
                };
                let is_version =
                    |term: &Token| matches!(term, Token::Word(name) if name.ends_with("_version"));
                let (one, other) = (value(left), value(right));
                let versions = (is_version(left) || is_version(right))
                    .then(|| compared_as_versions(&one, operator, &other))
                    .flatten();
                versions.unwrap_or_else(|| compared_as_texts(&one, operator, &other))
            }
        }
    }
}

fn compared_as_versions(one: &str, operator: &str, other: &str) -> Option<bool> {
    let version = Version::from_str(one).ok()?;
    let text = format!("{operator}{other}");
    let specifier = VersionSpecifier::from_str(&text).ok()?;
    (*specifier.operator() != Operator::ExactEqual).then(|| specifier.contains(&version))
}

fn compared_as_texts(one: &str, operator: &str, other: &str) -> bool {
    match operator {
        "==" | "===" => one == other,
        "!=" => one != other,
        "in" => other.contains(one),
        "not in" => !other.contains(one),
        "<" => one < other,
        "<=" => one <= other,
        ">" => one > other,
        _ => one >= other,
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Text(String),
    Word(String),
}

fn tokens(text: &str) -> Result<Vec<Token>, NoRequirement> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' => {
                let end = rest[1..].find(first).ok_or(NoRequirement)?;
                tokens.push(Token::Text(rest[1..=end].to_owned()));
                rest = rest[end + 2..].trim_start();
                continue;
            }
            '(' | ')' => 1,
            '<' | '>' | '=' | '!' | '~' => {
                rest.find(|c| !"<>=!~".contains(c)).unwrap_or(rest.len())
            }
            c if c.is_ascii_alphanumeric() || c == '_' => rest
                .find(|c: char| !c.is_ascii_alphanumeric() && !"_.".contains(c))
                .unwrap_or(rest.len()),
            _ => return Err(NoRequirement),
        };
        tokens.push(Token::Word(rest[..length].to_owned()));
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

fn take(tokens: &mut Vec<Token>, word: &str) -> bool {
    let is_next = matches!(tokens.last(), Some(Token::Word(next)) if next == word);
    if is_next {
        tokens.pop();
    }
    is_next
}

/// A text, or a word that names a variable.
fn term(tokens: &mut Vec<Token>) -> Result<Token, NoRequirement> {
    let is_term = |token: &Token| match token {
        Token::Text(_) => true,
        Token::Word(word) => word.starts_with(|c: char| c.is_ascii_lowercase()),
    };
    tokens.pop().filter(is_term).ok_or(NoRequirement)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str) -> Option<String> {
        let value = match name {
            "python_version" => "3.12",
            "python_full_version" => "3.12.11",
            "sys_platform" => "linux",
            "platform_machine" => "x86_64",
            _ => return None,
        };
        Some(value.to_owned())
    }

    #[test]
    fn requirements_of_published_packages_are_read() {
        for (text, shown, counts) in [
            ("llama-stack==0.2.11", "llama-stack==0.2.11", true),
            ("Eval_Hub.sdk[adapter]>=0.1.7", "eval-hub-sdk>=0.1.7", true),
            ("anyio<5,>=3.5.0", "anyio>=3.5.0,<5", true),
            ("requests (>=2.0)", "requests>=2.0", true),
            ("pytest; extra == \"dev\"", "pytest", false),
            ("x @ https://example.com/x.whl ; sys_platform == 'win32'", "x", false),
            ("tomli>=2; python_version < '3.11'", "tomli>=2", false),
            ("a; python_version >= '3.9' and (sys_platform=='linux' or os_name=='nt')", "a", true),
            ("b; '3.12' == python_version and platform_machine in 'x86_64 arm64'", "b", true),
            ("c; python_full_version < '3.12.4' or sys_platform not in 'linux'", "c", false),
            ("garak==0.15.0+rhaiv.5; extra == 'inline'", "garak==0.15.0+rhaiv.5", false),
        ] {
            let requirement: Requirement = text.parse().unwrap();
            assert_eq!(
                (requirement.to_string().as_str(), requirement.counts(&known)),
                (shown, counts)
            );
        }
        for text in ["", "!", "a[b", "a >< 1", "a; b", "a; 'b' == ", "a; (b == 'c'", "a; b == 'c"] {
            assert_eq!(text.parse::<Requirement>(), Err(NoRequirement), "{text}");
        }
    }
}
