//! Every path of a lookup, against Debian's docker-registry.

use std::sync::Mutex;

use llsd_registry::{
    Config, Credential, Credentials, Error, Reference, Registry, Source, mirrors::Registries,
};
use llsd_testkit::{RegistryServer, TestImage, TestLayer, User};

use crate::setup::{ask, basic, encoded, labelled, only, registry, text};

const PATH: &str = "io.llamastack.config.path";
const LAYER: &str = "io.llamastack.config.layer";

#[tokio::test]
async fn a_configuration_is_read_from_labels_of_every_family() {
    let server = RegistryServer::builder().start().await.unwrap();
    let families = [
        labelled("one").label("io.llamastack.config.version", "2"),
        TestImage::new()
            .label("com.llamastack.distribution.default-config", "run.yaml")
            .label("com.llamastack.config.run.yaml", encoded("two"))
            .label("com.llamastack.distribution.version", "0.7.3"),
        TestImage::new()
            .label("com.ogx.distribution.default-config", "config.yaml")
            .label("com.ogx.config.config.yaml", encoded("three")),
    ];
    let registry = registry(&server);
    for (image, expected) in families.iter().zip(["one", "two", "three"]) {
        let digest = server.push("a/b", expected, image).await.unwrap();
        let found =
            ask(&registry, &format!("{}/a/b:{expected}", server.host()), &[]).await.unwrap();
        let base = found.base.clone().unwrap().unwrap();
        assert_eq!((base.text.as_str(), base.source), (expected, Source::Labels));
        assert_eq!(found.digest.to_string(), digest);
        assert_eq!(found.platform, "linux/amd64");
        assert_eq!(found.config_version(), (expected == "one").then_some("2"));
        // Labels of OGX's family say whose server it is, also without a release.
        let release = match expected {
            "two" => Some("0.7.3"),
            "three" => Some("ogx"),
            _ => None,
        };
        assert_eq!(found.release().as_deref(), release);
    }
}

#[tokio::test]
async fn a_configuration_is_read_from_a_layer_in_every_form() {
    let server = RegistryServer::builder().start().await.unwrap();
    let registry = registry(&server);
    let plain = TestLayer::files(&[("etc/x", b"x"), ("./app/config.yaml", b"version: 2")]);
    let unpacked = plain.diff_id.clone();
    let forms = [plain.clone(), plain.clone().gzip(), plain.zstd()];
    for (at, layer) in forms.into_iter().enumerate() {
        for (named, digest) in [("digest", layer.digest()), ("diff", unpacked.clone())] {
            let image = TestImage::new()
                .label(LAYER, digest)
                .label(PATH, "/app/config.yaml")
                .layer(TestLayer::files(&[("first", b"1")]).gzip())
                .layer(layer.clone());
            let tag = format!("{named}-{at}");
            server.push("a/b", &tag, &image).await.unwrap();
            let name = format!("{}/a/b:{tag}", server.host());
            let base = ask(&registry, &name, &[]).await.unwrap().base.clone().unwrap().unwrap();
            assert_eq!((base.text.as_str(), base.source), ("version: 2", Source::Layer));
        }
    }
}

#[tokio::test]
async fn an_image_whose_configuration_cannot_be_used_still_has_a_digest() {
    let server = RegistryServer::builder().start().await.unwrap();
    let registry = registry(&server);
    let layer = TestLayer::files(&[("app/.wh.config.yaml", b"")]).gzip();
    let foreign = TestLayer::files(&[("app/config.yaml", b"x")]);
    let none = TestImage::new().label("maintainer", "someone");
    let in_layer = |digest: String, path: &str| {
        TestImage::new().label(LAYER, digest).label(PATH, path).layer(layer.clone())
    };
    let deleted = Error::DeletedInLayer { path: "app/config.yaml".into() };
    let no_layer =
        Error::InvalidLabel { label: LAYER.into(), reason: "the image has no such layer" };
    for (tag, image, expected) in [
        ("none", none, Ok(None)),
        ("deleted", in_layer(layer.digest(), "/app/config.yaml"), Err(deleted)),
        ("absent", in_layer(layer.digest(), "x"), Err(Error::NotInLayer { path: "x".into() })),
        ("foreign", in_layer(foreign.digest(), "app/config.yaml"), Err(no_layer)),
    ] {
        let digest = server.push("a/b", tag, &image).await.unwrap();
        let found = ask(&registry, &format!("{}/a/b:{tag}", server.host()), &[]).await.unwrap();
        assert_eq!(found.base, expected, "{tag}");
        assert_eq!(found.digest.to_string(), digest);
    }
    let missing = format!("{}/a/b:missing", server.host());
    let error = ask(&registry, &missing, &[]).await.unwrap_err();
    assert_eq!(error, Error::NotFound { at: missing });
}

#[tokio::test]
async fn an_index_is_pinned_as_a_whole_and_read_for_linux_on_amd64() {
    let server = RegistryServer::builder().start().await.unwrap();
    let registry = registry(&server);
    let images = [
        labelled("arm").architecture("arm64"),
        labelled("amd"),
        labelled("amd").architecture("s390x"),
    ];
    let digest = server.push_index("a/b", "all", &images).await.unwrap();
    let found = ask(&registry, &format!("{}/a/b:all", server.host()), &[]).await.unwrap();
    assert_eq!(found.digest.to_string(), digest);
    assert_eq!(found.platform, "linux/amd64");
    assert_eq!(found.base.clone().unwrap().unwrap().text, "amd");
    assert_eq!(found.differing_platforms, ["linux/arm64"]);
    server.push_index("a/b", "others", &images[..1]).await.unwrap();
    let found = ask(&registry, &format!("{}/a/b:others", server.host()), &[]).await.unwrap();
    assert_eq!((found.platform.as_str(), found.differing_platforms.len()), ("linux/arm64", 0));
}

#[tokio::test]
async fn passwords_are_tried_in_order_and_anonymous_access_last() {
    let user = User::new("someone", "s3cret-w0rd", &[]);
    let server = RegistryServer::builder()
        .with_passwords(std::slice::from_ref(&user))
        .start()
        .await
        .unwrap();
    server.push("a/b", "1", &labelled("x")).await.unwrap();
    let registry = registry(&server);
    let image = format!("{}/a/b:1", server.host());
    let wrong = Credential::Basic { username: "someone".into(), password: "wr0ng-w0rd".into() };
    let unusable = Credential::IdentityToken("t0ken".into());
    let right = [wrong.clone(), unusable.clone(), basic(&user)];
    assert_eq!(text(&registry, &image, &right).await.unwrap(), "x");
    for credentials in [&[][..], &[wrong, unusable]] {
        let error = ask(&registry, &image, credentials).await.unwrap_err();
        assert_eq!(error, Error::Unauthorised { at: image.clone() });
        let said = format!("{error} {error:?} {credentials:?} {registry:?}");
        assert!(!said.contains("w0rd") && !said.contains("t0ken"), "{said}");
    }
}

#[tokio::test]
async fn tokens_come_from_the_service_that_the_registry_names() {
    let user = User::new("someone", "word", &["private/"]);
    let server =
        RegistryServer::builder().with_tokens(std::slice::from_ref(&user)).start().await.unwrap();
    server.push("private/b", "1", &labelled("private")).await.unwrap();
    server.push("public/b", "1", &labelled("public")).await.unwrap();
    let private = format!("{}/private/b:1", server.host());
    let public = format!("{}/public/b:1", server.host());
    let by_password = basic(&user);
    let by_refresh_token = Credential::IdentityToken(user.identity_token());
    let by_docker_convention =
        Credential::Basic { username: "<token>".into(), password: user.identity_token() };
    for credential in [by_password, by_refresh_token, by_docker_convention] {
        // A registry of its own, so that nothing is remembered.
        let registry = registry(&server);
        assert_eq!(text(&registry, &private, &[credential]).await.unwrap(), "private");
    }
    let registry = registry(&server);
    assert_eq!(text(&registry, &public, &[]).await.unwrap(), "public");
    let wrong = Credential::Basic { username: "someone".into(), password: "other".into() };
    assert_eq!(text(&registry, &public, std::slice::from_ref(&wrong)).await.unwrap(), "public");
    for credentials in [vec![], vec![wrong], vec![Credential::IdentityToken("no".into())]] {
        let error = ask(&registry, &private, &credentials).await.unwrap_err();
        assert_eq!(error, Error::Unauthorised { at: private.clone() });
    }
    let before = server.tokens_issued();
    for _ in 0..5 {
        text(&registry, &public, &[]).await.unwrap();
    }
    assert_eq!(server.tokens_issued(), before, "a token is used until it ends");
}

#[tokio::test]
async fn a_private_authority_is_trusted_for_its_host_only_when_configured() {
    let server = RegistryServer::builder().with_tls().start().await.unwrap();
    server.push("a/b", "1", &labelled("x")).await.unwrap();
    let image = format!("{}/a/b:1", server.host());
    assert_eq!(text(&registry(&server), &image, &[]).await.unwrap(), "x");

    let mut untrusting = Config::default();
    untrusting.registries.allow_private(only(server.host()));
    let error = ask(&Registry::new(untrusting), &image, &[]).await.unwrap_err();
    let Error::Unreachable { host, reason } = &error else { panic!("{error}") };
    assert_eq!(host, server.host());
    assert!(reason.to_lowercase().contains("certificate"), "{reason}");
}

#[tokio::test]
async fn nothing_is_asked_over_plain_http_or_on_loopback_unless_configured() {
    let server = RegistryServer::builder().start().await.unwrap();
    server.push("a/b", "1", &labelled("x")).await.unwrap();
    let image = format!("{}/a/b:1", server.host());
    let before = server.requests().unwrap().len();

    let mut encrypted = Config::default();
    encrypted.registries.allow_private(only(server.host()));
    let error = ask(&Registry::new(encrypted), &image, &[]).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");

    let mut guarded = Config::default();
    guarded.registries.allow_plain_http(only(server.host()));
    let guarded = Registry::new(guarded);
    let port = server.host().split_once(':').unwrap().1;
    let error = ask(&guarded, &image, &[]).await.unwrap_err();
    assert!(matches!(error, Error::ForbiddenAddress { .. }), "{error}");
    let error = ask(&guarded, &format!("localhost:{port}/a/b:1"), &[]).await.unwrap_err();
    assert!(matches!(error, Error::ForbiddenAddress { .. }), "{error}");
    assert_eq!(server.requests().unwrap().len(), before, "no request came in");
}

#[tokio::test]
async fn a_mirror_comes_first_and_the_source_when_it_fails() {
    let mirror = RegistryServer::builder().start().await.unwrap();
    let source = RegistryServer::builder().start().await.unwrap();
    mirror.push("mirrored/a", "1", &labelled("from the mirror")).await.unwrap();
    source.push("a", "1", &labelled("from the source")).await.unwrap();
    source.push("a", "2", &labelled("only the source")).await.unwrap();
    // The mirror may be private because the operator named it; the source needs a word of its own.
    let document = format!(
        "mirrors: [{{source: '{source}', mirrors: ['{mirror}/mirrored']}}]
insecureHosts: ['{mirror}', '{source}']
privateHosts: ['{source}']",
        source = source.host(),
        mirror = mirror.host(),
    );
    let registries = Registries::parse(&document).unwrap();
    let registry = Registry::new(Config { registries, ..Config::default() });
    for (tag, expected) in [("1", "from the mirror"), ("2", "only the source")] {
        let image: Reference = format!("{}/a:{tag}", source.host()).parse().unwrap();
        let noting = Noting::default();
        let found = registry.find(&image, &noting).await.unwrap();
        assert_eq!(found.base.clone().unwrap().unwrap().text, expected);
        let places = [format!("{}/mirrored/a", mirror.host()), format!("{}/a", source.host())];
        assert_eq!(noting.0.into_inner().unwrap(), places);
    }
}

/// Knows no credentials, and notes for which repositories it was asked.
#[derive(Default)]
struct Noting(Mutex<Vec<String>>);

impl Credentials for Noting {
    async fn for_repository(&self, repository: &str) -> Vec<Credential> {
        self.0.lock().unwrap().push(repository.to_owned());
        Vec::new()
    }
}
