//! Images of distributions under other names: which of them have the configuration that is part of the
//! operator, and what `--registry` learns of servers' images.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use llsd_testkit::{RegistryServer, TestImage};

use crate::image::INLINE;
use crate::support::{Files, Run, object, parse_documents, resource, run, starter_base, with_vllm};

/// The example of the page on installing.
const OVERRIDE: &str = "registry.internal/llamastack/starter:0.7.3";

fn of_image(image: &str) -> String {
    with_vllm("a", "").replace("{name: starter}", &format!("{{image: \"{image}\"}}"))
}

fn overriding(image: &str) -> String {
    format!("operator: {{imageOverrides: {{starter: \"{image}\"}}}}\n")
}

fn with_facts(command: &[&str], text: &str, facts: &str) -> Run {
    let files = Files::new();
    let facts = files.add("facts.yaml", facts);
    run(&[command, &["-f", "-", "--facts", &facts]].concat(), text)
}

#[test]
fn a_name_keeps_its_configuration_under_an_override_of_the_same_release() {
    let text = with_vllm("a", "");
    let own = run(&["render", "-f", "-", "-o", "config"], &text);
    let mirrored = with_facts(&["render", "-o", "config"], &text, &overriding(OVERRIDE));
    assert_eq!((mirrored.code, mirrored.stderr.as_str()), (0, ""));
    assert_eq!(mirrored.stdout, own.stdout);
    let explained = with_facts(&["explain"], &text, &overriding(OVERRIDE));
    let base = "# base: the distribution starter, embedded, release 0.7.3, ";
    assert!(explained.stdout.contains(base), "{}", explained.stdout);
    let related = format!("operator: {{relatedImages: {{starter: \"{OVERRIDE}\"}}}}\n");
    assert_eq!(with_facts(&["render", "-o", "config"], &text, &related).stdout, own.stdout);
    // The image that is named in both ways has the same base.
    let by_image =
        with_facts(&["render", "-o", "config"], &of_image(OVERRIDE), &overriding(OVERRIDE));
    assert_eq!(by_image.stdout, own.stdout);
}

#[test]
fn an_override_by_digest_is_of_the_release_that_its_label_says() {
    let image = format!("registry.internal/llamastack/starter@sha256:{}", "0".repeat(64));
    let facts = overriding(&image);
    let text = with_vllm("a", "");
    let unknown = with_facts(&["render", "-o", "config"], &text, &facts);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (3, ""));
    assert!(unknown.stderr.contains("ask the registry with --registry"), "{}", unknown.stderr);
    let labelled = format!("image: {{release: 0.7.3, inspected: true}}\n{facts}");
    let known = with_facts(&["render", "-o", "config"], &text, &labelled);
    assert_eq!(known.code, 0, "{}", known.stderr);
}

#[test]
fn an_override_of_another_release_is_refused_with_both_releases() {
    let facts = overriding("registry.internal/llamastack/starter:0.7.2");
    let facts = format!("image: {{inspected: true}}\n{facts}");
    let run = with_facts(&["render"], &with_vllm("a", ""), &facts);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains(
            "The operator's own configuration of the distribution starter is of release 0.7.3, but this \
             image is of release 0.7.2."
        ),
        "{}",
        run.stderr
    );
    let remedy = "→ use an image of release 0.7.3 under starter in image-overrides of the operator's \
                  ConfigMap, or label this one: llsd image label does it in one step";
    assert!(run.stderr.contains(remedy), "{}", run.stderr);
}

#[test]
fn the_image_behind_a_name_has_its_configuration_when_it_is_written_by_itself() {
    let own = run(&["render", "-f", "-", "-o", "config"], &with_vllm("a", ""));
    for image in [
        "docker.io/llamastack/distribution-starter:0.7.3",
        "llamastack/distribution-starter:0.7.3",
        &format!("llamastack/distribution-starter:0.7.3@sha256:{}", "0".repeat(64)),
    ] {
        let run = run(&["render", "-f", "-", "-o", "config"], &of_image(image));
        assert_eq!((run.code, run.stdout.as_str()), (0, own.stdout.as_str()), "{}", run.stderr);
    }
    let default = resource("demo", "a")
        .replace("{name: starter}", "{image: \"llamastack/distribution-starter:0.7.3\"}");
    let explained = run(&["explain", "-f", "-"], &default);
    let source = "unchanged: the image's own configuration; base: the distribution starter";
    assert!(explained.stdout.contains(source), "{}", explained.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_says_what_the_images_of_servers_hold() {
    let registry = RegistryServer::builder().start().await.unwrap();
    let base = std::fs::read_to_string(starter_base("0.6.1")).unwrap();
    let labelled = TestImage::new().label(INLINE, BASE64_STANDARD.encode(base));
    let own = registry.push("team/own", "0.6.1", &labelled).await.unwrap();
    let bare = registry.push("mirror/starter", "0.7.3", &TestImage::new()).await.unwrap();
    let host = registry.host().to_owned();
    let asked = async |text: String, facts: String| {
        let command = ["render", "--registry", "--plain-http"];
        tokio::task::spawn_blocking(move || with_facts(&command, &text, &facts)).await.unwrap()
    };
    let image_of = |run: &Run| {
        let objects = parse_documents(&run.stdout);
        let deployment = object(&objects, "Deployment").clone();
        deployment["spec"]["template"]["spec"]["containers"][0]["image"]
            .as_str()
            .unwrap()
            .to_owned()
    };

    // Each of several resources is planned with its own image.
    let image = format!("{host}/team/own:0.6.1");
    let run = asked(of_image(&image), String::new()).await;
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(image_of(&run), format!("{image}@{own}"));
    let mirror = format!("{host}/mirror/starter:0.7.3");
    let both = format!("{}---\n{}", with_vllm("b", ""), of_image(&image));
    let run = asked(both, overriding(&mirror)).await;
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(image_of(&run), format!("{mirror}@{bare}"), "the first one's");
    assert!(run.stdout.contains(&format!("{image}@{own}")), "the second one's");

    let unlabelled = asked(of_image(&mirror), String::new()).await;
    assert_eq!(unlabelled.code, 1, "{}", unlabelled.stderr);
    assert!(unlabelled.stderr.contains("missing config labels"), "{}", unlabelled.stderr);
    let nowhere = asked(of_image(&format!("{host}/team/nowhere:1")), String::new()).await;
    assert_eq!(nowhere.code, 3, "{}", nowhere.stderr);
    assert!(nowhere.stderr.contains("not found in the registry"), "{}", nowhere.stderr);
    // What files say of the image is not asked for.
    let said = "image: {inspected: true}\n".to_owned();
    let run = asked(of_image(&image), said).await;
    assert!(run.stderr.contains("missing config labels"), "{}", run.stderr);
}
