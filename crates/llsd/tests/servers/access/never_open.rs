//! A server that would not ask its callers who they are does not start.

use llsd_plan::server::paths::TRUST_FILE;
use llsd_testkit::{OpenAiStub, Release};
use serde_json::json;

use super::PATIENCE;
use super::issuer::Issuer;
use crate::pod::{Pod, Secrets};

/// What the start program says of a file that the installed server does not wholly know.
async fn last_words(release: Release, change: impl FnOnce(&str) -> String) -> String {
    let stub = OpenAiStub::start(&["llama"]).await.unwrap();
    let spec = json!({
        "providers": {"inference": {"provider": "vllm", "endpoint": stub.url()}},
        "access": {"authentication": {"github": {}}},
    });
    let pod = Pod::planned(Release::newest(), spec, &Secrets::new());
    // Releases that nobody has heard of.
    let boot = pod.boot(change(pod.config())).with_env("LLS_ACCESS", "0.98.0 0.98.1");
    let mut server = release.boot(boot).unwrap();
    let ended = server.wait_exit(PATIENCE).await.unwrap();
    assert!(!ended.success(), "{}", server.log());
    server.log()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_installed_server_would_drop_stops_its_start() {
    let release = Release::newest();
    if !release.install_or_skip() {
        return;
    }
    let said = last_words(release, |config| {
        let invented = "type: github_token\n      invented: yes";
        config.replace("type: github_token", invented)
    })
    .await;
    assert!(said.contains("would ignore server.auth.provider_config.invented"), "{said}");
    let said = last_words(release, |config| config.replace("  auth:", "  auht:")).await;
    assert!(said.contains("has no server.auth"), "{said}");
    let said = last_words(release, |config| {
        let forbids = "route_policy:\n    - forbid: {paths: ['regex:/v1/files(?<id>.*)']}\n    provider_config:";
        config.replace("provider_config:", forbids)
    })
    .await;
    assert!(said.contains("would pass over the pattern regex:/v1/files(?<id>.*)"), "{said}");
}

/// An attacker on the network could name keys of their own, or serve them. The server's own client would
/// accept both.
#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_leads_to_plain_http_is_not_followed() {
    let release = Release::newest();
    if !release.install_or_skip() {
        return;
    }
    let issuer = Issuer::start(release, |_| json!([])).await;
    let stub = OpenAiStub::start(&["llama"]).await.unwrap();
    let url = &issuer.url;
    for (oidc, failure) in [
        (json!({"issuer": format!("{url}/in-clear")}), "does not say where its keys are"),
        (json!({"issuer": format!("{url}/keys-in-clear")}), "does not give its keys"),
        (
            json!({"issuer": url, "jwksUri": format!("{url}/in-clear/keys")}),
            "does not give its keys",
        ),
    ] {
        let spec = json!({
            "providers": {"inference": {"provider": "vllm", "endpoint": stub.url()}},
            "access": {"authentication": {"oidc": oidc}},
        });
        let pod = Pod::planned(release, spec, &Secrets::new());
        let trust = issuer.authority().display().to_string();
        let boot = pod.boot(pod.config().replace(TRUST_FILE, &trust));
        let mut server = release.boot(boot.with_env("LLS_DISCOVERY_SECONDS", "1")).unwrap();
        let ended = server.wait_exit(PATIENCE).await.unwrap();
        let log = server.log();
        assert!(!ended.success(), "{log}");
        assert!(log.contains(failure), "{log}");
        assert!(log.contains("answers 302, which leads to plain http"), "{log}");
    }
}

/// Its image said another release than it holds.
#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_takes_patterns_for_names_does_not_start() {
    let release: Release = "0.5.4".parse().unwrap();
    if !Release::is_thorough_or_left_out() || !release.install_or_skip() {
        return;
    }
    let said = last_words(release, |config| {
        let forbids =
            "route_policy:\n    - forbid: {paths: ['regex:/v1/files']}\n    provider_config:";
        config.replace("provider_config:", forbids)
    })
    .await;
    assert!(said.contains("would ignore what regex: means"), "{said}");
}

/// Its image said another release than it holds.
#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_would_ask_probes_for_tokens_does_not_start() {
    let release = Release::V0_2_24;
    if !Release::is_thorough_or_left_out() || !release.install_or_skip() {
        return;
    }
    let said = last_words(release, ToOwned::to_owned).await;
    assert!(said.contains("would ignore that /v1/health is open"), "{said}");
}
