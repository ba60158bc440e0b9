//! No credential value appears in any Debug output, note or error.

use std::fmt::{Debug, Display};

use llsd_registry::credentials::provider_plugin::{PluginConfig, PluginError, PluginFailure};
use llsd_registry::credentials::{Credential, Keyring, PullSecret};
use serde_json::json;

const SECRET: &str = "hunter2";

fn assert_unseen(what: &(impl Debug + ?Sized)) {
    for text in [format!("{what:?}"), format!("{what:#?}")] {
        assert!(!text.contains(SECRET), "{text}");
    }
}

fn assert_unsaid(what: &(impl Debug + Display)) {
    assert_unseen(what);
    assert!(!what.to_string().contains(SECRET), "{what}");
}

#[test]
fn in_credentials_and_keyrings() {
    let all = [
        Credential::Basic { username: SECRET.into(), password: SECRET.into() },
        Credential::IdentityToken(SECRET.into()),
        Credential::RegistryToken(SECRET.into()),
    ];
    assert_unseen(&all);
    let mut keyring = Keyring::new();
    for credential in all {
        // Some people paste the token where the host belongs.
        keyring.add(&format!("{SECRET}.example.com"), credential);
    }
    assert_unseen(&keyring);
}

#[test]
fn in_pull_secrets_and_their_notes() {
    let document = json!({
        "credsStore": SECRET,
        "auths": {
            "good.example.com": {"username": SECRET, "password": SECRET, "identitytoken": SECRET},
            "bad.example.com": {"auth": SECRET},
            "worse.example.com": SECRET,
            format!("https://[{SECRET}"): {"password": SECRET},
        }
    })
    .to_string();
    for bytes in [document.as_bytes(), SECRET.as_bytes(), &document.as_bytes()[1..]] {
        for kind in ["kubernetes.io/dockerconfigjson", "kubernetes.io/dockercfg", SECRET] {
            let secret = PullSecret::from_secret("pull", kind, |_| Some(bytes));
            assert_unseen(&secret);
            assert!(!secret.notes().is_empty());
            secret.notes().iter().for_each(assert_unsaid);
        }
    }
}

#[test]
fn in_the_configuration_of_plugins_and_its_mistakes() {
    let provider = |duration: &str| {
        format!(
            "apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders:\n\
             - name: cloud\n  apiVersion: credentialprovider.kubelet.k8s.io/v1\n  \
             matchImages: ['*.example.com']\n  defaultCacheDuration: {duration}\n  \
             args: [{SECRET}]\n  env: [{{name: TOKEN, value: {SECRET}}}]\n"
        )
    };
    assert_unseen(&PluginConfig::parse(&provider("1h")).unwrap());
    let broken = format!("{}\n  : [{SECRET}\n- {{", provider("1h"));
    let wrong_values = provider(SECRET).replace("cloud", &format!("../{SECRET}"));
    for text in [broken, wrong_values, SECRET.to_owned()] {
        let problems = PluginConfig::parse(&text).unwrap_err();
        assert!(!problems.is_empty());
        problems.iter().for_each(assert_unsaid);
    }
}

#[test]
fn in_the_errors_of_plugins() {
    let failures = [
        PluginFailure::Exited(Some(1)),
        PluginFailure::NotAResponse,
        PluginFailure::OtherVersion("credentialprovider.kubelet.k8s.io/v1".into()),
    ];
    for failure in failures {
        let error = PluginError { provider: "cloud".into(), failure };
        assert!(error.to_string().starts_with("credential provider cloud: "));
        assert_unsaid(&error);
    }
}
