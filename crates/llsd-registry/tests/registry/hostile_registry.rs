//! Registries that lie, stall, flood and lead astray: each is a typed error, in bounded time and
//! memory, and none gets to see a credential that is not meant for it.

use std::{
    convert::Infallible,
    future::pending,
    io::Read,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::body::{Body, Bytes};
use futures::{FutureExt, StreamExt, stream};
use llsd_registry::{Credential, Error, Registry};
use llsd_testkit::{TestImage, TestLayer};

use crate::hostile::{Hostile, digest_of, honest, status, with_header};
use crate::setup::{allow_plain, ask, labelled, text};

const LAYER: &str = "io.llamastack.config.layer";
const PATH: &str = "io.llamastack.config.path";

fn secret() -> Credential {
    Credential::Basic { username: "someone".into(), password: "s3cret".into() }
}

fn endless() -> Body {
    let piece = Bytes::from(vec![b' '; 64 << 10]);
    Body::from_stream(stream::repeat_with(move || Ok::<_, Infallible>(piece.clone())))
}

fn dripping() -> Body {
    let drip = stream::repeat(()).then(|()| async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        Ok::<_, Infallible>(Bytes::from_static(b" "))
    });
    Body::from_stream(drip)
}

/// An image with its configuration in a layer.
fn layered(layer: &TestLayer) -> TestImage {
    TestImage::new().label(LAYER, layer.digest()).label(PATH, "c").layer(layer.clone())
}

/// The most memory that this process ever had, in MiB.
fn peak_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() / 1024
}

#[tokio::test]
async fn endless_manifests_configurations_and_tokens_are_cut_off() {
    let manifest = |path: String| {
        async move { path.contains("/manifests/").then(|| status(200, endless())) }.boxed()
    };
    let server = Hostile::start(manifest).await;
    let error = ask(&server.registry(), &server.image(), &[]).await.unwrap_err();
    assert_eq!(error, Error::TooLarge { what: server.image(), limit: 4 << 20 });

    let config = |path: String| {
        let image = labelled("x");
        let is_config = path.ends_with(&digest_of(&image.config()));
        async move { if is_config { Some(status(200, endless())) } else { honest(&image, &path) } }
            .boxed()
    };
    let server = Hostile::start(config).await;
    let error = ask(&server.registry(), &server.image(), &[]).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");

    let tokens = Hostile::start(|_| async { Some(status(200, endless())) }.boxed()).await;
    let challenge = format!("Bearer realm=\"http://{}/token\"", tokens.host);
    let server = Hostile::start(move |_| {
        let challenge = challenge.clone();
        async move { Some(with_header(status(401, ""), "www-authenticate", &challenge)) }.boxed()
    })
    .await;
    let mut config = server.config();
    allow_plain(&mut config, &tokens.host);
    let error = ask(&Registry::new(config), &server.image(), &[]).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    assert!(peak_memory() < 200, "{} MiB", peak_memory());
}

#[tokio::test]
async fn wrong_digests_are_found_in_manifests_configurations_and_layers() {
    // The wanted file comes first, and the lie behind the archive's end.
    let layer = TestLayer::files(&[("c", b"version: 2")]);
    let image = layered(&layer);
    let pinned = digest_of(&image.manifest());
    for lie_about in ["/manifests/", &digest_of(&image.config()), &layer.digest()] {
        let (image, lie_about) = (image.clone(), lie_about.to_owned());
        let answer = move |path: String| {
            let answer = honest(&image, &path);
            let lies = path.contains(&lie_about);
            async move {
                let answer = answer?;
                if !lies {
                    return Some(answer);
                }
                let body = axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap();
                let mut body = body.to_vec();
                *body.last_mut().unwrap() ^= 1;
                Some(status(200, body))
            }
            .boxed()
        };
        let server = Hostile::start(answer).await;
        let name = format!("{}/a/b@{pinned}", server.host);
        let error = ask(&server.registry(), &name, &[]).await.unwrap_err();
        assert!(matches!(error, Error::WrongDigest { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_digest_that_the_registry_names_must_be_the_contents() {
    let answer = |path: String| {
        let answer = honest(&labelled("x"), &path);
        let claim = format!("sha256:{}", "0".repeat(64));
        async move { Some(with_header(answer?, "docker-content-digest", &claim)) }.boxed()
    };
    let server = Hostile::start(answer).await;
    let error = ask(&server.registry(), &server.image(), &[]).await.unwrap_err();
    assert!(matches!(error, Error::WrongDigest { .. }), "{error}");
}

#[tokio::test]
async fn redirects_end_and_never_carry_a_credential_to_another_host() {
    let around = |path: String| {
        async move {
            path.contains("/manifests/").then(|| with_header(status(307, ""), "location", &path))
        }
        .boxed()
    };
    let server = Hostile::start(around).await;
    let error = ask(&server.registry(), &server.image(), &[]).await.unwrap_err();
    assert_eq!(error, Error::TooManyRedirects { host: server.host.clone(), limit: 5 });
    assert_eq!(server.asked().len(), 1 + 6);

    let elsewhere =
        Hostile::start(|path| async move { honest(&labelled("x"), &path) }.boxed()).await;
    let target = elsewhere.host.clone();
    let sent_away = move |path: String| {
        let location = format!("http://{target}{path}");
        async move {
            Some(match path.as_str() {
                "/v2/" => with_header(status(401, ""), "www-authenticate", "Basic realm=\"a\""),
                _ => with_header(status(302, ""), "location", &location),
            })
        }
        .boxed()
    };
    let server = Hostile::start(sent_away).await;
    let mut config = server.config();
    allow_plain(&mut config, &elsewhere.host);
    assert_eq!(text(&Registry::new(config), &server.image(), &[secret()]).await.unwrap(), "x");
    assert!(server.asked().iter().any(|(_, authorization)| authorization.is_some()));
    assert!(elsewhere.asked().iter().all(|(_, authorization)| authorization.is_none()));

    // The same target without the operator's word.
    let before = elsewhere.asked().len();
    let error = ask(&server.registry(), &server.image(), &[secret()]).await.unwrap_err();
    assert!(matches!(error, Error::NotEncrypted { .. }), "{error}");
    assert_eq!(elsewhere.asked().len(), before);
}

#[tokio::test]
async fn redirects_and_realms_do_not_lead_to_metadata_services() {
    let target = "https://169.254.169.254/latest/meta-data";
    let redirect = move |path: String| {
        async move { (path != "/v2/").then(|| with_header(status(302, ""), "location", target)) }
            .boxed()
    };
    let realm = move |_: String| {
        let challenge = format!("Bearer realm=\"{target}\"");
        async move { Some(with_header(status(401, ""), "www-authenticate", &challenge)) }.boxed()
    };
    for server in [Hostile::start(redirect).await, Hostile::start(realm).await] {
        let error = ask(&server.registry(), &server.image(), &[secret()]).await.unwrap_err();
        let (host, address) = ("169.254.169.254".to_owned(), "169.254.169.254".to_owned());
        assert_eq!(error, Error::ForbiddenAddress { host, address });
    }
}

#[tokio::test]
async fn a_token_service_without_encryption_gets_no_credential() {
    let thief = Hostile::start(|_| async { Some(status(200, "{\"token\":\"x\"}")) }.boxed()).await;
    let challenge = format!("Bearer realm=\"http://{}/token\",service=\"x\"", thief.host);
    let server = Hostile::start(move |_| {
        let challenge = challenge.clone();
        async move { Some(with_header(status(401, ""), "www-authenticate", &challenge)) }.boxed()
    })
    .await;
    let error = ask(&server.registry(), &server.image(), &[secret()]).await.unwrap_err();
    assert!(matches!(error, Error::NotEncrypted { .. }), "{error}");
    assert_eq!(thief.asked(), []);
}

#[tokio::test]
async fn ten_gigabytes_are_refused_by_their_claim_and_cut_off_in_their_stream() {
    let layer = TestLayer::files(&[("c", b"version: 2")]).gzip();
    let size = layer.bytes.len();
    for claimed in [10_usize << 30, size] {
        let image = layered(&layer);
        let digest = layer.digest();
        let manifest = String::from_utf8(image.manifest()).unwrap();
        let manifest =
            manifest.replace(&format!("\"size\":{size}}}]"), &format!("\"size\":{claimed}}}]"));
        let answer = move |path: String| {
            let answer = if path.contains("/manifests/") {
                Some(status(200, manifest.clone()))
            } else if path.ends_with(&digest) {
                Some(status(200, endless()))
            } else {
                honest(&image, &path)
            };
            async move { answer }.boxed()
        };
        let server = Hostile::start(answer).await;
        let started = Instant::now();
        let error = ask(&server.registry(), &server.image(), &[]).await;
        let error = match error {
            Ok(image) => image.base.clone().unwrap_err(),
            Err(error) => error,
        };
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
        assert!(started.elapsed() < Duration::from_secs(10));
        let layers_asked =
            server.asked().iter().filter(|(path, _)| path.ends_with(&layer.digest())).count();
        assert_eq!(layers_asked, usize::from(claimed == size));
    }
    assert!(peak_memory() < 200, "{} MiB", peak_memory());
}

#[tokio::test]
async fn archives_that_unpack_to_far_more_are_stopped() {
    for compress in [gzip as fn(&mut dyn Read) -> Vec<u8>, zstd] {
        // Compressed as it is made: what stands in this process's memory is the client's.
        let mut header = tar::Header::new_gnu();
        header.set_path("zeros").unwrap();
        header.set_size(128 << 20);
        header.set_cksum();
        let bytes = compress(&mut header.as_bytes().chain(std::io::repeat(0).take(128 << 20)));
        let layer = TestLayer { bytes, media_type: "application/x-bomb", diff_id: String::new() };
        let image = layered(&layer);
        assert!(layer.bytes.len() < 2 << 20);
        let server = Hostile::start(move |path| {
            let answer = honest(&image, &path);
            async move { answer }.boxed()
        })
        .await;
        let mut config = server.config();
        config.limits.unpacked_layer = 16 << 20;
        let image = ask(&Registry::new(config), &server.image(), &[]).await.unwrap();
        let expected = Error::TooLarge { what: "the unpacked layer".into(), limit: 16 << 20 };
        assert_eq!(image.base, Err(expected));
    }
    assert!(peak_memory() < 200, "{} MiB", peak_memory());
}

fn gzip(content: &mut dyn Read) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::copy(content, &mut encoder).unwrap();
    encoder.finish().unwrap()
}

fn zstd(content: &mut dyn Read) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(content, ruzstd::encoding::CompressionLevel::Fastest)
}

#[tokio::test]
async fn slow_registries_end_with_the_time_that_they_are_given() {
    let never = |_: String| async { pending().await }.boxed();
    let drip = |path: String| {
        async move { path.contains("/manifests/").then(|| status(200, dripping())) }.boxed()
    };
    let layer = TestLayer::files(&[("c", b"version: 2")]);
    let image = layered(&layer);
    let drip_layer = move |path: String| {
        let drips = path.ends_with(&layer.digest());
        let answer = if drips { Some(status(200, dripping())) } else { honest(&image, &path) };
        async move { answer }.boxed()
    };
    let servers =
        [Hostile::start(never).await, Hostile::start(drip).await, Hostile::start(drip_layer).await];
    for server in servers {
        let mut config = server.config();
        config.limits.idle = Duration::from_millis(500);
        config.limits.request = Duration::from_secs(1);
        config.limits.lookup = Duration::from_secs(2);
        let started = Instant::now();
        let error = ask(&Registry::new(config), &server.image(), &[]).await.unwrap_err();
        assert!(matches!(error, Error::TimedOut { .. }), "{error}");
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    }
}

#[tokio::test]
async fn a_busy_registry_is_asked_again_when_it_says_so_but_not_for_ever() {
    for (code, retry_after, failures, expected) in [
        (429, Some("1"), 1, Ok(4)),
        (503, None, 2, Ok(5)),
        (503, None, 9, Err(4)),
        (429, Some("3600"), 9, Err(2)),
        (429, Some("Tue, 31 Dec 2999 23:59:59 GMT"), 9, Err(2)),
    ] {
        let count = Arc::new(AtomicUsize::new(0));
        let answer = move |path: String| {
            let turn = if path.contains("/manifests/") {
                count.fetch_add(1, Ordering::Relaxed)
            } else {
                99
            };
            async move {
                if turn < failures {
                    let busy = status(code, "");
                    return Some(match retry_after {
                        Some(wait) => with_header(busy, "retry-after", wait),
                        None => busy,
                    });
                }
                honest(&labelled("x"), &path)
            }
            .boxed()
        };
        let server = Hostile::start(answer).await;
        let answer = text(&server.registry(), &server.image(), &[]).await;
        let requests = server.asked().len();
        match answer {
            Ok(_) => assert_eq!(Ok(requests), expected),
            Err(error) => {
                assert!(matches!(error, Error::Busy { .. }), "{error}");
                assert_eq!(Err(requests), expected);
            }
        }
    }
}

/// A registry of the attacker's own claims the digest of what another registry keeps private.
#[tokio::test]
async fn a_claimed_digest_opens_no_cache_of_another_place() {
    let image = labelled("private");
    let digest = digest_of(&image.manifest());
    let owner = Hostile::start(move |path| {
        let answer = honest(&image, &path);
        async move { answer }.boxed()
    })
    .await;
    let claim = move |path: String| {
        let claim = digest.clone();
        async move {
            let is_tag = path.ends_with("/manifests/1");
            is_tag.then(|| with_header(status(200, ""), "docker-content-digest", &claim))
        }
        .boxed()
    };
    let thief = Hostile::start(claim).await;
    let mut config = owner.config();
    allow_plain(&mut config, &thief.host);
    let registry = Registry::new(config);
    assert_eq!(text(&registry, &owner.image(), &[]).await.unwrap(), "private");
    for _ in 0..2 {
        ask(&registry, &thief.image(), &[]).await.unwrap_err();
    }
}
