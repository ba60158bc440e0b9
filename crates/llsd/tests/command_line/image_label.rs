//! `llsd image label` against a real registry: what it writes is what skopeo and the operator read,
//! and everything else is as it was.

use llsd_registry::Source;
use llsd_testkit::{RegistryServer, TestImage, TestLayer};
use serde_json::{Value, json};

use crate::image::{
    INLINE, LAYER, PATH, Person, VERSION, as_operator, base, configuration, large_configuration,
    skopeo,
};

fn files(files: &[(&str, &str)]) -> TestLayer {
    let bytes: Vec<(&str, &[u8])> =
        files.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
    TestLayer::files(&bytes).gzip()
}

fn layers(manifest: &Value) -> &Value {
    assert!(manifest["layers"].as_array().is_some_and(|layers| !layers.is_empty()));
    &manifest["layers"]
}

#[tokio::test]
async fn a_small_configuration_goes_into_a_label_and_skopeo_agrees() {
    let server = RegistryServer::builder().start().await.unwrap();
    let person = Person::new();
    let file = person.write("config.yaml", configuration());
    let plain = TestImage::new()
        .label("maintainer", "someone")
        .label(LAYER, "of an earlier configuration")
        .layer(files(&[("bin/server", "x")]))
        .layer(files(&[("app/data", "y")]));
    for (tag, image) in [("oci", plain.clone()), ("docker", plain.docker())] {
        let before = server.push("team/server", tag, &image).await.unwrap();
        let name = format!("{}/team/server:{tag}", server.host());
        let old = skopeo(&server, None, &["--raw"], &name).await;
        let label = ["label", &name, "--config", &file, "--plain-http"];
        let run = person.image(&label).await;
        let digest = run.digest();
        assert_ne!(digest, before);
        assert!(run.stderr.contains("goes into io.llamastack.config.base64"), "{}", run.stderr);

        let shown = skopeo(&server, None, &[], &name).await;
        assert_eq!(shown["Digest"], digest.as_str());
        let config = skopeo(&server, None, &["--config"], &name).await;
        let labels = &config["config"]["Labels"];
        assert_eq!(labels["maintainer"], "someone");
        assert_eq!(labels[VERSION], "2");
        assert_eq!(labels.get(LAYER), None, "it would speak of another configuration");
        assert_eq!(labels.as_object().unwrap().len(), 3);
        let new = skopeo(&server, None, &["--raw"], &name).await;
        assert_eq!(layers(&new), layers(&old));
        assert_eq!(new["mediaType"], old["mediaType"]);
        assert_eq!(new["config"]["mediaType"], old["config"]["mediaType"]);

        let read = as_operator(&server, None, &name).await;
        assert_eq!(read.digest.to_string(), digest);
        let found = base(&read);
        assert_eq!((found.text.as_str(), found.source), (configuration(), Source::Labels));
        assert_eq!(found.label, INLINE);

        let writes = || server.requests().unwrap().iter().filter(|r| r.starts_with("PUT")).count();
        let before = writes();
        let again = person.image(&label).await;
        assert_eq!(again.digest(), digest, "labelling again changes nothing");
        assert!(again.stderr.contains("nothing was written"), "{}", again.stderr);
        assert_eq!(writes(), before);
        let elsewhere = format!("{}/team/server:{tag}-again", server.host());
        let copied = person
            .image(&["label", &name, "--config", &file, "--plain-http", "-t", &elsewhere])
            .await;
        assert_eq!(copied.digest(), digest);
    }
}

#[tokio::test]
async fn a_large_configuration_is_pointed_to_in_the_layer_that_shows_it() {
    let server = RegistryServer::builder().start().await.unwrap();
    let person = Person::new();
    let large = large_configuration();
    let shown = files(&[("./app/config.yaml", &large), ("app/x", "")]);
    let image = TestImage::new()
        .label(INLINE, "b2xk")
        .layer(files(&[("app/config.yaml", "of the base image")]))
        .layer(shown.clone())
        .layer(files(&[("app/.wh.x", "")]));
    server.push("team/server", "1", &image).await.unwrap();
    let name = format!("{}/team/server:1", server.host());
    let label = ["label", &name, "--from-layer", "/app/config.yaml", "--plain-http"];
    let run = person.image(&label).await;
    let digest = run.digest();
    let config = skopeo(&server, None, &["--config"], &name).await;
    let labels = json!({ LAYER: shown.digest(), PATH: "/app/config.yaml", VERSION: "2" });
    assert_eq!(config["config"]["Labels"], labels);
    assert_eq!(skopeo(&server, None, &[], &name).await["Digest"], digest.as_str());
    let found = base(&*as_operator(&server, None, &name).await);
    assert_eq!((found.text, found.source), (large.clone(), Source::Layer));
    assert_eq!(person.image(&label).await.digest(), digest);

    // A file beside the image cannot be pointed to.
    let file = person.write("config.yaml", &large);
    let run = person.image(&["label", &name, "--config", &file, "--plain-http"]).await;
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("too many for a label"), "{}", run.stderr);
    assert!(run.stderr.contains("--from-layer PATH"), "{}", run.stderr);

    // A small one in a layer becomes a label, which costs its readers less.
    let image = TestImage::new().layer(files(&[("app/config.yaml", configuration())]));
    server.push("team/server", "2", &image).await.unwrap();
    let name = format!("{}/team/server:2", server.host());
    let label = ["label", &name, "--from-layer", "app/config.yaml", "--plain-http"];
    person.image(&label).await.digest();
    let found = base(&*as_operator(&server, None, &name).await);
    assert_eq!((found.text.as_str(), found.source), (configuration(), Source::Labels));
}

/// An index of two platforms and an attestation, with annotations.
async fn push_index(server: &RegistryServer, repository: &str, large: bool) -> Value {
    let mut entries = Vec::new();
    for architecture in ["arm64", "amd64"] {
        let padding =
            if large { "# and so on, line after line\n".repeat(2_000) } else { String::new() };
        let text = format!("{}\n# {architecture}\n{padding}", configuration());
        let image = TestImage::new()
            .architecture(architecture)
            .label("architecture", architecture)
            .layer(files(&[("app/config.yaml", &text)]));
        let digest = server.push(repository, architecture, &image).await.unwrap();
        entries.push(json!({
            "mediaType": image.media_type(), "digest": digest, "size": image.manifest().len(),
            "platform": {"os": "linux", "architecture": architecture},
            "annotations": {"note": architecture},
        }));
    }
    let statement = TestImage::new().layer(files(&[("statement", "of how it was built")]));
    let digest = server.push(repository, "attestation", &statement).await.unwrap();
    entries.push(json!({
        "mediaType": statement.media_type(), "digest": digest, "size": statement.manifest().len(),
        "platform": {"os": "unknown", "architecture": "unknown"},
        "annotations": {"vnd.docker.reference.type": "attestation-manifest"},
    }));
    let media_type = "application/vnd.oci.image.index.v1+json";
    let index = json!({
        "schemaVersion": 2, "mediaType": media_type, "manifests": entries,
        "annotations": {"built": "today"},
    });
    let content = index.to_string().into_bytes();
    server.push_manifest(repository, "all", media_type, content).await.unwrap();
    index
}

#[tokio::test]
async fn an_index_is_labelled_in_every_platform_and_keeps_the_rest() {
    let server = RegistryServer::builder().start().await.unwrap();
    let person = Person::new();
    for (repository, large, source) in
        [("team/small", false, Source::Labels), ("team/large", true, Source::Layer)]
    {
        let before = push_index(&server, repository, large).await;
        let name = format!("{}/{repository}:all", server.host());
        let label = ["label", &name, "--from-layer", "/app/config.yaml", "--plain-http"];
        let run = person.image(&label).await;
        let digest = run.digest();
        assert!(run.stderr.contains("warning: the index lists 1 entry beside"), "{}", run.stderr);
        let after = skopeo(&server, None, &["--raw"], &name).await;
        assert_eq!(llsd_registry::Digest::sha256(after.to_string().as_bytes()).to_string(), digest);
        assert_eq!(after["annotations"], before["annotations"]);
        assert_eq!(after["manifests"][2], before["manifests"][2]);
        for (at, architecture) in ["arm64", "amd64"].into_iter().enumerate() {
            let (old, new) = (&before["manifests"][at], &after["manifests"][at]);
            assert_ne!(new["digest"], old["digest"]);
            assert_eq!(new["platform"], old["platform"]);
            assert_eq!(new["annotations"], old["annotations"]);
            let part =
                format!("{}/{repository}@{}", server.host(), new["digest"].as_str().unwrap());
            let config = skopeo(&server, None, &["--config"], &part).await;
            assert_eq!(config["config"]["Labels"]["architecture"], architecture);
            let found = base(&*as_operator(&server, None, &part).await);
            assert!(found.text.contains(&format!("# {architecture}\n")), "its own configuration");
            assert_eq!(found.source, source);
        }
        let read = as_operator(&server, None, &name).await;
        assert_eq!(read.digest.to_string(), digest);
        assert_eq!(read.differing_platforms, ["linux/arm64"]);
        assert_eq!(person.image(&label).await.digest(), digest);
    }
}

#[tokio::test]
async fn another_repository_or_registry_gets_the_whole_image() {
    let server = RegistryServer::builder().start().await.unwrap();
    let other = RegistryServer::builder().start().await.unwrap();
    let person = Person::new();
    push_index(&server, "team/server", false).await;
    let source = format!("{}/team/server:all", server.host());
    for (target, done) in [(&server, "4 blobs taken over"), (&other, "4 blobs copied")] {
        let name = format!("{}/elsewhere/it:2", target.host());
        let label = ["label", &source, "--from-layer", "/app/config.yaml", "-t", &name];
        let run = person.image(&[&label[..], &["--plain-http"]].concat()).await;
        let digest = run.digest();
        assert!(run.stderr.contains(done), "{}", run.stderr);
        let read = as_operator(target, None, &name).await;
        assert_eq!(read.digest.to_string(), digest);
        let index = skopeo(target, None, &["--raw"], &name).await;
        for entry in index["manifests"].as_array().unwrap() {
            let digest = entry["digest"].as_str().unwrap();
            let part = format!("{}/elsewhere/it@{digest}", target.host());
            layers(&skopeo(target, None, &["--raw"], &part).await);
        }
        // skopeo copies only what is whole.
        let folder = tempfile::tempdir().unwrap();
        let copied = std::process::Command::new("skopeo")
            .args(["copy", "--all", "--src-tls-verify=false", "--insecure-policy"])
            .arg(format!("docker://{name}"))
            .arg(format!("dir:{}", folder.path().display()))
            .output()
            .unwrap();
        assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    }
    // The source is as it was: its own tag was not asked for.
    assert!(as_operator(&server, None, &source).await.base.clone().unwrap().is_none());
}
