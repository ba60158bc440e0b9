//! What an administrator may write, what comes of it, and what is said.

use std::collections::BTreeMap;

use llsd_plan::facts::{ExposureLimits, OverridesPolicy};
use llsd_plan::rollout::wave::{Budget, Share};

use super::*;

fn parse(data: &[(&str, &str)], environment: &[(&str, &str)]) -> (OperatorConfig, Vec<String>) {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let data = data.iter().map(owned).collect();
    let (config, remarks) = OperatorConfig::parse(&data, environment.iter().map(owned));
    (config, remarks.iter().map(ToString::to_string).collect())
}

fn images(of: &[(&str, &str)]) -> BTreeMap<String, String> {
    of.iter().map(|(name, image)| ((*name).to_owned(), (*image).to_owned())).collect()
}

#[test]
fn nothing_configured_is_the_default_and_needs_no_remark() {
    assert_eq!(parse(&[], &[]), (OperatorConfig::default(), vec![]));
    let empty = ConfigKey::ALL.map(|key| (key.name(), ""));
    assert_eq!(parse(&empty, &[("PATH", "/bin")]), (OperatorConfig::default(), vec![]));
}

#[test]
fn everything_configured_reaches_planning() {
    let (config, remarks) = parse(
        &[
            ("featureFlags", "enableNetworkPolicy:\n  enabled: true\n"),
            ("image-overrides", "starter: quay.io/custom/starter:1\n"),
            ("ingressDomain", "apps.example.com\n"),
            ("clusterDomain", "cluster.internal\n"),
            ("caBundleNamespaces", "- trust\n- security\n"),
            ("registries", "insecureHosts: [lab:5000]"),
        ],
        &[(
            "RELATED_IMAGE_REMOTE_VLLM",
            "mirror.internal/remote-vllm@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        )],
    );
    assert_eq!(remarks, [""; 0]);
    assert!(config.registries.is_insecure("lab:5000"));
    let facts = config.facts(Some("own".into()), Some("image:1".into()));
    assert_eq!(facts.namespace.as_deref(), Some("own"));
    assert_eq!(facts.image.as_deref(), Some("image:1"));
    assert_eq!(facts.image_overrides, images(&[("starter", "quay.io/custom/starter:1")]));
    assert!(facts.related_images["remote-vllm"].starts_with("mirror.internal/"));
    assert_eq!(facts.network_policy, Some(true));
    assert_eq!(facts.ingress_domain.as_deref(), Some("apps.example.com"));
    assert_eq!(facts.cluster_domain.as_deref(), Some("cluster.internal"));
    assert!(facts.allows_ca_bundle_of("trust") && !facts.allows_ca_bundle_of("other"));
}

#[test]
fn the_flag_is_on_off_or_left_to_each_resource() {
    for (text, expected, remark) in [
        ("enableNetworkPolicy: {enabled: true}", Some(true), None),
        ("enableNetworkPolicy: {enabled: false}", Some(false), None),
        ("enableNetworkPolicy: {}", None, None),
        ("enableNetworkPolicy:", None, None),
        ("{}", None, None),
        (
            "enableNetworkPolicy: {enabled: 'true'}",
            None,
            Some("featureFlags.enableNetworkPolicy.enabled: must be true or false"),
        ),
        (
            "enableNetworkPolicy: true",
            None,
            Some("featureFlags.enableNetworkPolicy: must be a mapping with `enabled`"),
        ),
        (
            "enableNetworkPolicy: {enabled: true, enable: false}",
            Some(true),
            Some("featureFlags.enableNetworkPolicy.enable: unknown field; known is enabled"),
        ),
        (
            "{enableNetworkPolicys: {enabled: true}, enableNetworkPolicy: {enabled: true}}",
            Some(true),
            Some("featureFlags.enableNetworkPolicys: unknown flag; known is enableNetworkPolicy"),
        ),
        ("[enableNetworkPolicy]", None, Some("featureFlags: must be a YAML mapping")),
    ] {
        let (config, remarks) = parse(&[("featureFlags", text)], &[]);
        assert_eq!(config.network_policy, expected, "{text}");
        assert_eq!(remarks, Vec::from_iter(remark), "{text}");
    }
}

#[test]
fn a_wrong_override_is_left_out_and_the_others_hold() {
    let text = "
starter: quay.io/custom/starter:1
remote-vllm: not a reference
postgres-demo: 7
meta-reference-gpu: ''
startr: quay.io/custom/starter:1
";
    let (config, remarks) = parse(&[("image-overrides", text)], &[]);
    assert_eq!(config.image_overrides, images(&[("starter", "quay.io/custom/starter:1")]));
    let paths: Vec<&str> = remarks.iter().map(|said| said.split(": ").next().unwrap()).collect();
    let expected = ["remote-vllm", "postgres-demo", "meta-reference-gpu", "startr"];
    assert_eq!(paths, expected.map(|name| format!("image-overrides.{name}")));
    assert!(remarks[3].contains("no such distribution; known are meta-reference-gpu,"));
}

#[test]
fn text_that_is_no_yaml_unsets_its_own_key_alone() {
    let (config, remarks) = parse(
        &[
            ("image-overrides", "starter: [quay.io"),
            ("registries", "mirrors: ["),
            ("featureFlags", "enableNetworkPolicy: {enabled: true}"),
        ],
        &[],
    );
    let expected = OperatorConfig { network_policy: Some(true), ..Default::default() };
    assert_eq!(config, expected);
    let [overrides, registries] = &remarks[..] else { panic!("{remarks:?}") };
    assert!(overrides.starts_with("image-overrides: not valid YAML"), "{overrides}");
    assert!(registries.starts_with("registries: not one valid YAML document"), "{registries}");
}

#[test]
fn mistakes_of_all_keys_are_said_at_once() {
    let (config, remarks) = parse(
        &[
            ("imageOverrides", "starter: a"),
            ("image-overrides", "starter: UPPER"),
            ("ingressDomain", "*.example.com"),
            ("registries", "{mirrors: [{source: quay.io}], insecure: [a]}"),
        ],
        &[("RELATED_IMAGE_STARTER", "UPPER"), ("RELATED_IMAGE_OTHER", "a")],
    );
    assert_eq!(config, OperatorConfig::default());
    let mut paths: Vec<&str> =
        remarks.iter().map(|said| said.split(": ").next().unwrap()).collect();
    paths.sort_unstable();
    let expected = [
        "RELATED_IMAGE_OTHER",
        "RELATED_IMAGE_STARTER",
        "image-overrides.starter",
        "imageOverrides",
        "ingressDomain",
        "registries.insecure",
        "registries.mirrors[0].mirrors",
    ];
    assert_eq!(paths, expected);
}

#[test]
fn a_related_image_is_found_by_its_name_in_capitals() {
    let (config, remarks) = parse(
        &[],
        &[
            ("RELATED_IMAGE_STARTER_GPU", "mirror/starter-gpu:1"),
            ("RELATED_IMAGE_STARTER", ""),
            ("RELATED_IMAGE_remote_vllm", ""),
            ("OTHER_RELATED_IMAGE_STARTER", "no"),
        ],
    );
    assert_eq!(config.related_images, images(&[("starter-gpu", "mirror/starter-gpu:1")]));
    assert_eq!(remarks, [""; 0]);
}

#[test]
fn a_domain_is_one_that_host_names_can_stand_in() {
    let long = format!("{}.com", "a".repeat(64));
    for (text, expected) in [
        ("apps.example.com", Some("apps.example.com")),
        (" apps.example.com\n", Some("apps.example.com")),
        ("local", Some("local")),
        ("", None),
        ("*.example.com", None),
        (".example.com", None),
        ("example.com.", None),
        ("Example.com", None),
        ("example.com:8080", None),
        ("https://example.com", None),
        ("a_b.com", None),
        ("-a.com", None),
        (&long, None),
    ] {
        let (config, remarks) = parse(&[("ingressDomain", text)], &[]);
        assert_eq!(config.ingress_domain.as_deref(), expected, "{text}");
        assert_eq!(remarks.is_empty(), expected.is_some() || text.is_empty(), "{text}");
    }
}

#[test]
fn a_hostile_document_is_given_up_quickly() {
    let deep = "[".repeat(200_000);
    let (config, remarks) = parse(&[("image-overrides", &deep), ("featureFlags", &deep)], &[]);
    assert_eq!(config, OperatorConfig::default());
    assert_eq!(remarks.len(), 2);
    let long = "a: b\n".repeat(300_000);
    for key in ConfigKey::ALL {
        let (config, remarks) = parse(&[(key.name(), &long)], &[]);
        assert_eq!(config != OperatorConfig::default(), key.restricts(), "{key:?}");
        assert_eq!(remarks.len(), 1, "{key:?}");
    }
}

#[test]
fn namespaces_are_a_list_in_either_form_or_all() {
    let allowed = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    for (text, expected, remarks) in [
        ("[trust, security]", allowed(&["trust", "security"]), 0),
        ("- trust\n", allowed(&["trust"]), 0),
        ("trust, security\n", allowed(&["trust", "security"]), 0),
        ("*", allowed(&["*"]), 0),
        ("['*']", allowed(&["*"]), 0),
        ("", allowed(&[]), 0),
        ("[trust, Trust, 7]", allowed(&["trust"]), 2),
        ("{trust: true}", allowed(&[]), 1),
        ("[trust", allowed(&[]), 1),
    ] {
        let (config, found) = parse(&[("caBundleNamespaces", text)], &[]);
        assert_eq!(config.ca_bundle_namespaces, expected, "{text}");
        assert_eq!(found.len(), remarks, "{text}: {found:?}");
    }
}

/// A typo must not allow what it was to forbid.
#[test]
fn overrides_are_allowed_or_forbidden_and_a_typo_says_so() {
    for (text, forbidden, remark) in [
        ("", false, None),
        ("Allow", false, None),
        ("Forbid\n", true, None),
        ("forbid", true, Some("overrides: must be Allow or Forbid")),
    ] {
        let (config, remarks) = parse(&[("overrides", text)], &[]);
        let facts = config.facts(None, None);
        assert_eq!(facts.overrides == OverridesPolicy::Forbid, forbidden, "{text}");
        assert_eq!(remarks, Vec::from_iter(remark), "{text}");
    }
}

#[test]
fn exposure_names_domains_and_annotations() {
    let text = "{allowedDomains: [apps.example.com], allowedAnnotations: ['cert-manager.io/*']}";
    let (config, remarks) = parse(&[("exposure", text)], &[]);
    assert_eq!(remarks, [""; 0]);
    let limits = config.facts(None, None).exposure;
    assert!(limits.allows_host("a.apps.example.com") && !limits.allows_host("example.com"));
    assert!(limits.allows_annotation("cert-manager.io/issuer") && !limits.allows_annotation("a"));
    let (config, remarks) = parse(&[("exposure", "allowedDomains: ['*.example.com']")], &[]);
    assert_eq!(remarks, [""; 0]);
    assert!(config.exposure.allows_host("*.example.com"));
    let wrong = "{allowedDomains: ['a.*.com', 7], allowedAnnotations: all, domains: []}";
    let (config, remarks) = parse(&[("exposure", wrong)], &[]);
    assert_eq!(config.exposure, ExposureLimits::allowing_none());
    let paths: Vec<&str> = remarks.iter().map(|said| said.split(": ").next().unwrap()).collect();
    let expected = ["domains", "allowedDomains[0]", "allowedDomains[1]", "allowedAnnotations"];
    assert_eq!(paths, expected.map(|path| format!("exposure.{path}")));
}

#[test]
fn a_rollout_says_how_many_servers_may_change_at_a_time() {
    let default = Budget::default();
    let most = |share| Budget { max_unavailable: share, ..default };
    let all = "{maxUnavailableServers: 2, perNamespace: 3, stopAfterFailures: 4}";
    let (config, remarks) = parse(&[("rollout", all)], &[]);
    let expected =
        Budget { max_unavailable: Share::Number(2), per_namespace: 3, stop_after_failures: 4 };
    assert_eq!((config.rollout.budget, remarks), (expected, vec![]));
    for (text, expected, wrong) in [
        ("", default, &[][..]),
        ("maxUnavailableServers:", default, &[]),
        ("maxUnavailableServers: 25%", most(Share::Percent(25)), &[]),
        ("maxUnavailableServers: 100%", most(Share::Percent(100)), &[]),
        ("maxUnavailableServers: 0", default, &["maxUnavailableServers"]),
        ("maxUnavailableServers: 0%", default, &["maxUnavailableServers"]),
        ("maxUnavailableServers: +5%", default, &["maxUnavailableServers"]),
        ("maxUnavailableServers: 101%", default, &["maxUnavailableServers"]),
        ("maxUnavailableServers: '5'", default, &["maxUnavailableServers"]),
        ("maxUnavailableServers: 1.5", default, &["maxUnavailableServers"]),
        ("perNamespace: 0", default, &["perNamespace"]),
        ("{stopAfterFailures: no, maxSurge: 1}", default, &["maxSurge", "stopAfterFailures"]),
    ] {
        let (config, remarks) = parse(&[("rollout", text)], &[]);
        assert_eq!(config.rollout.budget, expected, "{text}");
        let paths: Vec<&str> =
            remarks.iter().map(|said| said.split(": ").next().unwrap()).collect();
        let wrong: Vec<String> = wrong.iter().map(|path| format!("rollout.{path}")).collect();
        assert_eq!(paths, wrong, "{text}");
    }
}

#[test]
fn a_rollout_names_canaries_and_a_window() {
    let given = "{canaries: stage=canary, window: {schedule: 0 22 * * 1-5, duration: 6h}}";
    let (config, remarks) = parse(&[("rollout", given)], &[]);
    let RolloutSettings { budget, canaries, window } = config.rollout;
    assert_eq!((budget, remarks), (Budget::default(), vec![]));
    assert_eq!(window, Window::parse("0 22 * * 1-5", 6 * 3600).ok());
    let labels = |value: &str| {
        [("stage".to_owned(), value.to_owned())].into_iter().collect::<BTreeMap<_, _>>()
    };
    let canaries = canaries.unwrap();
    assert!(canaries.is_among(&labels("canary")) && !canaries.is_among(&labels("live")));
    let (config, _) = parse(&[("rollout", "canaries: stage")], &[]);
    assert!(config.rollout.canaries.unwrap().is_among(&labels("any")));

    for (text, wrong) in [
        ("canaries: [a]", &["canaries"][..]),
        ("canaries: a b", &["canaries"]),
        ("canaries: a=b=c", &["canaries"]),
        ("canaries:", &[]),
        ("window: 22:00", &["window"]),
        ("window: {schedule: 0 22 * * *}", &["window.duration"]),
        ("window: {schedule: 0 22 * * *, duration: 30}", &["window.duration"]),
        ("window: {schedule: 0 22 * * *, duration: 1s}", &["window.duration"]),
        ("window: {duration: 6h}", &["window.schedule"]),
        ("window: {schedule: daily, duration: 6h, zone: UTC}", &["window.schedule", "window.zone"]),
    ] {
        let (config, remarks) = parse(&[("rollout", text)], &[]);
        assert_eq!(config.rollout, RolloutSettings::default(), "{text}");
        let mut paths: Vec<&str> =
            remarks.iter().map(|said| said.split(": ").next().unwrap()).collect();
        paths.sort_unstable();
        let wrong: Vec<String> = wrong.iter().map(|path| format!("rollout.{path}")).collect();
        assert_eq!(paths, wrong, "{text}");
    }
}
