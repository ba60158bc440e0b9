//! The kubelet's CredentialProviderConfig: what is accepted, and every mistake at once.

use std::fs;

use llsd_registry::credentials::provider_plugin::PluginConfig;
use llsd_registry::settings::ConfigProblem;
use rstest::rstest;
use tempfile::TempDir;

fn file(version: &str, providers: &str) -> String {
    format!(
        "apiVersion: kubelet.config.k8s.io/{version}\nkind: CredentialProviderConfig\n\
         providers:\n{providers}"
    )
}

fn provider(name: &str) -> String {
    format!(
        "- name: {name}\n  apiVersion: credentialprovider.kubelet.k8s.io/v1\n  \
         matchImages: ['*.dkr.ecr.*.amazonaws.com', 'registry.example.com:8080/team']\n  \
         defaultCacheDuration: 12h\n"
    )
}

fn lines(problems: &[ConfigProblem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

fn names(config: &PluginConfig) -> Vec<&str> {
    config.providers.iter().map(|provider| provider.name.as_str()).collect()
}

#[rstest]
fn each_version_of_the_file_is_read(#[values("v1", "v1beta1", "v1alpha1")] version: &str) {
    let config = PluginConfig::parse(&file(version, &provider("ecr"))).unwrap();
    assert_eq!(names(&config), ["ecr"]);
    assert_eq!(config.warnings, []);
}

#[test]
fn json_is_read_too() {
    let text = r#"{"apiVersion": "kubelet.config.k8s.io/v1", "kind": "CredentialProviderConfig",
        "providers": [{"name": "ecr", "apiVersion": "credentialprovider.kubelet.k8s.io/v1beta1",
        "matchImages": ["*.example.com"], "defaultCacheDuration": "1h30m", "args": ["get"],
        "env": [{"name": "AWS_PROFILE", "value": "nodes"}]}]}"#;
    assert_eq!(names(&PluginConfig::parse(text).unwrap()), ["ecr"]);
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let text = file(
        "v2",
        "- name: ../ecr\n  apiVersion: v1\n  matchImages: ['a b']\n  defaultCacheDuration: soon\n  \
         argz: []\n- matchImages: []\n  env: [{name: 'A=B'}, 7]\n  args: text\n",
    );
    assert_eq!(
        lines(&PluginConfig::parse(&text).unwrap_err()),
        [
            "apiVersion: must be one of kubelet.config.k8s.io/v1, kubelet.config.k8s.io/v1beta1, \
             kubelet.config.k8s.io/v1alpha1",
            "providers[0].argz: unknown field; known are name, matchImages, defaultCacheDuration, \
             apiVersion, args, env, tokenAttributes",
            "providers[0].name: must be the name of a file, without a slash or a space",
            "providers[0].apiVersion: must be one of credentialprovider.kubelet.k8s.io/v1, \
             credentialprovider.kubelet.k8s.io/v1beta1, credentialprovider.kubelet.k8s.io/v1alpha1",
            "providers[0].matchImages[0]: must be host[:port][/path], `*` allowed in the host",
            "providers[0].defaultCacheDuration: must be a duration such as 12h or 0s",
            "providers[1].name: is required",
            "providers[1].name: must be the name of a file, without a slash or a space",
            "providers[1].apiVersion: is required",
            "providers[1].matchImages: at least one is required",
            "providers[1].defaultCacheDuration: is required",
            "providers[1].args: must be a list",
            "providers[1].env[0].name: must be the name of a variable",
            "providers[1].env[1]: must be an object",
        ]
    );
}

#[rstest]
#[case("12h", true)]
#[case("1h30m", true)]
#[case("1.5s", true)]
#[case("100ms", true)]
#[case("'0'", true)]
#[case("-5m", false)]
#[case("12", false)]
#[case("''", false)]
#[case("h", false)]
#[case("1d", false)]
#[case("99999999999999999999999h", false)]
fn durations_are_those_of_kubernetes(#[case] duration: &str, #[case] accepted: bool) {
    let text = file("v1", &provider("ecr").replace("12h", duration));
    assert_eq!(PluginConfig::parse(&text).is_ok(), accepted, "{duration}");
}

#[test]
fn a_provider_that_needs_a_service_account_token_is_refused() {
    let required = "  tokenAttributes:\n    serviceAccountTokenAudience: registry\n    \
                    cacheType: ServiceAccount\n    requireServiceAccount: true\n";
    let text = file("v1", &(provider("cloud") + required));
    let problems = PluginConfig::parse(&text).unwrap_err();
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].path, "providers[0].tokenAttributes");
    assert!(problems[0].message.contains("which the operator does not have"));

    let optional = text.replace("requireServiceAccount: true", "requireServiceAccount: false");
    let config = PluginConfig::parse(&optional).unwrap();
    assert_eq!(
        lines(&config.warnings),
        [
            "providers[0].tokenAttributes: the operator asks this provider without a service account \
          token"
        ]
    );

    let annotated = format!("{optional}    requiredServiceAccountAnnotationKeys: [a/b]\n");
    assert_eq!(PluginConfig::parse(&annotated).unwrap_err().len(), 1);
}

#[test]
fn a_folder_is_read_in_the_order_of_its_file_names() {
    let dir = TempDir::new().unwrap();
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    write("20-b.yaml", &file("v1", &provider("second")));
    write("10-a.yml", &file("v1", &provider("first")));
    write("README", "not a configuration");
    assert_eq!(names(&PluginConfig::load(dir.path()).unwrap()), ["first", "second"]);
    assert_eq!(names(&PluginConfig::load(&dir.path().join("20-b.yaml")).unwrap()), ["second"]);

    write("30-c.json", &file("v1", &provider("first")));
    let problems = PluginConfig::load(dir.path()).unwrap_err();
    assert_eq!(lines(&problems), ["providers[0].name: another provider has this name"]);
    let missing = PluginConfig::load(&dir.path().join("missing")).unwrap_err();
    assert_eq!(missing[0].message, "entity not found");
}

#[rstest]
#[case::not_yaml("a: [", "not one valid YAML document")]
#[case::several("a: 1\n---\nb: 2\n", "not one valid YAML document")]
#[case::scalar("text", "must be an object")]
#[case::no_providers(
    "apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders: []",
    "providers: at least one provider is required"
)]
fn a_document_that_is_none_is_refused(#[case] text: &str, #[case] message: &str) {
    let problems = PluginConfig::parse(text).unwrap_err();
    assert_eq!(problems.len(), 1);
    assert!(problems[0].to_string().starts_with(message), "{}", problems[0]);
}

#[test]
fn hostile_documents_are_bounded() {
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n\
                c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n\
                e: [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n";
    for text in [bomb.to_owned(), "[".repeat(200_000), "#".repeat(2_000_000)] {
        let started = std::time::Instant::now();
        assert_eq!(PluginConfig::parse(&text).unwrap_err().len(), 1);
        assert!(started.elapsed().as_secs() < 20);
    }
}
