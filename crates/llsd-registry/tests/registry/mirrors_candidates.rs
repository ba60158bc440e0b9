//! Where an image is looked for, as tables: mirrors in order, then the source.

use std::time::Duration;

use llsd_registry::mirrors::{Candidate, Registries};
use llsd_registry::{Config, Credential, Error, Reference, Registry};
use proptest::prelude::*;
use rstest::rstest;

const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn registries() -> Registries {
    Registries::parse(
        "mirrors:
  - {source: quay.io, mirrors: [mirror.internal:5000/quay, backup.internal]}
  - {source: quay.io/team, mirrors: [team.internal/copies]}
  - {source: quay.io/team/server, mirrors: [exact.internal/server]}
  - {source: registry.example.com, mirrors: [tags.internal], pullBy: Tag}
  - {source: registry.example.com, mirrors: [digests.internal/a, digests.internal/b], pullBy: Digest}
  - {source: closed.example.com, mirrors: [only.internal], mirrorSourcePolicy: NeverContactSource}
  - {source: blocked.example.com, mirrorSourcePolicy: NeverContactSource}
  - {source: '*.wild.example', mirrors: [wild.internal]}
  - {source: '*.deep.wild.example', mirrors: [deep.internal]}
  - {source: named.wild.example, mirrors: [named.internal]}
  - {source: ported.example.com:5000, mirrors: [ported.internal]}
  - {source: docker.io, mirrors: [hub.internal]}
  - {source: docker.io/library, mirrors: [official.internal]}
",
    )
    .unwrap()
}

fn references(registries: &Registries, reference: &str) -> Vec<String> {
    registries.candidates(reference).into_iter().map(|candidate| candidate.reference).collect()
}

#[tokio::test]
async fn a_source_without_mirrors_that_may_not_be_asked_is_blocked() {
    let registry = Registry::new(Config { registries: registries(), ..Config::default() });
    let image: Reference = "blocked.example.com/a/b:1".parse().unwrap();
    let blocked = Error::Blocked { at: image.to_string() };
    let anonymous: Vec<Credential> = Vec::new();
    assert_eq!(registry.find(&image, &anonymous).await.unwrap_err(), blocked);
    let recalled = registry.recall(&image, &anonymous, Duration::MAX).await;
    assert_eq!(recalled.unwrap().unwrap_err(), blocked);
    assert_eq!(registry.requests_sent(), 0);
}

#[rstest]
#[case::no_rule("ghcr.io/a/b:1", &["ghcr.io/a/b:1"])]
#[case::in_order_then_the_source(
    "quay.io/a/b:1",
    &["mirror.internal:5000/quay/a/b:1", "backup.internal/a/b:1", "quay.io/a/b:1"]
)]
#[case::longest_prefix_wins("quay.io/team/x:1", &["team.internal/copies/x:1", "quay.io/team/x:1"])]
#[case::longest_is_the_whole_name(
    "quay.io/team/server:1",
    &["exact.internal/server:1", "quay.io/team/server:1"]
)]
#[case::below_the_longest(
    "quay.io/team/server/extra",
    &["exact.internal/server/extra", "quay.io/team/server/extra"]
)]
#[case::prefix_of_whole_components(
    "quay.io/team-two/x",
    &["mirror.internal:5000/quay/team-two/x", "backup.internal/team-two/x", "quay.io/team-two/x"]
)]
#[case::by_tag("registry.example.com/a:1", &["tags.internal/a:1", "registry.example.com/a:1"])]
#[case::no_tag_is_a_tag("registry.example.com/a", &["tags.internal/a", "registry.example.com/a"])]
#[case::never_the_source("closed.example.com/a/b", &["only.internal/a/b"])]
#[case::blocked("blocked.example.com/a/b", &[])]
#[case::wildcard("a.wild.example/x", &["wild.internal/x", "a.wild.example/x"])]
#[case::wildcard_any_depth("a.b.wild.example/x", &["wild.internal/x", "a.b.wild.example/x"])]
#[case::longer_wildcard("a.deep.wild.example/x", &["deep.internal/x", "a.deep.wild.example/x"])]
#[case::host_before_wildcard("named.wild.example/x", &["named.internal/x", "named.wild.example/x"])]
#[case::wildcard_is_not_the_domain("wild.example/x", &["wild.example/x"])]
#[case::wildcard_begins_at_a_dot("notwild.example/x", &["notwild.example/x"])]
#[case::wildcard_without_port("a.wild.example:5000/x", &["a.wild.example:5000/x"])]
#[case::port("ported.example.com:5000/x", &["ported.internal/x", "ported.example.com:5000/x"])]
#[case::other_port("ported.example.com:5001/x", &["ported.example.com:5001/x"])]
#[case::no_port("ported.example.com/x", &["ported.example.com/x"])]
#[case::host_in_capitals("QUAY.io/team/x", &["team.internal/copies/x", "QUAY.io/team/x"])]
#[case::hub("docker.io/a/b:1", &["hub.internal/a/b:1", "docker.io/a/b:1"])]
#[case::hub_by_its_index("index.docker.io/a/b", &["hub.internal/a/b", "docker.io/a/b"])]
#[case::hub_user("a/b:1", &["hub.internal/a/b:1", "docker.io/a/b:1"])]
#[case::hub_official("redis:8", &["official.internal/redis:8", "docker.io/library/redis:8"])]
#[case::hub_official_qualified(
    "docker.io/redis",
    &["official.internal/redis", "docker.io/library/redis"]
)]
fn an_image_is_looked_for(#[case] reference: &str, #[case] expected: &[&str]) {
    assert_eq!(references(&registries(), reference), expected);
}

#[rstest]
#[case::digest("")]
#[case::tag_and_digest(":1")]
fn a_digest_goes_to_the_digest_mirrors(#[case] tag: &str) {
    let suffix = format!("{tag}@{DIGEST}");
    assert_eq!(
        references(&registries(), &format!("registry.example.com/a{suffix}")),
        [
            format!("digests.internal/a/a{suffix}"),
            format!("digests.internal/b/a{suffix}"),
            format!("registry.example.com/a{suffix}"),
        ]
    );
}

#[test]
fn a_candidate_says_what_to_ask_a_keyring_with() {
    let found = registries().candidates("quay.io/team/x:1");
    assert_eq!(
        found[0],
        Candidate {
            repository: "team.internal/copies/x".into(),
            reference: "team.internal/copies/x:1".into(),
            is_mirror: true,
        }
    );
    assert_eq!((found[1].host(), found[1].is_mirror), ("quay.io", false));
}

#[test]
fn rules_of_one_source_are_taken_together_and_the_stricter_policy_holds() {
    let registries = Registries::parse(
        "mirrors:
  - {source: quay.io, mirrors: [a.internal, b.internal]}
  - {source: quay.io, mirrors: [b.internal, quay.io, c.internal], mirrorSourcePolicy: NeverContactSource}
",
    )
    .unwrap();
    assert_eq!(
        references(&registries, "quay.io/x"),
        ["a.internal/x", "b.internal/x", "c.internal/x"]
    );
}

#[test]
fn a_rule_for_tags_does_not_hide_a_wider_one_for_digests() {
    let registries = Registries::parse(
        "mirrors:
  - {source: quay.io/team, mirrors: [tags.internal], pullBy: Tag, mirrorSourcePolicy: NeverContactSource}
  - {source: quay.io, mirrors: [digests.internal], pullBy: Digest}
",
    )
    .unwrap();
    assert_eq!(references(&registries, "quay.io/team/x:1"), ["tags.internal/x:1"]);
    let reference = format!("quay.io/team/x@{DIGEST}");
    assert_eq!(
        references(&registries, &reference),
        [format!("digests.internal/team/x@{DIGEST}"), reference]
    );
}

proptest! {
    #[test]
    fn any_text_is_answered(reference in ".{0,80}") {
        registries().candidates(&reference);
    }

    #[test]
    fn without_rules_a_whole_reference_stays_as_it_is(
        reference in "[a-z]{1,6}\\.[a-z]{2,3}(:[1-9][0-9]{1,3})?(/[a-z]{1,5}){1,3}(:[a-z0-9]{1,6})?(@sha256:[0-9a-f]{64})?",
    ) {
        prop_assume!(!reference.contains("docker.io"));
        prop_assert_eq!(references(&Registries::default(), &reference), [reference]);
    }

    #[test]
    fn tag_and_digest_survive_every_rewrite(
        name in "(quay\\.io|a\\.wild\\.example|docker\\.io)(/[a-z]{1,5}){1,3}",
        suffix in "(:[a-z0-9]{1,6})?(@sha256:[0-9a-f]{64})?",
    ) {
        for candidate in registries().candidates(&format!("{name}{suffix}")) {
            prop_assert_eq!(&candidate.reference, &format!("{}{suffix}", candidate.repository));
        }
    }
}
