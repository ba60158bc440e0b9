//! `--base`: the configuration of an image of one's own, of any supported release, and what becomes
//! of files that are none.

use std::fmt::Write;
use std::time::{Duration, Instant};

use crate::support::{Files, parse_documents, run, starter_base, with_vllm};

fn with_base(base: &str, more: &[&str]) -> crate::support::Run {
    let text = with_vllm("a", "").replace("{name: starter}", "{image: registry.example.com/own:1}");
    run(&[&["render", "-f", "-", "-o", "config", "--base", base], more].concat(), &text)
}

#[test]
fn a_base_of_every_release_is_built_upon() {
    for (release, field, url) in [
        ("0.2.12", "url", "http://vllm:8000/v1"),
        ("0.2.24", "url", "http://vllm:8000/v1"),
        ("0.3.5", "url", "http://vllm:8000/v1"),
        ("0.4.7", "base_url", "http://vllm:8000/v1"),
        ("0.5.4", "base_url", "http://vllm:8000/v1"),
        ("0.6.1", "base_url", "http://vllm:8000/v1"),
    ] {
        let path = starter_base(release);
        let rendered = with_base(path.to_str().unwrap(), &["--release", release]);
        assert_eq!(rendered.code, 0, "{release}: {}", rendered.stderr);
        let config = parse_documents(&rendered.stdout).remove(0);
        let entries = config["providers"]["inference"].as_array().unwrap().clone();
        let vllm = entries.into_iter().find(|entry| entry["provider_id"] == "vllm").unwrap();
        assert_eq!(vllm["config"][field], url, "{release}");
    }
}

#[test]
fn a_base_of_another_version_is_refused_by_name() {
    let files = Files::new();
    let refused = with_base(&files.add("b.yaml", "version: 3\nproviders: {}\n"), &[]);
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""));
    assert!(
        refused.stderr.contains("Unsupported config.yaml version 3. Supported versions: 1, 2\n"),
        "{}",
        refused.stderr
    );
}

/// Generous, for debug builds; without bounds these would take minutes, or all memory.
const PATIENCE: Duration = Duration::from_secs(90);

#[test]
fn a_hostile_base_is_refused_at_once_with_its_place() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..30 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        let _ = writeln!(bomb, "a{level}: &a{level} [{aliases}]");
    }
    let files = Files::new();
    for (text, words) in [
        (bomb, "more than 100000 keys and values"),
        ("[".repeat(100_000), "recursion limit"),
        ("- ".repeat(100_000), "recursion limit"),
        ("key: value # and so on\n".repeat(500_000), "longer than 4 MiB"),
        ("#".repeat(17 << 20), "longer than 16 MiB"),
        ("version: 2\nproviders: [\n".to_owned(), "not valid YAML"),
        ("version: 2\n---\nversion: 2\n".to_owned(), "more than one document"),
    ] {
        let base = files.add("base.yaml", &text);
        let start = Instant::now();
        let refused = with_base(&base, &[]);
        assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{words}");
        assert!(refused.stderr.starts_with(&format!("{base}:")), "{}", refused.stderr);
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
        assert!(refused.stderr.len() < 1000);
        assert!(start.elapsed() < PATIENCE, "{words}: {:?}", start.elapsed());
    }
}

#[test]
fn a_broken_base_does_not_hide_what_is_wrong_with_the_resource() {
    let files = Files::new();
    let base = files.add("base.yaml", "a: [\n");
    let text = with_vllm("a", "  networking: {port: 80}\n");
    let refused = run(&["render", "-f", "-", "--base", &base], &text);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains(&format!("{base}:")), "{}", refused.stderr);
    assert!(refused.stderr.contains("spec.networking.port: "), "{}", refused.stderr);
}
