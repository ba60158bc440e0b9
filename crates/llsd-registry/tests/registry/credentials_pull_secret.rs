//! What is read out of a pull Secret, and what is left out with a note.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use llsd_registry::credentials::pull_secret::{PullSecret, Reason};
use llsd_registry::credentials::{Credential, Keyring};
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

fn parsed(document: &Value) -> PullSecret {
    read_bytes(document.to_string().as_bytes())
}

fn read_bytes(document: &[u8]) -> PullSecret {
    PullSecret::from_secret("pull", "kubernetes.io/dockerconfigjson", |key| {
        (key == ".dockerconfigjson").then_some(document)
    })
}

fn entry(entry: &Value) -> PullSecret {
    parsed(&json!({"auths": {"registry.example.com": entry}}))
}

fn credentials(secret: &PullSecret) -> Vec<Credential> {
    secret.entries().iter().map(|(_, credential)| credential.clone()).collect()
}

fn basic(username: &str, password: &str) -> Credential {
    Credential::Basic { username: username.to_owned(), password: password.to_owned() }
}

fn reasons(secret: &PullSecret) -> Vec<Reason> {
    secret.notes().iter().map(|note| note.reason).collect()
}

#[rstest]
#[case::padded(STANDARD.encode("robot:secret!"))]
#[case::unpadded(STANDARD_NO_PAD.encode("robot:secret!"))]
#[case::with_line_breaks("cm9ib3Q6\nc2VjcmV0\r\nIQ==\n".to_owned())]
#[case::with_spare_bits("cm9ib3Q6c2VjcmV0IR==".to_owned())]
#[case::with_trailing_nuls(STANDARD.encode("robot:secret!\0\0"))]
fn auth_is_decoded_as_the_kubelet_does(#[case] auth: String) {
    let secret = entry(&json!({"auth": auth, "email": "robot@example.com"}));
    assert_eq!(credentials(&secret), [basic("robot", "secret!")]);
    assert_eq!(secret.notes(), []);
}

#[test]
fn the_password_begins_after_the_first_colon() {
    let secret = entry(&json!({"auth": STANDARD.encode("robot:a:b:c")}));
    assert_eq!(credentials(&secret), [basic("robot", "a:b:c")]);
}

#[test]
fn auth_wins_over_user_name_and_password() {
    let auth = STANDARD.encode("robot:right");
    let secret = entry(&json!({"auth": auth, "username": "old", "password": "wrong"}));
    assert_eq!(credentials(&secret), [basic("robot", "right")]);
}

#[test]
fn user_name_and_password_stand_alone_and_names_are_read_in_any_case() {
    let secret =
        parsed(&json!({"Auths": {"registry.example.com": {"Username": "u", "passWord": "p"}}}));
    assert_eq!(credentials(&secret), [basic("u", "p")]);
}

#[test]
fn tokens_are_read_and_tried_after_the_password() {
    let secret = entry(&json!({
        "auth": STANDARD.encode("robot:pw"), "identitytoken": "refresh", "registrytoken": "bearer",
    }));
    assert_eq!(
        credentials(&secret),
        [
            basic("robot", "pw"),
            Credential::IdentityToken("refresh".into()),
            Credential::RegistryToken("bearer".into()),
        ]
    );
}

#[test]
fn a_user_name_that_only_accompanies_a_token_is_no_login() {
    let auth = STANDARD.encode("00000000-0000-0000-0000-000000000000:");
    let secret = entry(&json!({"auth": auth, "identitytoken": "refresh"}));
    assert_eq!(credentials(&secret), [Credential::IdentityToken("refresh".into())]);
}

#[test]
fn the_older_kind_has_its_registries_at_the_top() {
    let document = json!({"https://registry.example.com/v1/": {"username": "u", "password": "p"}});
    let bytes = document.to_string();
    let secret = PullSecret::from_secret("old", "kubernetes.io/dockercfg", |key| {
        (key == ".dockercfg").then_some(bytes.as_bytes())
    });
    assert_eq!(credentials(&secret), [basic("u", "p")]);
}

#[test]
fn entries_keep_the_order_of_the_document() {
    let document = r#"{"auths": {"https://z.example.com": {"username": "1"},
        "a.example.com": {"username": "2"}, "z.example.com": {"username": "3"}}}"#;
    let secret = read_bytes(document.as_bytes());
    let order: Vec<&str> = secret.entries().iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(order, ["https://z.example.com", "a.example.com", "z.example.com"]);
    let mut keyring = Keyring::new();
    secret.add_to(&mut keyring);
    assert_eq!(keyring.candidates("z.example.com/x"), [basic("1", ""), basic("3", "")]);
}

#[rstest]
#[case::not_base64(json!({"auth": "%%%"}), Reason::BadAuth)]
#[case::no_colon(json!({"auth": STANDARD.encode("robot")}), Reason::BadAuth)]
#[case::not_text(json!({"auth": STANDARD.encode(b"robot:\xff\xfe")}), Reason::BadAuth)]
#[case::url_alphabet(json!({"auth": "cm9ib3Q6_-8="}), Reason::BadAuth)]
#[case::number(json!({"username": 1, "password": "p"}), Reason::NotAnEntry)]
#[case::list(json!(["robot", "p"]), Reason::NotAnEntry)]
#[case::huge(json!({"identitytoken": "x".repeat(70_000)}), Reason::FieldTooLong)]
fn a_malformed_entry_is_skipped_and_hides_no_other(#[case] bad: Value, #[case] reason: Reason) {
    let secret = parsed(&json!({"auths": {
        "bad.example.com": bad,
        "good.example.com": {"username": "u", "password": "p"},
    }}));
    assert_eq!(credentials(&secret), [basic("u", "p")]);
    assert_eq!(reasons(&secret), [reason]);
    assert_eq!(secret.notes()[0].entry, Some(1));
}

#[test]
fn an_entry_for_no_registry_is_skipped() {
    let long = format!("registry.example.com/{}", "x".repeat(2000));
    let secret = parsed(&json!({"auths": {
        "https://": {"username": "u", "password": "p"}, long: {"username": "u", "password": "p"},
    }}));
    assert_eq!(reasons(&secret), [Reason::BadRegistry, Reason::BadRegistry]);
    assert_eq!(secret.entries().len(), 0);
}

#[rstest]
#[case::nothing(json!({}))]
#[case::no_auths(json!({"auths": null}))]
#[case::empty_entry(json!({"auths": {"registry.example.com": {}}}))]
#[case::null_entry(json!({"auths": {"registry.example.com": null}}))]
fn an_empty_document_is_no_mistake(#[case] document: Value) {
    let secret = parsed(&document);
    assert_eq!((secret.entries().len(), secret.notes().len()), (0, 0));
}

#[test]
fn helpers_are_named_as_ignored_and_the_rest_is_read() {
    let secret = parsed(&json!({
        "credsStore": "touch", "credHelpers": {"registry.example.com": "touch"},
        "auths": {"registry.example.com": {"username": "u", "password": "p"}},
    }));
    assert_eq!(reasons(&secret), [Reason::Helper]);
    assert_eq!(credentials(&secret), [basic("u", "p")]);
}

#[rstest]
#[case::missing(b"".to_vec(), Reason::Missing)]
#[case::not_json(b"auths: {}".to_vec(), Reason::NotJson)]
#[case::list(b"[]".to_vec(), Reason::NotJson)]
#[case::auths_is_a_list(br#"{"auths": []}"#.to_vec(), Reason::NotJson)]
#[case::too_deep([b"{\"a\":".repeat(5000), b"1".to_vec()].concat(), Reason::NotJson)]
#[case::too_large(vec![b' '; 1024 * 1024 + 1], Reason::TooLarge)]
fn a_document_that_cannot_be_read_is_a_note(#[case] document: Vec<u8>, #[case] reason: Reason) {
    assert_eq!(reasons(&read_bytes(&document)), [reason]);
}

#[test]
fn entries_are_bounded() {
    let auths: serde_json::Map<String, Value> =
        (0..1500).map(|n| (format!("r{n}.example.com"), json!({"username": "u"}))).collect();
    let secret = parsed(&json!({"auths": auths}));
    assert_eq!(secret.entries().len(), 1000);
    assert_eq!(reasons(&secret), [Reason::TooManyEntries]);
}

#[test]
fn a_secret_of_another_type_is_not_looked_into() {
    let secret =
        PullSecret::from_secret("app", "Opaque", |_| panic!("its data is nobody's business"));
    assert_eq!(
        secret.notes()[0].to_string(),
        "Secret app: the Secret's type is neither \
         kubernetes.io/dockerconfigjson nor kubernetes.io/dockercfg"
    );
}

#[test]
fn a_users_own_docker_config_is_read_the_same_way() {
    let document = json!({"auths": {"registry.example.com": {"auth": "%%%"}}}).to_string();
    let config = PullSecret::docker_config("config.json", document.as_bytes());
    assert_eq!(
        config.notes()[0].to_string(),
        "config.json, entry 1: `auth` is not base64 of user:password"
    );
}

#[test]
fn a_note_names_secret_key_and_entry() {
    let secret = entry(&json!({"auth": "%%%"}));
    assert_eq!(
        secret.notes()[0].to_string(),
        "Secret pull, key .dockerconfigjson, entry 1: `auth` is not base64 of user:password"
    );
}

proptest! {
    #[test]
    fn any_bytes_are_read(document in prop::collection::vec(any::<u8>(), 0..200)) {
        read_bytes(&document);
    }

    #[test]
    fn every_login_survives_its_encoding(
        username in "[^:\0]{0,20}", password in "[^\0]{1,40}", padded in any::<bool>(),
    ) {
        let login = format!("{username}:{password}");
        let auth = if padded { STANDARD.encode(login) } else { STANDARD_NO_PAD.encode(login) };
        let secret = entry(&json!({"auth": auth}));
        prop_assert_eq!(credentials(&secret), [basic(&username, &password)]);
    }
}
