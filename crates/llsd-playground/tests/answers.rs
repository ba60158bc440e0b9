//! The engine's answers, asked natively: the page in a browser gets the same, which `make playground-test` shows.

use std::path::Path;

use llsd_playground::ask;
use serde_json::{Value, json};

const STACK: &str = "\
# Grüße 🦙
apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata: {name: demo}
spec:
  distribution: {name: starter} # ours
  providers:
    inference: {provider: vllm, endpoint: 'http://vllm:8000'}
";

fn answer(question: &Value) -> Value {
    serde_json::from_str(&ask(question.to_string().as_bytes())).unwrap()
}

fn rendered(text: &str) -> Value {
    answer(&json!({"ask": "render", "text": text}))
}

#[test]
fn a_resource_is_rendered_with_the_origin_of_every_line() {
    let answer = rendered(STACK);
    assert_eq!(answer["findings"], json!([]));
    let files = answer["rendered"][0]["files"].as_array().unwrap();
    let config = files.iter().find(|file| file["name"] == "config.yaml").unwrap();
    let lines = answer["rendered"][0]["lines"].as_array().unwrap();
    let texts: Vec<&str> = lines.iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert_eq!(
        config["text"],
        texts.join(
            "
"
        ) + "
"
    );
    let url =
        lines.iter().find(|line| line["origin"] == "spec.providers.inference.endpoint").unwrap();
    assert_eq!((&url["kind"], &url["at"]["line"]), (&json!("field"), &json!(8)));
    assert!(answer["objects"].as_str().unwrap().contains("kind: Deployment\n"));
    assert_eq!(answer["migrated"], Value::Null);
}

#[test]
fn a_mistake_has_its_place_and_a_change_counted_as_javascript_counts() {
    let answer = rendered(&STACK.replace("starter}", "startr}"));
    let finding = &answer["findings"][0];
    assert_eq!((&finding["kind"], &finding["line"]), (&json!("problem"), &json!(6)));
    let change = &finding["change"];
    assert_eq!(change["label"], "Replace startr by starter");
    let units: Vec<u16> = STACK.replace("starter}", "startr}").encode_utf16().collect();
    let place = |name: &str| usize::try_from(change[name].as_u64().unwrap()).unwrap();
    assert_eq!(String::from_utf16(&units[place("from")..place("to")]).unwrap(), "startr");
    assert_eq!(answer["rendered"], json!([]));
}

#[test]
fn another_distribution_keeps_the_comments() {
    let question = json!({"ask": "distribution", "text": STACK, "name": "ogx-starter"});
    let text = answer(&question)["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("# Grüße 🦙\n") && text.contains("ogx-starter"), "{text}");
    assert_eq!(rendered(&text)["distribution"]["name"], "ogx-starter");
}

#[test]
fn a_text_without_a_distribution_gets_one() {
    let text = STACK.replace("  distribution: {name: starter} # ours\n", "");
    assert_eq!(rendered(&text)["rendered"], json!([]));
    let question = json!({"ask": "distribution", "text": text, "name": "starter"});
    let text = answer(&question)["text"].as_str().unwrap().to_owned();
    assert_eq!(rendered(&text)["rendered"].as_array().unwrap().len(), 1, "{text}");
}

#[test]
fn a_release_by_its_number_renders_as_the_distribution_that_has_it() {
    let catalogue = answer(&json!({"ask": "catalogue"}));
    let choices = catalogue["distributions"].as_array().unwrap();
    let starter = choices.iter().find(|choice| choice["name"] == "starter").unwrap();
    let question = json!({"ask": "render", "text": STACK, "release": starter["release"]});
    let lines = |answer: &Value| answer["rendered"][0]["lines"].as_array().unwrap().len();
    assert_eq!(lines(&answer(&question)), lines(&rendered(STACK)));
}

#[test]
fn every_release_that_is_offered_renders_the_sample() {
    let catalogue = answer(&json!({"ask": "catalogue"}));
    for choice in catalogue["distributions"].as_array().unwrap() {
        let question = json!({"ask": "distribution", "text": STACK, "name": choice["name"]});
        let text = answer(&question)["text"].clone();
        for release in choice["older"].as_array().unwrap() {
            let answer = answer(&json!({"ask": "render", "text": text, "release": release}));
            assert_eq!(
                answer["rendered"].as_array().unwrap().len(),
                1,
                "{release}: {}",
                answer["messages"]
            );
        }
    }
}

#[test]
fn an_older_text_comes_with_its_newest_form() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/samples");
    let text = std::fs::read_to_string(samples.join("v1alpha1-ollama.yaml")).unwrap();
    let answer = rendered(&text);
    assert!(answer["migrated"]["text"].as_str().unwrap().contains("llamastack.io/v1alpha2"));
    assert_eq!(answer["rendered"].as_array().unwrap().len(), 1);
}

#[test]
fn what_is_no_question_is_an_error_and_what_is_no_resource_a_finding() {
    assert!(answer(&json!({"ask": "the oracle"}))["error"].is_string());
    assert!(serde_json::from_str::<Value>(&ask(b"\xff")).unwrap()["error"].is_string());
    for text in ["", "\u{0}", "[", "kind: Pod\napiVersion: v1"] {
        assert_eq!(rendered(text)["rendered"], json!([]), "{text:?}");
    }
    assert_eq!(rendered("[")["findings"][0]["kind"], "problem");
}
