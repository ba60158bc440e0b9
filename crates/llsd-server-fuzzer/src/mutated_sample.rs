//! The samples with a mistake such as people make: a line that is lost, a key that is misspelt, an indentation that
//! is off, a value of another type.

use llsd_cases::files::{text, yaml_files};
use llsd_yaml::document;
use serde_json::Value;

use crate::random::Random;

/// A sample with one or two mistakes.
#[derive(Debug)]
pub struct MutatedSample {
    /// The sample's file.
    pub name: String,
    pub text: String,
}

impl MutatedSample {
    /// What it asks for, but for the distribution; nothing if it is no YAML, or has no spec.
    pub fn spec(&self) -> Option<Value> {
        let mut spec = document::read(&self.text).ok()?.pointer("/spec")?.clone();
        drop(spec.as_object_mut()?.shift_remove("distribution"));
        Some(spec)
    }
}

const MISTAKES: [fn(&mut Vec<String>, usize, &mut Random); 10] = [
    |lines, at, _| drop(lines.remove(at)),
    |lines, at, _| drop(lines.drain(at..end_of_block(lines, at))),
    |lines, at, _| {
        let block = lines[at..end_of_block(lines, at)].to_vec();
        drop(lines.splice(at..at, block));
    },
    |lines, at, random| misspell(&mut lines[at], random),
    |lines, at, random| misspell(&mut lines[at], random),
    |lines, at, random| replace_value(&mut lines[at], random),
    |lines, at, random| replace_value(&mut lines[at], random),
    |lines, at, _| lines[at].insert_str(0, "  "),
    |lines, at, _| lines[at] = lines[at].replacen("  ", "", 1),
    |lines, at, _| lines[at] = lines[at].replacen(": ", ":", 1),
];

const ODD_VALUES: [&str; 32] = [
    "",
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1.5",
    "8321",
    "70000",
    "99999999999",
    "\"1\"",
    "\"\"",
    "\" \"",
    "x",
    "a b",
    "A_B",
    "10Gb",
    "2GB",
    "[]",
    "{}",
    "[x]",
    "[null]",
    "{a: b}",
    "{name: a}",
    "{name: a, key: b}",
    "*x",
    "@x",
    "- x",
    "http://",
    "host:8000",
    "2026-01-01",
    "redis",
];

/// The same one for the same seed.
pub fn mutated_sample(seed: u64) -> MutatedSample {
    let mut random = Random::of_seed(seed);
    let samples = yaml_files("deploy/samples");
    let is_current = |name: &str| name.starts_with("v1alpha2-");
    let samples: Vec<(String, String)> = samples
        .iter()
        .map(|path| {
            (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), text(path))
        })
        .filter(|(name, _)| is_current(name))
        .collect();
    let (name, original) = random.one_of(&samples).expect("there are samples").clone();
    loop {
        let mut lines: Vec<String> = original.lines().map(str::to_owned).collect();
        for _ in 0..=random.below(2) {
            let said: Vec<usize> =
                (0..lines.len()).filter(|at| says_something(&lines[*at])).collect();
            if let (Some(at), Some(mistake)) = (random.one_of(&said), random.one_of(&MISTAKES)) {
                mistake(&mut lines, *at, &mut random);
            }
        }
        let text = lines.join("\n") + "\n";
        if document::read(&text).ok() != document::read(&original).ok() {
            return MutatedSample { name, text };
        }
    }
}

fn says_something(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with('#')
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// After the lines that are indented more than this one.
fn end_of_block(lines: &[String], at: usize) -> usize {
    let is_inside =
        |line: &String| says_something(line) && indentation(line) > indentation(&lines[at]);
    at + 1 + lines[at + 1..].iter().take_while(|line| is_inside(line)).count()
}

/// Where the key of a line is, after the dashes of a list.
fn key_of(line: &str) -> Option<std::ops::Range<usize>> {
    let start = line.find(|c: char| !matches!(c, ' ' | '-'))?;
    let end = start + line[start..].find(':')?;
    (end > start).then_some(start..end)
}

/// Drops, doubles or capitalises a letter of the key.
fn misspell(line: &mut String, random: &mut Random) {
    let Some(key) = key_of(line).filter(|key| line[key.clone()].is_ascii()) else { return };
    let at = key.start + random.below(key.len());
    match random.below(3) {
        0 => drop(line.remove(at)),
        1 => {
            let letter = line[at..=at].to_owned();
            line.insert_str(at, &letter);
        }
        _ => {
            let letter = line[key.start..=key.start].to_ascii_uppercase();
            line.replace_range(key.start..=key.start, &letter);
        }
    }
}

fn replace_value(line: &mut String, random: &mut Random) {
    let start = key_of(line).map(|key| key.end + 1).or_else(|| Some(line.find("- ")? + 1));
    if let Some(start) = start {
        line.replace_range(start.., &format!(" {}", random.text(&ODD_VALUES)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_file_that_is_not_the_sample() {
        for seed in 0..200 {
            let mutated = mutated_sample(seed);
            assert_eq!(mutated.text, mutated_sample(seed).text);
            let original =
                yaml_files("deploy/samples").into_iter().find(|path| path.ends_with(&mutated.name));
            assert_ne!(mutated.text, text(&original.unwrap()));
        }
    }

    #[test]
    fn a_block_ends_where_the_indentation_does() {
        let lines: Vec<String> =
            ["a:", "  b: 1", "  c:", "    - d", "e: 2"].map(str::to_owned).into();
        let ends: Vec<usize> = (0..lines.len()).map(|at| end_of_block(&lines, at)).collect();
        assert_eq!(ends, [4, 2, 4, 4, 5]);
    }

    #[test]
    fn the_value_of_a_key_or_an_item_is_replaced() {
        for (line, before) in
            [("    port: 8321", "    port: "), ("  - eval", "  - "), ("- id: a", "- id: ")]
        {
            let mut changed = line.to_owned();
            replace_value(&mut changed, &mut Random::new(1));
            assert!(changed.starts_with(before), "{changed}");
        }
    }
}
