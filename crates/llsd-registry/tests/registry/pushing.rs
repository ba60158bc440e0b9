//! Writing to a real registry, and what a hostile one can do to those who write.

use std::{slice::from_ref, time::Duration};

use axum::body::Bytes;
use futures::FutureExt;
use llsd_registry::labels::Change;
use llsd_registry::{Client, Config, Credential, Digest, Error, Placed, Published, Reference};
use llsd_testkit::{RegistryServer, TestImage, TestLayer, User};

use crate::hostile::{Hostile, digest_of, honest, status, with_header};
use crate::setup::{allow_plain, basic, config};

fn at(host: &str, rest: &str) -> Reference {
    format!("{host}/{rest}").parse().unwrap()
}

/// A layer that is many pieces on its way.
fn large() -> TestLayer {
    let content: Vec<u8> =
        (0..8_u32 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    TestLayer::files(&[("large", &content)])
}

#[tokio::test]
async fn a_blob_is_mounted_in_its_registry_and_copied_into_another() {
    let user = User::new("someone", "word", &["one/", "two/"]).who_pushes();
    let source = RegistryServer::builder().with_tokens(from_ref(&user)).start().await.unwrap();
    let other = RegistryServer::builder().with_tls().start().await.unwrap();
    let layer = large();
    source.push("one/a", "1", &TestImage::new().layer(layer.clone())).await.unwrap();
    let mut config = config(&source);
    config.registries.allow_private(crate::setup::only(other.host()));
    config.registries.trust(crate::setup::only(other.host()), other.authority().unwrap()).unwrap();
    let client = Client::new(config);
    let credential = basic(&user);
    let from = at(source.host(), "one/a:1");
    let from = client.repository(&from, Some(&credential));
    let (digest, size) = (layer.digest().parse::<Digest>().unwrap(), layer.bytes.len() as u64);

    let beside = at(source.host(), "two/b:1");
    let beside = client.repository(&beside, Some(&credential));
    assert!(!beside.has_blob(&digest).await.unwrap());
    assert_eq!(beside.place_blob(from, &digest, size).await.unwrap(), Placed::Mounted);
    assert_eq!(beside.place_blob(from, &digest, size).await.unwrap(), Placed::AlreadyThere);

    let elsewhere = at(other.host(), "c:1");
    let elsewhere = client.repository(&elsewhere, None);
    assert_eq!(elsewhere.place_blob(from, &digest, size).await.unwrap(), Placed::Copied);
    assert_eq!(elsewhere.blob(&digest, size).await.unwrap(), layer.bytes);
    assert_eq!(elsewhere.place_blob(from, &digest, size).await.unwrap(), Placed::AlreadyThere);
}

#[tokio::test]
async fn who_may_only_read_is_told_so() {
    let reader = User::new("reader", "word", &["one/"]);
    let source = RegistryServer::builder().with_tokens(from_ref(&reader)).start().await.unwrap();
    source.push("one/a", "1", &TestImage::new()).await.unwrap();
    let client = Client::new(config(&source));
    let credential = basic(&reader);
    let image = at(source.host(), "one/a:1");
    let repository = client.repository(&image, Some(&credential));
    let error = repository.push_blob(Bytes::from_static(b"x")).await.unwrap_err();
    assert_eq!(error, Error::MayNotPush { at: image.name() });
    let manifest = TestImage::new().label("a", "b").manifest();
    let media_type = TestImage::new().media_type();
    let error = repository.push_manifest("1", media_type, manifest.into()).await.unwrap_err();
    assert_eq!(error, Error::MayNotPush { at: image.name() });
}

#[tokio::test]
async fn a_source_that_lies_about_a_layer_leaves_nothing_behind() {
    let layer = large();
    let image = TestImage::new().layer(layer.clone());
    for cut in [1, 0] {
        let (image, lied_about) = (image.clone(), layer.digest());
        let liar = Hostile::start(move |path: String| {
            let mut answer = honest(&image, &path);
            if path.ends_with(&lied_about) {
                let mut bytes = image.layers[0].bytes.clone();
                let last = bytes.len() - 1;
                if cut == 1 {
                    bytes.truncate(last);
                } else {
                    bytes[last] ^= 1;
                }
                answer = Some(status(200, bytes));
            }
            async move { answer }.boxed()
        })
        .await;
        let target = RegistryServer::builder().start().await.unwrap();
        let mut config = config(&target);
        allow_plain(&mut config, &liar.host);
        let client = Client::new(config);
        let (source, place) = (at(&liar.host, "a/b:1"), at(target.host(), "c/d:1"));
        let source = client.repository(&source, None);
        let repository = client.repository(&place, None);
        let published = Published::fetch(source).await.unwrap();
        let changes = [Change::inline("version: 2", "2")];
        let rewritten = published.relabelled(&changes).unwrap();
        let error = rewritten.push(source, repository).await.unwrap_err();
        assert!(matches!(error, Error::WrongDigest { .. }), "{error}");
        let digest: Digest = layer.digest().parse().unwrap();
        assert!(!repository.has_blob(&digest).await.unwrap());
        let error = repository.manifest().await.unwrap_err();
        assert!(matches!(error, Error::NotFound { .. }), "{error}");
    }
}

#[tokio::test]
async fn an_upload_that_is_led_to_another_host_takes_no_credential_along() {
    let thief = Hostile::start(|_| async { Some(status(201, "")) }.boxed()).await;
    let elsewhere = format!("http://{}/upload?state=1", thief.host);
    let registry = Hostile::start(move |path: String| {
        let answer = if path == "/v2/" {
            with_header(status(401, ""), "www-authenticate", "Basic realm=\"x\"")
        } else if path.ends_with("/uploads/") {
            with_header(status(202, ""), "location", &elsewhere)
        } else {
            status(404, "")
        };
        async move { Some(answer) }.boxed()
    })
    .await;
    let mut config = registry.config();
    allow_plain(&mut config, &thief.host);
    let client = Client::new(config);
    let credential = Credential::Basic { username: "a".into(), password: "s3cret".into() };
    let image = at(&registry.host, "a/b:1");
    let repository = client.repository(&image, Some(&credential));
    repository.push_blob(Bytes::from_static(b"x")).await.unwrap();
    let asked = thief.asked();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].0.starts_with("PUT /upload?state=1&digest=sha256"), "{asked:?}");
    assert_eq!(asked[0].1, None);
    assert!(registry.asked().iter().any(|(_, authorization)| authorization.is_some()));
}

#[tokio::test]
async fn a_token_is_asked_for_the_repository_and_not_for_what_a_ping_names() {
    let tokens = Hostile::start(|_| async { Some(status(200, r#"{"token": "t"}"#)) }.boxed()).await;
    let realm = format!("http://{}/token", tokens.host);
    let registry = Hostile::start(move |path: String| {
        let scope = "repository:user/image:pull";
        let challenge = format!("Bearer realm=\"{realm}\",service=\"s\",scope=\"{scope}\"");
        let ping = with_header(status(401, ""), "www-authenticate", &challenge);
        let answer = if path == "/v2/" { ping } else { status(404, "") };
        async move { Some(answer) }.boxed()
    })
    .await;
    let mut config = registry.config();
    allow_plain(&mut config, &tokens.host);
    let client = Client::new(config);
    let image = at(&registry.host, "a/b:1");
    let repository = client.repository(&image, None);
    assert!(matches!(repository.manifest().await, Err(Error::NotFound { .. })));
    assert!(!repository.has_blob(&Digest::sha256(b"x")).await.unwrap());
    let asked: Vec<String> = tokens.asked().into_iter().map(|(request, _)| request).collect();
    assert_eq!(
        asked,
        [
            "GET /token?scope=repository%3Aa%2Fb%3Apull&service=s",
            "GET /token?scope=repository%3Aa%2Fb%3Apull%2Cpush&service=s",
        ]
    );
}

#[tokio::test]
async fn answers_that_make_no_sense_are_typed_errors() {
    let long = "x".repeat(1 << 20);
    for (upload, put, expected) in [
        (status(200, ""), status(201, ""), "Unexpected"),
        (status(202, ""), status(201, ""), "Malformed"),
        (with_header(status(202, ""), "location", "http://["), status(201, ""), "Malformed"),
        (
            with_header(status(202, ""), "location", "file:///etc/x"),
            status(201, ""),
            "NotEncrypted",
        ),
        (with_header(status(202, ""), "location", "/up"), status(500, ""), "Busy"),
        (with_header(status(202, ""), "location", "/up"), status(400, long), "Unexpected"),
        (status(405, ""), status(201, ""), "MayNotPush"),
        (with_header(status(307, ""), "location", "/elsewhere"), status(201, ""), "Unexpected"),
        (
            with_header(status(202, ""), "location", "/up"),
            with_header(status(201, ""), "docker-content-digest", &digest_of(b"other")),
            "WrongDigest",
        ),
    ] {
        let answers =
            std::sync::Arc::new((Parts::from_response(&upload), Parts::from_response(&put)));
        let registry = Hostile::start(move |path: String| {
            let answers = answers.clone();
            async move {
                match path.as_str() {
                    "/v2/" => None,
                    path if path.ends_with("/uploads/") => Some(answers.0.answer()),
                    path if path.starts_with("/up?") => Some(answers.1.answer()),
                    _ => Some(status(404, "")),
                }
            }
            .boxed()
        })
        .await;
        let config = Config { limits: quick(), ..registry.config() };
        let client = Client::new(config);
        let image = at(&registry.host, "a/b:1");
        let repository = client.repository(&image, None);
        let error = repository.push_blob(Bytes::from_static(b"x")).await.unwrap_err();
        assert!(format!("{error:?}").starts_with(expected), "{error:?} is not {expected}");
    }
}

fn quick() -> llsd_registry::Limits {
    let longest_wait = Duration::from_millis(1);
    llsd_registry::Limits { longest_wait, ..llsd_registry::Limits::default() }
}

/// A response that can be given more than once.
struct Parts {
    status: u16,
    headers: axum::http::HeaderMap,
}

impl Parts {
    fn from_response(response: &axum::response::Response) -> Self {
        Self { status: response.status().as_u16(), headers: response.headers().clone() }
    }

    fn answer(&self) -> axum::response::Response {
        let mut response = status(self.status, "");
        response.headers_mut().extend(self.headers.clone());
        response
    }
}
