//! Remedies that a click can apply: the change is right, and nothing else of the text changes.

use llsd_offline::{Input, Report, Source, healing, validate};
use llsd_plan::facts::Facts;

const STACK: &str = "\
# What we run
apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata: {name: demo}
spec:
  distribution: {name: starter} # ours
  providers:
    inference:
    - provider: vllm
      endpoint: 'http://vllm:8000'
";

fn check(text: &str) -> Report {
    let mut input = Input { facts: Some(Facts::default()), ..Input::default() };
    input.add(&Source::new("stack.yaml", text.into()));
    validate(input)
}

/// The text with the first finding healed that offers it, and the words on the button.
fn healed(text: &str) -> (String, String) {
    let report = check(text);
    let change = report.all().find_map(|finding| healing(text, 1, finding, check));
    let change = change.unwrap_or_else(|| panic!("no change for {report:?}"));
    (change.apply(text), change.label)
}

#[test]
fn a_misspelt_value_is_replaced_where_it_stands() {
    let (text, label) = healed(&STACK.replace("starter}", "startr}"));
    assert_eq!((text.as_str(), label.as_str()), (STACK, "Replace startr by starter"));
}

#[test]
fn a_misspelt_field_is_renamed_and_keeps_its_value() {
    let (text, label) = healed(&STACK.replace("endpoint:", "endpont:"));
    assert_eq!((text.as_str(), label.as_str()), (STACK, "Replace endpont by endpoint"));
    let (text, _) = healed(&STACK.replace("endpoint:", "\"endpont\":"));
    assert_eq!(text, STACK.replace("endpoint:", "\"endpoint\":"));
}

#[test]
fn a_line_that_is_missing_or_wrong_is_written() {
    let (text, label) = healed(&STACK.replace("kind: LlamaStackDistribution\n", ""));
    assert!(check(&text).all().next().is_none(), "{text}");
    assert_eq!(label, "Write kind: LlamaStackDistribution");
    let (text, _) = healed(&STACK.replace("llamastack.io/", "llamastack.ai/"));
    assert_eq!(text, STACK);
}

#[test]
fn a_field_that_nobody_knows_is_removed() {
    let (text, label) = healed(&STACK.replace("spec:\n", "spec:\n  colour: {of: house}\n"));
    assert_eq!((text.as_str(), label.as_str()), (STACK, "Remove colour"));
}

#[test]
fn a_change_that_hides_another_mistake_still_heals_its_own() {
    let wrong = STACK.replace("starter}", "startr}").replace("vllm\n", "llamma-guard\n");
    let (text, _) = healed(&wrong);
    assert!(text.contains("name: starter}"), "{text}");
}

#[test]
fn a_finding_that_needs_a_decision_offers_no_change() {
    let text = STACK.replace("  providers:", "  networking: {port: 80}\n  providers:");
    let report = check(&text);
    let finding = report.all().next().expect("a finding");
    assert_eq!(healing(&text, 1, finding, check), None);
    // The name that was meant is taken already.
    let text = STACK.replace("endpoint:", "endpont: http://a\n      endpoint:");
    let report = check(&text);
    let finding = report.all().next().expect("a finding");
    assert_eq!(healing(&text, 1, finding, check), None);
}
