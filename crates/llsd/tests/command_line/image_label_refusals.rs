//! What `llsd image label` refuses, with which exit code and words; the image stays as it was.

use llsd_testkit::{RegistryServer, TestImage, TestLayer};

use crate::image::{Person, configuration, large_configuration};

#[tokio::test]
async fn a_configuration_that_the_operator_could_not_use_is_never_written() {
    let server = RegistryServer::builder().start().await.unwrap();
    let person = Person::new();
    let layer = TestLayer::files(&[
        ("app/foreign.yaml", b"version: 2\nrouting_table: {}\n"),
        ("app/binary", b"\xff\xfe"),
        ("app/gone/x", b""),
    ]);
    let above = TestLayer::files(&[("app/.wh.gone", b"")]);
    let image = TestImage::new().layer(layer).layer(above);
    server.push("team/server", "1", &image).await.unwrap();
    let name = format!("{}/team/server:1", server.host());
    let right = person.write("right.yaml", configuration());
    let other_version = person.write("three.yaml", "version: 3\nproviders: {}\n");
    let no_yaml = person.write("broken.yaml", "version: [\n");
    let no_server = person.write("unknown.yaml", "version: 2\nservices: {}\n");
    let before = server.requests().unwrap().iter().filter(|r| !r.starts_with("GET")).count();
    for (arguments, said) in [
        (
            vec!["--config", &other_version],
            "Unsupported config.yaml version 3. Supported versions: 1, 2",
        ),
        (vec!["--config", &no_yaml], "cannot be read: line"),
        (vec!["--config", &no_server], "is for no server that is known here"),
        (vec!["--from-layer", "/app/foreign.yaml"], "is for a Llama Stack server of 2024"),
        (vec!["--from-layer", "/app/binary"], "is not UTF-8 text"),
        (vec!["--from-layer", "/app/nothing"], "no layer of the image holds a file /app/nothing"),
        (vec!["--from-layer", "/app/gone/x"], "deletes /app/gone/x"),
        (vec!["--from-layer", "../etc/passwd"], "no layer of the image holds a file"),
        (vec!["--config", &right, "--version-label", "1"], "the version is 2, not 1"),
    ] {
        let run = person.image(&[&["label", &name, "--plain-http"], &arguments[..]].concat()).await;
        assert_eq!(run.code, 1, "{arguments:?}: {}", run.stderr);
        assert_eq!(run.stdout, "");
        assert!(run.stderr.contains(said), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains("    → ") || said.contains("UTF-8"), "{}", run.stderr);
    }
    let after = server.requests().unwrap().iter().filter(|r| !r.starts_with("GET")).count();
    assert_eq!(after, before, "nothing was written");
    let fine = ["label", &name, "--plain-http", "--config", &right, "--version-label", "2"];
    assert_eq!(person.image(&fine).await.code, 0);
}

#[tokio::test]
async fn a_layer_that_the_operator_would_not_read_is_not_pointed_to() {
    let server = RegistryServer::builder().start().await.unwrap();
    let person = Person::new();
    let layer = TestLayer::files(&[("app/c", large_configuration().as_bytes())]).gzip();
    let image = TestImage::new().layer(layer.clone());
    server.push("team/server", "real", &image).await.unwrap();
    // The same layer, said to be of two gigabytes.
    let said = format!("\"size\":{}}}]", layer.bytes.len());
    let manifest = String::from_utf8(image.manifest()).unwrap();
    let manifest = manifest.replace(&said, "\"size\":2000000000}]");
    let (media_type, content) = (image.media_type(), manifest.into_bytes());
    server.push_manifest("team/server", "1", media_type, content).await.unwrap();
    let name = format!("{}/team/server:1", server.host());
    let run = person.image(&["label", &name, "--plain-http", "--from-layer", "/app/c"]).await;
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("whose 2.0 GB are more than the operator reads"), "{}", run.stderr);
}

#[tokio::test]
async fn a_command_that_cannot_be_served_is_told_so() {
    let person = Person::new();
    let right = person.write("right.yaml", configuration());
    let digest = format!("quay.io/a/b@sha256:{}", "0".repeat(64));
    let missing = person.file("missing.yaml");
    for (arguments, said) in [
        (vec!["label", "quay.io/a/b:1"], "required arguments were not provided"),
        (
            vec!["label", "quay.io/a/b:1", "--config", "x", "--from-layer", "y"],
            "cannot be used with",
        ),
        (vec!["label", "quay.io/A:1", "--config", &right], "not an image reference"),
        (vec!["label", &digest, "--config", &right], "needs -t NEWREF"),
        (vec!["label", "quay.io/a/b:1", "--config", &right, "-t", &digest], "-t takes a tag"),
        (vec!["label", "quay.io/a/b:1", "--config", &missing], "No such file"),
        (vec!["inspect", "quay.io/a/b:1", "--ca-file", &missing], "No such file"),
        (vec!["inspect", "quay.io/a/b:1", "--ca-file", &right], "holds no PEM certificate"),
        (vec!["inspect", "quay.io/a/b:1", "--plain-http=a b"], "--plain-http=a b: must be host"),
        (vec!["inspect"], "required arguments were not provided"),
    ] {
        let run = person.image(&arguments).await;
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{arguments:?}: {}", run.stderr);
    }
    let mut person = person;
    person.set("SSL_CERT_FILE", &missing);
    let run = person.image(&["inspect", "quay.io/a/b:1"]).await;
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("SSL_CERT_FILE: "), "{}", run.stderr);
}

#[tokio::test]
async fn what_a_registry_does_not_give_is_unavailable() {
    let mut server = RegistryServer::builder().start().await.unwrap();
    let person = Person::new();
    let right = person.write("right.yaml", configuration());
    server.push("team/server", "1", &TestImage::new()).await.unwrap();
    let name = format!("{}/team/server:1", server.host());
    let missing = format!("{}/team/server:2", server.host());
    for command in ["inspect", "label"] {
        let arguments = |name| match command {
            "label" => vec!["label", name, "--config", &right],
            _ => vec!["inspect", name],
        };
        // Never plain http unless it was said, and only where it was said.
        for more in [&[][..], &["--plain-http=elsewhere:5000"]] {
            let run = person.image(&[&arguments(&name), more].concat()).await;
            assert_eq!(run.code, 3, "{}", run.stderr);
            assert!(run.stderr.contains("without TLS --plain-http"), "{}", run.stderr);
        }
        let run = person.image(&[&arguments(&missing)[..], &["--plain-http"]].concat()).await;
        assert_eq!(run.code, 3, "{}", run.stderr);
        assert!(run.stderr.contains("not found in the registry"), "{}", run.stderr);
    }
    let only_here = format!("--plain-http={}", server.host());
    assert_eq!(person.image(&["label", &name, "--config", &right, &only_here]).await.code, 0);
    server.stop();
    let run = person.image(&["inspect", &name, "--plain-http"]).await;
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("cannot be reached"), "{}", run.stderr);
}
