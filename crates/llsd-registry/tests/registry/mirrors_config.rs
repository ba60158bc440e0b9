//! The operator's `registries` document: what it says, and every mistake at once.

use llsd_registry::mirrors::Registries;
use rstest::rstest;

/// Only its outer form is looked at: PEM around one DER sequence.
const PEM: &str = "-----BEGIN CERTIFICATE-----\n    MAMCAQE=\n    -----END CERTIFICATE-----";

fn problems(text: &str) -> Vec<String> {
    Registries::parse(text).unwrap_err().iter().map(ToString::to_string).collect()
}

#[rstest]
#[case("")]
#[case("# nothing yet\n")]
#[case("{}")]
#[case("mirrors:\nprivateHosts: []\n")]
fn an_empty_document_is_the_default(#[case] text: &str) {
    assert_eq!(Registries::parse(text).unwrap(), Registries::default());
}

#[test]
fn hosts_are_asked_for_with_their_port() {
    let registries = Registries::parse(&format!(
        "mirrors: [{{source: quay.io, mirrors: ['Mirror.internal:5000/quay']}}]
certificateAuthorities:
  mirror.internal:5000: |
    {PEM}
  '*.internal': |
    {PEM}
insecureHosts: ['registry.lab:5000', '[::1]:5000']
privateHosts: ['*.lab', 10.0.0.7]
"
    ))
    .unwrap();
    assert_eq!(registries.certificate_authorities("mirror.internal:5000").len(), 1);
    assert_eq!(registries.certificate_authorities("mirror.internal").len(), 1);
    assert_eq!(registries.certificate_authorities("quay.io").len(), 0);
    assert!(registries.certificate_authorities("a.b.internal")[0].contains("BEGIN CERTIFICATE"));
    for (host, insecure, private) in [
        ("registry.lab:5000", true, false),
        ("REGISTRY.lab:5000", true, false),
        ("registry.lab", false, true),
        ("[::1]:5000", true, false),
        ("10.0.0.7", false, true),
        ("10.0.0.7:443", false, false),
        ("mirror.internal:5000", false, true),
        ("quay.io", false, false),
    ] {
        assert_eq!(registries.is_insecure(host), insecure, "insecure: {host}");
        assert_eq!(registries.may_be_private(host), private, "private: {host}");
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let text = "
mirrors:
  - {source: 'https://quay.io', mirrors: ['a.internal:tag', '*.internal', 7], mirrorSourcePolicy: Sometimes}
  - {source: '*.example.com/team', mirrors: [a.internal/Upper], pullBy: Name}
  - {mirrors: [a.internal], mirror: b.internal}
  - {source: quay.io/a:1}
  - {source: quay.io}
  - quay.io
certificateAuthorities: {'bad host': none, good.internal: 1}
insecureHosts: registry.lab
privateHosts: ['*lab', '', '-a.lab', 'a.lab:70000']
unsafe: true
";
    assert_eq!(
        problems(text),
        [
            "unsafe: unknown field; known are mirrors, certificateAuthorities, insecureHosts, \
             privateHosts",
            "mirrors[0].source: must be host[:port], or *.domain[:port] for every host below it",
            "mirrors[0].mirrors[2]: must be a string",
            "mirrors[0].mirrors[0]: must be host[:port], or *.domain[:port] for every host below it",
            "mirrors[0].mirrors[1]: a mirror takes no wildcard",
            "mirrors[0].mirrorSourcePolicy: must be AllowContactingSource or NeverContactSource",
            "mirrors[1].pullBy: must be Any, Digest or Tag",
            "mirrors[1].source: a wildcard stands for whole hosts and takes no path",
            "mirrors[1].mirrors[0]: the path must be repository components, without a tag or digest",
            "mirrors[2].mirror: unknown field; known are source, mirrors, mirrorSourcePolicy, pullBy",
            "mirrors[2].source: is required",
            "mirrors[3].source: the path must be repository components, without a tag or digest",
            "mirrors[4].mirrors: at least one mirror is required, or NeverContactSource to block \
             the source",
            "mirrors[5]: must be an object",
            "certificateAuthorities[\"bad host\"]: must be host[:port], or *.domain[:port] for \
             every host below it",
            "certificateAuthorities[\"bad host\"]: holds no PEM certificate",
            "certificateAuthorities[\"good.internal\"]: must be a string",
            "insecureHosts: must be a list",
            "privateHosts[0]: must be host[:port], or *.domain[:port] for every host below it",
            "privateHosts[1]: must be host[:port], or *.domain[:port] for every host below it",
            "privateHosts[2]: must be host[:port], or *.domain[:port] for every host below it",
            "privateHosts[3]: must be host[:port], or *.domain[:port] for every host below it",
        ]
    );
}

#[rstest]
#[case::nothing("none", "holds no PEM certificate")]
#[case::not_closed("-----BEGIN CERTIFICATE-----\nMAMCAQE=", "a CERTIFICATE block is not closed")]
#[case::not_base64(
    "-----BEGIN CERTIFICATE-----\n%%\n-----END CERTIFICATE-----",
    "a certificate is not base64 of DER"
)]
#[case::not_der(
    "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----",
    "a certificate is not base64 of DER"
)]
#[case::request(
    "-----BEGIN CERTIFICATE REQUEST-----\nMAMCAQE=\n-----END CERTIFICATE REQUEST-----",
    "only CERTIFICATE blocks are allowed"
)]
#[case::key(
    "-----BEGIN RSA PRIVATE KEY-----\nMAMCAQE=\n-----END RSA PRIVATE KEY-----",
    "holds a private key; only certificates belong here"
)]
fn authorities_are_looked_at_when_read(#[case] pem: &str, #[case] message: &str) {
    let text = serde_json::json!({"certificateAuthorities": {"a.internal": pem}}).to_string();
    assert_eq!(problems(&text), [format!("certificateAuthorities[\"a.internal\"]: {message}")]);
}

#[test]
fn text_around_certificates_is_a_comment() {
    let pem = format!("# our own root\n{PEM}\n\nsubject: second\n{PEM}\n");
    let text = serde_json::json!({"certificateAuthorities": {"a.internal": pem}}).to_string();
    assert!(Registries::parse(&text).is_ok());
}
