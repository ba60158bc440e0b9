//! Regular expressions of rules, which the server reads with Python's `re`. Here the part of that language
//! is read that means the same everywhere; of the rest it is said that it is not evaluated.

use regex_lite::Regex;

/// What a pattern begins with where a path or a resource could stand.
pub(super) const PREFIX: &str = "regex:";

/// Parentheses inside each other; more are not evaluated.
const DEEPEST: usize = 24;
const LONGEST: usize = 512;

/// A pattern that is evaluated here.
#[derive(Clone, Debug)]
pub(super) struct Pattern(Regex);

/// Why a pattern is not evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The server cannot read it either, and passes over it without a word.
    Broken(&'static str),
    /// The server may read it.
    Foreign(&'static str),
}

impl Pattern {
    pub(super) fn parse(text: &str) -> Result<Self, Fault> {
        if text.len() > LONGEST || !is_plain(text) {
            return Err(Fault::Foreign("other letters than those of ASCII, or too many"));
        }
        let mut reader = PatternReader { rest: text, depth: 0 };
        let mut out = String::from(r"\A(?:");
        if let Some(rest) = text.strip_prefix("(?i)") {
            reader.rest = rest;
            out.insert_str(0, "(?i)");
        }
        reader.alternatives(&mut out)?;
        if !reader.rest.is_empty() {
            return Err(Fault::Broken("a `)` without its `(`"));
        }
        out.push(')');
        Regex::new(&out).map(Self).map_err(|_| Fault::Foreign("something too large"))
    }

    /// Whether it matches the beginning of a text; nothing where that is not known here.
    pub(super) fn matches(&self, subject: &str) -> Option<bool> {
        is_plain(subject).then(|| self.0.is_match(subject))
    }
}

/// Printable letters of ASCII, on which all readers agree what a letter and a space is.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Reads Python's notation and writes that of our own engine.
struct PatternReader<'a> {
    rest: &'a str,
    depth: usize,
}

impl PatternReader<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn take(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Up to the end or the parenthesis that closes.
    fn alternatives(&mut self, out: &mut String) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Fault::Foreign("too many parentheses inside each other"));
        }
        while !self.rest.is_empty() && !self.rest.starts_with(')') {
            if self.take("|") {
                out.push('|');
                continue;
            }
            let can_repeat = self.item(out)?;
            self.repetition(can_repeat, out)?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// One thing to match; whether it can be repeated.
    fn item(&mut self, out: &mut String) -> Result<bool, Fault> {
        match self.next().unwrap_or_default() {
            '(' => self.group(out)?,
            '[' => self.class(out)?,
            '\\' => return self.escape(out),
            '.' => out.push('.'),
            '^' => {
                out.push_str(r"\A");
                return Ok(false);
            }
            '$' => {
                out.push_str(r"\z");
                return Ok(false);
            }
            '*' | '+' | '?' => return Err(Fault::Broken("a repetition of nothing")),
            '{' if bounds(self.rest).is_some() => {
                return Err(Fault::Broken("a repetition of nothing"));
            }
            c => literal(c, out),
        }
        Ok(true)
    }

    fn group(&mut self, out: &mut String) -> Result<(), Fault> {
        if !self.take("?:") && self.take("?") {
            return Err(special_group(self.rest));
        }
        out.push_str("(?:");
        self.alternatives(out)?;
        out.push(')');
        if self.take(")") { Ok(()) } else { Err(Fault::Broken("a `(` without its `)`")) }
    }

    fn escape(&mut self, out: &mut String) -> Result<bool, Fault> {
        let c = self.next().ok_or(Fault::Broken("a backslash at the end"))?;
        match c {
            'd' | 'D' | 'w' | 'W' | 's' | 'S' => out.extend(['\\', c]),
            'b' | 'A' | 'Z' => {
                out.extend(['\\', if c == 'Z' { 'z' } else { c }]);
                return Ok(false);
            }
            c if c.is_ascii_alphanumeric() => return Err(escaped(c, "Bafnrtvxu")),
            c => literal(c, out),
        }
        Ok(true)
    }

    /// One of the letters between brackets.
    fn class(&mut self, out: &mut String) -> Result<(), Fault> {
        const OPEN: Fault = Fault::Broken("a `[` without its `]`");
        out.push('[');
        if self.take("^") {
            out.push('^');
        }
        let mut first = true;
        while first || !self.rest.starts_with(']') {
            first = false;
            let Some(from) = self.member(out)? else { continue };
            if self.rest.starts_with('-') && !self.rest.starts_with("-]") {
                self.take("-");
                if self.rest.is_empty() {
                    return Err(OPEN);
                }
                let to = self.member(out)?.ok_or(Fault::Broken("a range that ends in a class"))?;
                if to < from {
                    return Err(Fault::Broken("a range from a later letter to an earlier one"));
                }
                literal(from, out);
                out.push('-');
                literal(to, out);
            } else {
                literal(from, out);
            }
        }
        self.take("]");
        out.push(']');
        Ok(())
    }

    /// A letter, or nothing where it was a class of them, which is written already.
    fn member(&mut self, out: &mut String) -> Result<Option<char>, Fault> {
        match self.next().ok_or(Fault::Broken("a `[` without its `]`"))? {
            '\\' => match self.next().ok_or(Fault::Broken("a backslash at the end"))? {
                c @ ('d' | 'D' | 'w' | 'W' | 's' | 'S') => {
                    if self.rest.starts_with('-') && !self.rest.starts_with("-]") {
                        return Err(Fault::Broken("a range that begins with a class"));
                    }
                    out.extend(['\\', c]);
                    Ok(None)
                }
                c if c.is_ascii_alphanumeric() => Err(escaped(c, "abfnrtvxu")),
                c => Ok(Some(c)),
            },
            c => Ok(Some(c)),
        }
    }

    fn repetition(&mut self, can_repeat: bool, out: &mut String) -> Result<(), Fault> {
        let mut found = String::new();
        if let Some(sign) = self.rest.chars().next().filter(|c| matches!(c, '*' | '+' | '?')) {
            self.next();
            found.push(sign);
        } else if let Some((text, length)) = self.rest.strip_prefix('{').and_then(bounds) {
            self.rest = &self.rest[length + 1..];
            found.push_str(&text?);
        } else {
            return Ok(());
        }
        if !can_repeat {
            return Err(Fault::Broken("a repetition of a place"));
        }
        self.take("?");
        if self.rest.starts_with('+') {
            return Err(Fault::Foreign("a repetition that gives nothing back"));
        }
        let again = self.rest.strip_prefix('{').and_then(bounds).is_some();
        if again || self.rest.starts_with(['*', '?']) {
            return Err(Fault::Broken("a repetition of a repetition"));
        }
        out.push_str(&found);
        Ok(())
    }
}

/// A letter or number behind a backslash; Python gives a meaning to these letters.
fn escaped(c: char, known: &str) -> Fault {
    if known.contains(c) || c.is_ascii_digit() || matches!(c, 'U' | 'N') {
        Fault::Foreign("a letter or number behind a backslash")
    } else {
        Fault::Broken("a letter behind a backslash that Python does not know there")
    }
}

/// A group that begins with `(?`, of which this is the rest.
fn special_group(rest: &str) -> Fault {
    let known = ["P<", "P=", "#", "=", "!", "<=", "<!", "(", ">"];
    let flags = rest.trim_start_matches(['a', 'i', 'L', 'm', 's', 'u', 'x', '-']);
    let has_flags = flags.len() < rest.len();
    match flags.chars().next() {
        _ if known.iter().any(|known| rest.starts_with(known)) => {
            Fault::Foreign("a group that begins with `(?`")
        }
        Some(':') if has_flags => Fault::Foreign("a group that begins with `(?`"),
        Some(')') if has_flags => Fault::Broken("flags that do not stand at its beginning"),
        _ => Fault::Broken("a group that begins with `(?` as Python does not know it"),
    }
}

/// Bounds of a repetition behind their `{`, as our engine has them, and their length with the `}`. Braces
/// that hold none are letters like others.
fn bounds(rest: &str) -> Option<(Result<String, Fault>, usize)> {
    let (inside, _) = rest.split_once('}')?;
    let (least, most) = inside.split_once(',').map_or((inside, None), |(a, b)| (a, Some(b)));
    let number = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    if inside.is_empty() || !number(least) || !most.is_none_or(number) {
        return None;
    }
    let read = |text: &str| text.parse::<u32>().ok().filter(|n| *n <= 1000);
    let low = if least.is_empty() { Some(0) } else { read(least) };
    let high = most.filter(|most| !most.is_empty()).map(read);
    let text = match (low, most, high) {
        (Some(low), None, _) => Ok(format!("{{{low}}}")),
        (Some(low), Some(_), None) => Ok(format!("{{{low},}}")),
        (Some(low), Some(_), Some(Some(high))) if low <= high => Ok(format!("{{{low},{high}}}")),
        (Some(_), Some(_), Some(Some(_))) => Err(Fault::Broken("a least above the most")),
        _ => Err(Fault::Foreign("a repetition of more than a thousand")),
    };
    Some((text, inside.len() + 1))
}

fn literal(c: char, out: &mut String) {
    if r"\.+*?()|[]{}^$#&-~".contains(c) {
        out.push('\\');
    }
    out.push(c);
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::the_beginning_is_enough("/v1/models", "/v1/models-of-others", true)]
    #[case::unless_the_end_is_asked_for("/v1/models$", "/v1/models-of-others", false)]
    #[case::alternatives("/v1/(chat|files)/.*", "/v1/files/x", true)]
    #[case::not_in_the_middle("models", "/v1/models", false)]
    #[case::braces_are_letters("/v1/{id}", "/v1/{id}", true)]
    #[case::counted(r"/v\d{1,2}/x", "/v12/x", true)]
    #[case::brackets_inside("[[]a", "[a", true)]
    #[case::first_in_brackets("[]a]+$", "]a]", true)]
    #[case::dash_at_the_end("[a-]$", "-", true)]
    #[case::whatever_case("(?i)/V1/MODELS", "/v1/models", true)]
    fn patterns_mean_what_python_means(#[case] text: &str, #[case] path: &str, #[case] is: bool) {
        assert_eq!(Pattern::parse(text).unwrap().matches(path), Some(is));
    }

    #[rstest]
    #[case::open("/v1/(chat")]
    #[case::closed("/v1/chat)")]
    #[case::nothing_repeated("*/v1")]
    #[case::twice_repeated("/v1/a**")]
    #[case::class("[a")]
    #[case::range("[z-a]")]
    #[case::a_name_as_others_write_it("/v1/files(?<id>.*)")]
    #[case::a_class_of_others(r"/v1/\p{L}+")]
    #[case::the_end_as_others_write_it(r"/v1/files\z")]
    #[case::a_class_within_brackets(r"[\p{L}]")]
    #[case::flags_in_the_middle("/v1/(?i)files")]
    fn what_python_refuses_is_broken(#[case] text: &str) {
        assert!(matches!(Pattern::parse(text), Err(Fault::Broken(_))));
    }

    #[rstest]
    #[case::ahead("/v1/(?!models)")]
    #[case::back(r"(a)\1")]
    #[case::greedy_for_good("a*+")]
    #[case::a_name("(?P<id>a)")]
    #[case::flags_of_a_group("(?i:a)")]
    #[case::a_tab(r"\t")]
    #[case::other_letters("/v1/ü")]
    fn what_only_python_knows_is_not_evaluated(#[case] text: &str) {
        assert!(matches!(Pattern::parse(text), Err(Fault::Foreign(_))));
    }
}
