//! `--strict`: warnings are a reason to fail, in every command that prints them.

use crate::support::{Files, Run, resource, run, with_vllm};

/// A warning and no problem: no release has such an API.
const WARNED: &str = "  disabled: [nothing]\n";

fn strict(command: &str, text: &str) -> Run {
    run(&[command, "-f", "-", "--strict"], text)
}

#[test]
fn a_warning_fails_every_command_that_prints_it() {
    let text = with_vllm("a", WARNED);
    for command in ["validate", "render", "explain"] {
        let lenient = run(&[command, "-f", "-"], &text);
        assert_eq!(lenient.code, 0, "{command}: {}", lenient.stderr);
        let strict = strict(command, &text);
        assert_eq!((strict.code, strict.stdout.as_str()), (1, ""), "{command}");
        let warning = "warning: spec.disabled[0]: no release has an API `nothing`";
        assert!(strict.stderr.contains(warning), "{command}: {}", strict.stderr);
    }
    let validated = strict("validate", &text);
    assert!(validated.stderr.ends_with("1 resource, 0 problems, 1 warning\n"));
    let rendered = strict("render", &text);
    let why = "nothing else is printed: with --strict a warning is a reason to fail\n";
    assert!(rendered.stderr.ends_with(why), "{}", rendered.stderr);
}

#[test]
fn without_warnings_nothing_changes() {
    for command in ["validate", "render", "explain"] {
        let (lenient, strict) =
            (run(&[command, "-f", "-"], &with_vllm("a", "")), strict(command, &with_vllm("a", "")));
        assert_eq!((strict.code, strict.stdout), (0, lenient.stdout), "{}", strict.stderr);
    }
}

#[test]
fn a_configuration_that_was_not_checked_fails_and_a_document_of_another_kind_does_not() {
    let unchecked = with_vllm("a", "").replace("{name: starter}", "{image: quay.io/a/b:1}");
    assert_eq!(run(&["validate", "-f", "-"], &unchecked).code, 0);
    assert_eq!(strict("validate", &unchecked).code, 1);
    let beside = format!("{}---\napiVersion: v1\nkind: Service\n", resource("demo", "a"));
    let mixed = strict("validate", &beside);
    assert_eq!(mixed.code, 0, "{}", mixed.stderr);
    assert!(mixed.stderr.contains("was passed over"), "{}", mixed.stderr);
    assert!(mixed.stdout.contains("demo/a: valid"), "{}", mixed.stdout);
}

#[test]
fn the_report_for_programs_stays_and_the_exit_code_says_it() {
    let text = with_vllm("a", WARNED);
    let lenient = run(&["validate", "-f", "-", "-o", "json"], &text);
    let strict = run(&["validate", "-f", "-", "-o", "json", "--strict"], &text);
    assert_eq!((lenient.code, strict.code), (0, 1));
    assert_eq!(lenient.stdout, strict.stdout);
}

#[test]
fn no_folder_is_written_and_nothing_migrated() {
    let files = Files::new();
    let folder = files.path("out");
    let rendered = run(
        &["render", "-f", "-", "--strict", "-o", &format!("dir={folder}")],
        &with_vllm("a", WARNED),
    );
    assert_eq!(rendered.code, 1, "{}", rendered.stderr);
    assert!(!std::path::Path::new(&folder).exists());

    let old = "apiVersion: llamastack.io/v1alpha1\nkind: LlamaStackDistribution\n\
               metadata: {name: a, namespace: demo}\nspec: {server: {distribution: {name: starter}}, \
               network: {exposeRoute: true}}\n";
    let lenient = run(&["migrate", "-f", "-"], old);
    assert_eq!(lenient.code, 0, "{}", lenient.stderr);
    assert!(lenient.stderr.contains("warning: "), "{}", lenient.stderr);
    let strict = strict("migrate", old);
    assert_eq!((strict.code, strict.stdout.as_str()), (1, ""), "{}", strict.stderr);
    assert!(strict.stderr.contains("warning: "), "{}", strict.stderr);
}
