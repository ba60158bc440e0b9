//! Hostile or absurd input is refused quickly, with words, and never with a crash.

#![allow(clippy::format_collect, clippy::format_push_string)] // Brevity beats speed here.

use std::time::{Duration, Instant};

use crate::support::{resource, validate_stdin};

/// Generous, for debug builds; without bounds these would take minutes, or all memory.
const PATIENCE: Duration = Duration::from_mins(3);

fn refused(text: &str, words: &str) {
    let start = Instant::now();
    let run = validate_stdin(text);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains(words), "{}", run.stderr.chars().take(500).collect::<String>());
    assert!(run.stderr.len() < 1 << 20, "an answer of {} bytes", run.stderr.len());
    assert!(start.elapsed() < PATIENCE, "took {:?}", start.elapsed());
}

#[test]
fn deep_nesting_is_refused() {
    refused(&"[".repeat(200_000), "nested more than 128 levels deep");
    refused(&"{\"a\":".repeat(200_000), "nested more than 128 levels deep");
    refused(&"- ".repeat(100_000), "nested more than 128 levels deep");
    refused(&"? ".repeat(100_000), "nested more than 128 levels deep");
    let balanced = format!("{}1{}", "{\"a\":".repeat(20_000), "}".repeat(20_000));
    refused(&balanced, "nested more than 128 levels deep");
    let staircase: String = (0..2_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    refused(&staircase, "nested more than 128 levels deep");
}

#[test]
fn nesting_by_way_of_aliases_is_refused() {
    let mut text = "a0: &a0 [x]\n".to_owned();
    for level in 1..1_000 {
        text += &format!("a{level}: &a{level} [*a{}]\n", level - 1);
    }
    refused(&text, "nested more than 128 levels deep");
}

#[test]
fn an_alias_bomb_is_refused() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..30 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        text += &format!("a{level}: &a{level} [{aliases}]\n");
    }
    refused(&text, "more than 500000 keys and values");
}

#[test]
fn megabytes_of_keys_are_refused() {
    let keys: String = (0..800_000).map(|number| format!("key{number}: {number}\n")).collect();
    assert!(keys.len() > 10_000_000);
    refused(&keys, "more than 500000 keys and values");
    refused(&format!("{{{}}}", keys.replace('\n', ", ")), "more than 500000 keys and values");
}

/// Neither planned nor looked at one by one: no name may be empty.
#[test]
fn a_list_beyond_its_limit_is_refused_for_that_alone() {
    let models: String = (0..100_000)
        .map(|n| if n % 2 == 0 { format!("    - m{n}\n") } else { "    - ''\n".into() })
        .collect();
    let text = format!("{}  resources:\n    models:\n{models}", resource("demo", "a"));
    let run = validate_stdin(&text);
    assert_eq!(run.code, 1);
    let expected = "-:7:5: spec.resources.models: has more than 256 items\n    → keep at most 256\n\
                    1 resource, 1 problem, 0 warnings\n";
    assert_eq!(run.stderr, expected);
    refused(&text, "keep at most 256");
}

#[test]
fn values_beyond_their_limit_are_refused_for_that_alone() {
    let settings: String = (0..20_000).map(|n| format!("        key{n}: {n}\n")).collect();
    let text = format!(
        "{}  providers:\n    inference:\n      provider: vlm\n      settings:\n{settings}",
        resource("demo", "a")
    );
    let run = validate_stdin(&text);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("spec: holds more than 20000 values\n"), "{}", run.stderr);
    assert!(run.stderr.contains("1 problem, 0 warnings"), "{}", run.stderr);
}

#[test]
fn every_field_of_a_long_mapping_is_found_at_its_line() {
    let fields: String = (0..1_000).map(|n| format!("  field{n}: {n}\n")).collect();
    let run = validate_stdin(&format!("{}{fields}", resource("demo", "a")));
    assert_eq!(run.code, 1);
    for n in [0, 31, 32, 999] {
        let line = format!("-:{}:3: spec.field{n}: unknown field\n", n + 6);
        assert!(run.stderr.contains(&line), "{line}");
    }
}

#[test]
fn millions_of_documents_are_refused() {
    refused(&"---\n".repeat(1_000_000), "more than 500000 keys and values");
    refused(&"[\n---\n".repeat(500_000), "more than 500000 keys and values");
}

#[test]
fn a_file_of_more_than_16_mib_is_refused() {
    refused(&"#".repeat((16 << 20) + 1), "longer than 16 MiB");
    let comment = "#".repeat(15 << 20);
    assert_eq!(validate_stdin(&format!("{comment}\n{}", resource("demo", "a"))).code, 0);
}

#[test]
fn long_scalars_and_lines_are_read_at_once() {
    for text in [
        format!("a: \"{}\"\n", "\\u0041".repeat(500_000)),
        format!("a: {}\n", "x ".repeat(1_000_000)),
        format!("a:\n{}", "  x\n".repeat(500_000)),
        format!("a: |\n{}", "  x\n\n".repeat(500_000)),
        format!("a: {}\n", "1".repeat(1_000_000)),
        format!("? {}\n: 1\n", "k".repeat(1_000_000)),
        format!("a: {}\n", " ".repeat(1_000_000)),
        format!("{}a: 1\n", "\n".repeat(1_000_000)),
        format!("a: [{}]\n", "\n".repeat(1_000_000)),
        format!("a: {}x\n", "!".repeat(500_000)),
        format!("a: &{} 1\n", "x".repeat(1_000_000)),
    ] {
        let start = Instant::now();
        let run = validate_stdin(&text);
        assert_eq!(run.code, 1);
        assert!(start.elapsed() < PATIENCE, "{:?}: {:?}", &text[..20], start.elapsed());
    }
}
