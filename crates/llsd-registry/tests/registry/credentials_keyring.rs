//! The kubelet's rules for which pull credential an image gets, as tables.

use llsd_registry::credentials::{Credential, Keyring};
use proptest::prelude::*;
use rstest::rstest;

fn credential(name: &str) -> Credential {
    Credential::Basic { username: name.to_owned(), password: format!("password of {name}") }
}

/// A keyring whose credentials are named after the key they were added under.
fn keyring(keys: &[&str]) -> Keyring {
    let mut keyring = Keyring::new();
    for key in keys {
        assert!(keyring.add(key, credential(key)), "{key} is refused");
    }
    keyring
}

fn names(found: Vec<Credential>) -> Vec<String> {
    let name = |credential| match credential {
        Credential::Basic { username, .. } => username,
        Credential::IdentityToken(token) | Credential::RegistryToken(token) => token,
    };
    found.into_iter().map(name).collect()
}

#[rstest]
// The host alone, however it is written.
#[case("registry.example.com", "registry.example.com/team/server")]
#[case("https://registry.example.com", "registry.example.com/team/server")]
#[case("http://registry.example.com/", "registry.example.com/team/server")]
#[case("https://registry.example.com/v1/", "registry.example.com/team/server")]
#[case("registry.example.com/v2/", "registry.example.com/team/server")]
#[case("registry.example.com:5000", "registry.example.com:5000/server")]
#[case("https://user@registry.example.com/?service=x", "registry.example.com/server")]
#[case("[::1]:5000", "[::1]:5000/server")]
// A path is a plain prefix, not one of whole components.
#[case("registry.example.com/team", "registry.example.com/team/server")]
#[case("registry.example.com/team", "registry.example.com/team-two/server")]
#[case("https://registry.example.com/v2/team", "registry.example.com/team/server")]
// A star stands for any run within one label of the host.
#[case("*.example.com", "registry.example.com/server")]
#[case("registry.*.com", "registry.example.com/server")]
#[case("registry.example.*", "registry.example.com/server")]
#[case("*-eu.example.com", "registry-eu.example.com/server")]
#[case("r*st*y.example.com", "registry.example.com/server")]
#[case("*.*.example.com", "a.b.example.com/server")]
#[case("https://*.example.com:8443/team", "registry.example.com:8443/team/server")]
#[case("*.dkr.ecr.*.amazonaws.com", "1234.dkr.ecr.eu-west-1.amazonaws.com/server")]
fn a_key_serves_an_image(#[case] key: &str, #[case] image: &str) {
    assert_eq!(names(keyring(&[key]).candidates(image)), [key]);
}

#[rstest]
#[case::other_host("registry.example.com", "registry.example.org/server")]
#[case::host_as_prefix("registry.example.co", "registry.example.com/server")]
#[case::port_missing_in_key("registry.example.com", "registry.example.com:5000/server")]
#[case::port_missing_in_image("registry.example.com:5000", "registry.example.com/server")]
#[case::other_port("*.example.com:5000", "registry.example.com:5001/server")]
#[case::star_is_one_label("*.example.com", "a.b.example.com/server")]
#[case::star_is_not_nothing("*.example.com", "example.com/server")]
#[case::star_matches_its_rest("r*x.example.com", "registry.example.com/server")]
#[case::other_path("registry.example.com/team", "registry.example.com/other/server")]
#[case::no_glob_in_paths("registry.example.com/*/server", "registry.example.com/team/server")]
#[case::v1_without_slash_is_a_path("registry.example.com/v1", "registry.example.com/server")]
#[case::hosts_are_compared_as_written("Registry.example.com", "registry.example.com/server")]
#[case::hub_for_another_host("https://index.docker.io/v1/", "registry.example.com/server")]
#[case::hub_for_a_port("https://index.docker.io/v1/", "registry:5000/server")]
#[case::hub_lookalike("https://index.docker.io/v1/", "mydocker.io/server/x")]
#[case::hub_never_for_localhost("https://index.docker.io/v1/", "localhost/server")]
#[case::hub_path_is_not_an_alias("index.docker.io/team", "docker.io/team/server")]
#[case::empty_image("registry.example.com", "")]
fn a_key_does_not_serve_an_image(#[case] key: &str, #[case] image: &str) {
    assert_eq!(names(keyring(&[key]).candidates(image)), [""; 0]);
}

#[rstest]
#[case("https://index.docker.io/v1/")]
#[case("index.docker.io")]
#[case("docker.io")]
#[case("registry-1.docker.io")]
fn docker_hub_goes_by_several_names(
    #[case] key: &str,
    #[values(
        "docker.io/library/redis",
        "index.docker.io/library/redis",
        "registry-1.docker.io/library/redis",
        "library/redis",
        "redis"
    )]
    image: &str,
) {
    assert_eq!(names(keyring(&[key]).candidates(image)), [key]);
}

#[test]
fn a_key_that_matches_the_image_itself_comes_instead_of_the_hubs_other_names() {
    let keyring = keyring(&["https://index.docker.io/v1/", "docker.io"]);
    assert_eq!(names(keyring.candidates("docker.io/library/redis")), ["docker.io"]);
}

#[test]
fn the_most_specific_key_is_tried_first_and_the_others_after_it() {
    let keyring = keyring(&[
        "*.example.com",
        "registry.example.com",
        "registry.example.com/team/server",
        "registry.*.com",
        "registry.example.com/team",
        "registry.example.org/team",
    ]);
    assert_eq!(
        names(keyring.candidates("registry.example.com/team/server")),
        [
            "registry.example.com/team/server",
            "registry.example.com/team",
            "registry.example.com",
            "registry.*.com",
            "*.example.com",
        ]
    );
}

#[test]
fn credentials_under_one_key_keep_the_order_of_their_secrets() {
    let mut keyring = Keyring::new();
    for (key, name) in [
        ("https://registry.example.com/v2/", "pod's first secret"),
        ("registry.example.com", "pod's second secret"),
        ("http://registry.example.com", "service account's secret"),
    ] {
        keyring.add(key, credential(name));
    }
    assert_eq!(
        names(keyring.candidates("registry.example.com/server")),
        ["pod's first secret", "pod's second secret", "service account's secret"]
    );
}

#[test]
fn the_same_credential_is_tried_once() {
    let mut keyring = Keyring::new();
    keyring.add("registry.example.com", credential("robot"));
    keyring.add("registry.example.com/team", credential("robot"));
    assert_eq!(names(keyring.candidates("registry.example.com/team/server")), ["robot"]);
}

#[rstest]
#[case("")]
#[case("https://")]
#[case("/team")]
#[case("registry.example.com:port")]
#[case("a:b:5000")]
#[case("reg istry.example.com")]
#[case("[::1")]
#[case("[nonsense]:5000")]
#[case("reg[0-9].example.com")]
#[case("registry.example.com/%2e")]
fn a_key_that_is_no_registry_is_refused(#[case] key: &str) {
    let mut keyring = Keyring::new();
    assert!(!keyring.add(key, credential("nobody")));
    assert!(keyring.is_empty());
}

proptest! {
    #[test]
    fn any_key_and_image_are_answered(keys in prop::collection::vec(".{0,40}", 0..8), image in ".{0,60}") {
        let mut keyring = Keyring::new();
        let added = keys.iter().filter(|key| keyring.add(key, credential(key))).count();
        prop_assert!(keyring.candidates(&image).len() <= added);
    }

    #[test]
    fn a_host_serves_everything_below_it_and_nothing_beside(
        host in "[a-z]{1,8}\\.[a-z]{2,4}", other in "[a-z]{1,8}\\.[a-z]{2,4}",
        port in prop::option::of(1u16..), path in "[a-z]{1,5}(/[a-z]{1,5}){0,3}",
    ) {
        prop_assume!(host != other && !host.ends_with("docker.io") && !other.ends_with("docker.io"));
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        let keyring = keyring(&[&format!("{host}{port}")]);
        prop_assert_eq!(keyring.candidates(&format!("{host}{port}/{path}")).len(), 1);
        prop_assert_eq!(keyring.candidates(&format!("{other}{port}/{path}")).len(), 0);
    }

    #[test]
    fn the_order_of_different_keys_does_not_depend_on_the_order_of_secrets(
        mut keys in prop::collection::hash_set("(r|\\*|a)\\.example\\.com(/[ab]{1,2}){0,2}", 0..8),
        image in "(r|a)\\.example\\.com(/[ab]{1,2}){1,3}",
    ) {
        let forward: Vec<String> = keys.drain().collect();
        let forward: Vec<&str> = forward.iter().map(String::as_str).collect();
        let backward: Vec<&str> = forward.iter().rev().copied().collect();
        let found = names(keyring(&forward).candidates(&image));
        prop_assert_eq!(&found, &names(keyring(&backward).candidates(&image)));
        let mut sorted = found.clone();
        sorted.sort_by(|a, b| b.cmp(a));
        prop_assert_eq!(found, sorted);
    }
}
