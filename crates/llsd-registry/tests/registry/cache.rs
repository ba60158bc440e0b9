//! What lookups cost, what they remember, and for whom.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures::future::join_all;
use llsd_registry::{Config, Credential, Error, Reference, Registry};
use llsd_testkit::{RegistryServer, User};

use crate::setup::{allow_plain, ask, basic, config, labelled, registry, text};

#[tokio::test]
async fn a_known_tag_costs_one_request_and_a_pinned_digest_none() {
    let server = RegistryServer::builder().start().await.unwrap();
    let digest = server.push("a/b", "1", &labelled("x")).await.unwrap();
    let (tagged, pinned) =
        (format!("{}/a/b:1", server.host()), format!("{}/a/b@{digest}", server.host()));
    let registry = registry(&server);
    let mut costs = Vec::new();
    for image in [&tagged, &tagged, &tagged, &pinned] {
        let before = registry.requests_sent();
        assert_eq!(text(&registry, image, &[]).await.unwrap(), "x");
        costs.push(registry.requests_sent() - before);
    }
    // Ping, manifest and configuration; then the tag's digest alone.
    assert_eq!(costs, [3, 1, 1, 0]);
    assert_eq!(server.requests().unwrap().last().unwrap(), "HEAD /v2/a/b/manifests/1");

    server.push("a/b", "1", &labelled("y")).await.unwrap();
    assert_eq!(text(&registry, &tagged, &[]).await.unwrap(), "y", "a tag that moved is seen");
    assert_eq!(text(&registry, &pinned, &[]).await.unwrap(), "x");
}

#[tokio::test]
async fn a_pinned_digest_is_there_when_the_registry_is_not_but_only_for_who_read_it() {
    let user = User::new("someone", "word", &[]);
    let mut server = RegistryServer::builder()
        .with_passwords(std::slice::from_ref(&user))
        .start()
        .await
        .unwrap();
    let digest = server.push("a/b", "1", &labelled("x")).await.unwrap();
    let pinned = format!("{}/a/b@{digest}", server.host());
    let registry = registry(&server);
    let credentials = [basic(&user)];
    assert_eq!(text(&registry, &pinned, &credentials).await.unwrap(), "x");
    server.stop();
    assert_eq!(text(&registry, &pinned, &credentials).await.unwrap(), "x");
    for other in [vec![], vec![Credential::IdentityToken("word".into())]] {
        let error = text(&registry, &pinned, &other).await.unwrap_err();
        assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    }
}

/// The tenants' repositories hold the same image, so that a cache by digest alone would mix them.
#[tokio::test]
async fn two_tenants_see_only_their_own_in_either_order_and_at_once() {
    let [one, two] = ["one", "two"]
        .map(|name| User::new(name, &format!("word of {name}"), &[&format!("{name}/")]));
    let users = [one.clone(), two.clone()];
    let server = RegistryServer::builder().with_tokens(&users).start().await.unwrap();
    let mut digest = String::new();
    for user in &users {
        digest = server.push(&format!("{}/a", user.name), "1", &labelled("x")).await.unwrap();
    }
    for [first, second] in [[&one, &two], [&two, &one]] {
        let registry = Arc::new(registry(&server));
        let name = |user: &User, end: &str| format!("{}/{}/a{end}", server.host(), user.name);
        let pin = format!("@{digest}");
        for end in [":1", pin.as_str()] {
            assert_eq!(text(&registry, &name(first, end), &[basic(first)]).await.unwrap(), "x");
            for credentials in [vec![basic(second)], vec![]] {
                let error = ask(&registry, &name(first, end), &credentials).await.unwrap_err();
                assert_eq!(error, Error::Unauthorised { at: name(first, end) });
            }
            assert_eq!(text(&registry, &name(second, end), &[basic(second)]).await.unwrap(), "x");
        }
        // At once, every tenant at every repository.
        let registry = Arc::new(self::registry(&server));
        let asks = (0..40).map(|at| {
            let (owner, asker) = (&users[at % 2], &users[at / 2 % 2]);
            let (registry, image) = (registry.clone(), name(owner, ":1"));
            async move {
                let answer = text(&registry, &image, &[basic(asker)]).await;
                assert_eq!(answer.is_ok(), owner.name == asker.name, "{answer:?}");
            }
        });
        join_all(asks).await;
    }
}

#[tokio::test]
async fn the_same_question_at_the_same_time_is_asked_once() {
    let server = RegistryServer::builder().start().await.unwrap();
    server.push("a/b", "1", &labelled("x")).await.unwrap();
    let image = format!("{}/a/b:1", server.host());
    let registry = registry(&server);
    let answers = join_all((0..200).map(|_| text(&registry, &image, &[]))).await;
    assert!(answers.iter().all(|answer| answer.as_deref() == Ok("x")));
    assert_eq!(registry.requests_sent(), 3);
}

#[tokio::test]
async fn a_thousand_asks_on_a_dead_registry_are_one_call_per_interval() {
    // A port that was free a moment ago: nobody listens there.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    drop(listener);
    let mut config = Config::default();
    allow_plain(&mut config, &host);
    config.limits.failure_memory = Duration::from_secs(2);
    let registry = Registry::new(config);
    let asks = |from: usize| {
        let (registry, host) = (&registry, &host);
        (from..from + 1000).map(move |at| async move {
            // Repositories and credentials of their own.
            let credential = Credential::IdentityToken(at.to_string());
            text(registry, &format!("{host}/a/b{at}:1"), &[credential]).await
        })
    };
    let started = Instant::now();
    for round in 0..2 {
        let answers = join_all(asks(round)).await;
        assert!(answers.iter().all(|answer| matches!(answer, Err(Error::Unreachable { .. }))));
    }
    assert!(started.elapsed() < Duration::from_secs(2), "the machine is too slow for this test");
    assert_eq!(registry.requests_sent(), 1);
    tokio::time::sleep(Duration::from_millis(2100)).await;
    join_all(asks(0)).await;
    assert_eq!(registry.requests_sent(), 2);
}

#[tokio::test]
async fn a_failure_is_remembered_for_a_while_and_for_its_asker_only() {
    let user = User::new("someone", "word", &[]);
    let server = RegistryServer::builder()
        .with_passwords(std::slice::from_ref(&user))
        .start()
        .await
        .unwrap();
    server.push("a/b", "1", &labelled("x")).await.unwrap();
    let image = format!("{}/a/b:1", server.host());
    let mut config = config(&server);
    config.limits.failure_memory = Duration::from_secs(2);
    let registry = Registry::new(config);
    ask(&registry, &image, &[]).await.unwrap_err();
    let before = registry.requests_sent();
    ask(&registry, &image, &[]).await.unwrap_err();
    assert_eq!(registry.requests_sent(), before);
    assert_eq!(text(&registry, &image, &[basic(&user)]).await.unwrap(), "x");
}

#[tokio::test]
async fn what_a_tag_pointed_to_is_recalled_for_a_while_and_only_by_who_was_told() {
    let user = User::new("someone", "word", &[]);
    let mut server = RegistryServer::builder()
        .with_passwords(std::slice::from_ref(&user))
        .start()
        .await
        .unwrap();
    let digest = server.push("a/b", "1", &labelled("x")).await.unwrap();
    let registry = registry(&server);
    let tagged: Reference = format!("{}/a/b:1", server.host()).parse().unwrap();
    let pinned: Reference = format!("{}/a/b@{digest}", server.host()).parse().unwrap();
    let (own, others) = (vec![basic(&user)], vec![]);
    let (long, short) = (Duration::from_mins(1), Duration::from_millis(1));
    assert!(registry.recall(&tagged, &own, long).await.is_none(), "nobody has asked");
    registry.find(&tagged, &own).await.unwrap();
    server.stop();
    let sent = registry.requests_sent();
    for (image, age) in [(&tagged, long), (&pinned, long), (&pinned, Duration::ZERO)] {
        let recalled = registry.recall(image, &own, age).await.unwrap().unwrap();
        assert_eq!(recalled.digest.to_string(), digest);
        assert!(registry.recall(image, &others, age).await.is_none(), "others were not told");
    }
    tokio::time::sleep(2 * short).await;
    assert!(registry.recall(&tagged, &own, short).await.is_none(), "it may have moved since");
    assert_eq!(registry.requests_sent(), sent, "nobody is asked");
    // A failure is recalled, too, for a moment.
    let error = registry.find(&tagged, &others).await.unwrap_err();
    let recalled = registry.recall(&tagged, &others, long).await;
    assert_eq!(recalled.expect("it is recalled").unwrap_err(), error);
}
