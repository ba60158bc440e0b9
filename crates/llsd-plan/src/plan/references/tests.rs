//! Every field that names an object outside the resource is found.

use serde_json::json;

use super::*;

/// Names an object in every field that can.
fn full() -> LlamaStackDistributionSpec {
    let spec = json!({
        "distribution": {"name": "starter"},
        "providers": {
            "inference": [
                {"id": "a", "provider": "vllm", "apiKey": {"name": "one", "key": "k"}},
                {"id": "b", "provider": "vllm",
                 "secretRefs": {"token": {"secretKeyRef": {"name": "two", "key": "k"}}}},
            ],
            "vectorIo": {"provider": "pgvector", "host": {"name": "three", "key": "host"}},
            "safety": {"provider": "llama-guard", "host": "plain.example.com"},
        },
        "storage": {"kv": {"password": {"name": "four", "key": "p"}},
                    "sql": {"connectionString": {"name": "five", "key": "url"}}},
        "networking": {"tls": {"enabled": true, "secretName": "six",
            "caBundle": {"configMapName": "roots", "configMapNamespace": "elsewhere"}},
            "expose": {"tlsSecretName": "eleven"}},
        "access": {"authentication": {
            "apiKeys": [{"name": "eight", "key": "k"}],
            "oidc": {"issuer": "https://a.example",
                "introspection": {"url": "https://a.example/ask", "clientId": "a",
                                  "clientSecret": {"name": "nine", "key": "k"}},
                "caBundle": {"configMapName": "issuer-roots"}},
        }},
        "overrideConfig": {"configMapName": "mine"},
        "workload": {"storage": {"existingClaim": "disk"}, "overrides": {
            "imagePullSecrets": [{"name": "pull"}], "serviceAccountName": "robot",
            "env": [
                {"name": "A", "valueFrom": {"secretKeyRef": {"name": "seven", "key": "k"}}},
                {"name": "B", "valueFrom": {"configMapKeyRef":
                    {"name": "perhaps", "key": "k", "optional": true}}},
            ],
            "envFrom": [{"configMapRef": {"name": "many"}}, {"secretRef": {"name": "all"}}],
        }},
        "externalProviders": {"inference": [{"providerId": "x", "image": "images/x:1",
            "secretRefs": {"token": {"name": "ten", "key": "k"}}}]},
    });
    serde_json::from_value(spec).unwrap()
}

#[test]
fn every_place_that_can_point_outside_is_found() {
    let found = references(&full(), "here");
    let secrets: Vec<String> =
        found.secrets.iter().map(|(name, key)| format!("{name}/{key}")).collect();
    assert_eq!(
        secrets,
        [
            "eight/k",
            "five/url",
            "four/p",
            "nine/k",
            "one/k",
            "seven/k",
            "six/tls.crt",
            "six/tls.key",
            "ten/k",
            "three/host",
            "two/k"
        ]
    );
    assert_eq!(found.whole_secrets, BTreeSet::from(["all".to_owned()]));
    assert!(found.claims.contains("disk"));
    for variables in ["perhaps", "many"] {
        assert!(found.config_maps.contains(variables), "{variables}");
    }
    assert_eq!(found.connection_string, Some(("five".into(), "url".into())));
    assert!(found.config_maps.contains("elsewhere/roots"));
    assert!(found.config_maps.contains("issuer-roots"));
    assert!(found.config_maps.contains(OPENSHIFT_AI_BUNDLE));
    assert_eq!(found.pull_secrets, ["pull"]);
    assert_eq!(found.service_account.as_deref(), Some("robot"));
    assert!(found.provider_images.contains("images/x:1"));
}

#[test]
fn every_field_that_names_an_object_is_found_with_its_path() {
    let found = walk(&full());
    let listed: Vec<String> = found
        .iter()
        .map(|Reference { path, kind, namespace, name, key, .. }| {
            let place = namespace.as_deref().map(|n| format!("{n}/")).unwrap_or_default();
            let key = key.as_deref().map(|key| format!("[{key}]")).unwrap_or_default();
            format!("{kind:?} {place}{name}{key} at {path}")
        })
        .collect();
    assert_eq!(
        listed,
        [
            "Secret one[k] at spec.providers.inference[0].apiKey",
            "Secret two[k] at spec.providers.inference[1].secretRefs.token",
            "Secret three[host] at spec.providers.vectorIo.host",
            "Secret ten[k] at spec.externalProviders.inference[0].secretRefs.token",
            "Secret four[p] at spec.storage.kv.password",
            "Secret five[url] at spec.storage.sql.connectionString",
            "Secret six at spec.networking.tls.secretName",
            "ConfigMap elsewhere/roots at spec.networking.tls.caBundle.configMapName",
            "Secret eleven at spec.networking.expose.tlsSecretName",
            "Secret eight[k] at spec.access.authentication.apiKeys[0]",
            "Secret nine[k] at spec.access.authentication.oidc.introspection.clientSecret",
            "ConfigMap issuer-roots at spec.access.authentication.oidc.caBundle.configMapName",
            "ConfigMap mine at spec.overrideConfig.configMapName",
            "VolumeClaim disk at spec.workload.storage.existingClaim",
            "ServiceAccount robot at spec.workload.overrides.serviceAccountName",
            "Secret pull at spec.workload.overrides.imagePullSecrets[0].name",
            "Secret seven[k] at spec.workload.overrides.env[0].valueFrom.secretKeyRef",
            "ConfigMap perhaps[k] at spec.workload.overrides.env[1].valueFrom.configMapKeyRef",
            "ConfigMap many at spec.workload.overrides.envFrom[0].configMapRef",
            "Secret all at spec.workload.overrides.envFrom[1].secretRef",
        ]
    );
}

#[test]
fn a_certificate_that_is_not_served_is_no_reference() {
    let spec: LlamaStackDistributionSpec = serde_json::from_value(json!({
        "distribution": {"name": "starter"},
        "networking": {
            "tls": {"enabled": false, "secretName": "six"},
            "expose": {"enabled": false, "tlsSecretName": "eleven"},
        },
        "overrideConfig": {"configMapName": "mine"},
    }))
    .unwrap();
    let found = references(&spec, "here");
    assert!(found.secrets.is_empty());
    assert!(found.config_maps.contains("mine"));
    assert!(walk(&spec).iter().all(|reference| reference.kind != ObjectKind::Secret));
}
