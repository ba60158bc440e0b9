//! `llsd image inspect` against a real registry: what an image says, and what the operator would use.

use base64::{Engine, prelude::BASE64_STANDARD};
use llsd_testkit::{RegistryServer, TestImage, TestLayer};
use serde_json::{Value, json};

use crate::image::{INLINE, LAYER, PATH, Person, VERSION, configuration, large_configuration};

async fn report(person: &Person, image: &str, code: i32) -> Value {
    let run = person.image(&["inspect", image, "--plain-http", "-o", "json"]).await;
    assert_eq!(run.code, code, "{} {}", run.stdout, run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

#[tokio::test]
async fn a_configuration_of_every_family_is_shown_as_the_operator_would_use_it() {
    let server = RegistryServer::builder().start().await.unwrap();
    let person = Person::new();
    let encoded = BASE64_STANDARD.encode(configuration());
    let layer = TestLayer::files(&[("app/config.yaml", large_configuration().as_bytes())]).gzip();
    let inline = TestImage::new()
        .label(INLINE, &*encoded)
        .label(VERSION, "2")
        .label("maintainer", "someone")
        .label("org.opencontainers.image.version", "0.7.2");
    let in_layer = TestImage::new()
        .label(LAYER, layer.digest())
        .label(PATH, "/app/config.yaml")
        .layer(layer.clone());
    let named = TestImage::new()
        .label("com.llamastack.distribution.default-config", "config.yaml")
        .label("com.llamastack.config.config.yaml", &*encoded);
    for (tag, image, source, label, server_named) in [
        ("inline", inline, "Labels", INLINE, "0.7.3"),
        ("layer", in_layer, "Layer", LAYER, "0.7"),
        ("v0.7.1", named, "Labels", "com.llamastack.config.config.yaml", "0.7.3"),
    ] {
        let digest = server.push("team/server", tag, &image).await.unwrap();
        let name = format!("{}/team/server:{tag}", server.host());
        let report = report(&person, &name, 0).await;
        assert_eq!(report["digest"], digest.as_str());
        assert_eq!((&report["isIndex"], &report["problems"]), (&json!(false), &json!([])));
        let found = &report["configuration"];
        assert_eq!((&found["source"], &found["label"]), (&json!(source), &json!(label)));
        assert_eq!((&found["version"], &found["server"]), (&json!(2), &json!(server_named)));
        let size = image.layers.iter().map(|layer| layer.bytes.len()).sum::<usize>();
        assert_eq!(report["platforms"][0]["size"], size + image.config().len());
        assert_eq!(report["platforms"][0]["platform"], "linux/amd64");
        let text = person.image(&["inspect", &name, "--plain-http"]).await;
        assert!(
            text.stdout.contains("operator uses  the configuration in the "),
            "{}",
            text.stdout
        );
        assert!(text.stdout.contains(label), "{}", text.stdout);
        assert!(!text.stdout.contains("maintainer") && !text.stdout.contains(&encoded));
        assert_eq!(text.stderr, "");
    }
}

#[tokio::test]
async fn an_image_without_labels_is_answered_as_the_resource_status_would() {
    let server = RegistryServer::builder().start().await.unwrap();
    let person = Person::new();
    server.push("team/server", "1", &TestImage::new().label("a", "b")).await.unwrap();
    let name = format!("{}/team/server:1", server.host());
    let expected = format!(
        "Distribution image {name} missing config labels. Add labels using `crane mutate` or use \
         `overrideConfig` to provide configuration manually. See docs/configuration.md for details."
    );
    let found = report(&person, &name, 1).await;
    assert_eq!(found["configuration"], Value::Null);
    assert_eq!(found["problems"][0]["reason"], "MissingConfigLabels");
    assert_eq!(found["problems"][0]["message"], expected.as_str());
    let run = person.image(&["inspect", &name, "--plain-http"]).await;
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains(&expected) && run.stderr.contains("llsd image label"));
    assert!(run.stdout.contains("labels         none about a configuration"), "{}", run.stdout);

    for (tag, image, reason) in [
        ("broken", TestImage::new().label(INLINE, "***"), "UnsupportedBase"),
        (
            "three",
            TestImage::new().label(INLINE, BASE64_STANDARD.encode("version: 3")),
            "UnsupportedConfigVersion",
        ),
    ] {
        server.push("team/server", tag, &image).await.unwrap();
        let name = format!("{}/team/server:{tag}", server.host());
        let found = report(&person, &name, 1).await;
        assert_eq!(found["problems"][0]["reason"], reason);
        assert_eq!(found["configuration"], Value::Null);
    }
}

#[tokio::test]
async fn platforms_that_differ_are_a_warning() {
    let server = RegistryServer::builder().start().await.unwrap();
    let person = Person::new();
    let encoded = |note: &str| BASE64_STANDARD.encode(format!("{}# {note}\n", configuration()));
    let images = [
        TestImage::new().architecture("arm64").label(INLINE, encoded("another")),
        TestImage::new().label(INLINE, encoded("one")),
    ];
    let digest = server.push_index("team/server", "1", &images).await.unwrap();
    let name = format!("{}/team/server:1", server.host());
    let found = report(&person, &name, 0).await;
    assert_eq!((&found["isIndex"], &found["digest"]), (&json!(true), &json!(digest)));
    assert_eq!(found["readPlatform"], "linux/amd64");
    assert_eq!(found["differingPlatforms"], json!(["linux/arm64"]));
    let platforms: Vec<&str> = found["platforms"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|p| p["platform"].as_str())
        .collect();
    assert_eq!(platforms, ["linux/arm64", "linux/amd64"]);
    let run = person.image(&["inspect", &name, "--plain-http"]).await;
    assert!(
        run.stderr.contains("warning: ") && run.stderr.contains("linux/arm64 holds another"),
        "{}",
        run.stderr
    );
}
