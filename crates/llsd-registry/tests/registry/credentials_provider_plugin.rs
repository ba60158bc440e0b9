//! Credential-provider plugins as the kubelet runs them: real processes, a clock of the test's own.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use llsd_registry::credentials::Credential;
use llsd_registry::credentials::provider_plugin::{PluginConfig, PluginFailure, ProviderPlugins};
use rstest::rstest;
use tempfile::TempDir;

const API: &str = "credentialprovider.kubelet.k8s.io/v1";

/// Every plugin counts its runs in the file `$RUNS`. All are written before the first process is
/// started: a file that some child still holds open for writing cannot be executed.
const PLUGINS: [(&str, &str); 11] = [
    ("image", r#"answer Image '"registry.example.com"'"#),
    ("registry", r#"answer Registry '"registry.example.com"'"#),
    ("global", r#"answer Global '"*.example.com"'"#),
    ("no-cache-key", r#"answer Never '"registry.example.com"'"#),
    ("slow", r#"echo $$ > "$RUNS"; exec sleep 60"#),
    ("slow-answer", r#"sleep 0.3; answer Image '"registry.example.com"'"#),
    ("failing", "echo hunter2 >&2; echo hunter2; exit 3"),
    ("endless", "exec yes hunter2"),
    ("garbage", "echo hunter2"),
    ("other-version", r#"API=credentialprovider.kubelet.k8s.io/v1beta1; answer Image '"a.b"'"#),
    (
        "echo",
        r#"[ "$1 $2" = "--region eu" ] && grep -q '"image":"registry.example.com/team/x"' <<< "$request" && USERNAME="$LOGIN" && answer Image '"registry.example.com"'"#,
    ),
];

const PRELUDE: &str = r#"#!/bin/bash
API=credentialprovider.kubelet.k8s.io/v1 USERNAME=robot
request=$(cat)
[ -n "$RUNS" ] && echo run >> "$RUNS"
answer() {
  echo "{\"apiVersion\":\"$API\",\"kind\":\"CredentialProviderResponse\",\"cacheKeyType\":\"$1\",$DURATION\"auth\":{$2:{\"username\":\"$USERNAME\",\"password\":\"hunter2\"}}}"
}
"#;

fn bin_dir() -> &'static Path {
    static DIR: OnceLock<TempDir> = OnceLock::new();
    DIR.get_or_init(|| {
        let dir = TempDir::new().unwrap();
        for (name, body) in PLUGINS {
            let file = dir.path().join(name);
            fs::write(&file, format!("{PRELUDE}{body}\n")).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::write(dir.path().join("not-executable"), "").unwrap();
        dir
    })
    .path()
}

/// One plugin, how often it ran, and a clock to move.
struct PluginSetup {
    plugins: Arc<ProviderPlugins>,
    runs: PathBuf,
    seconds: Arc<AtomicU64>,
    _dir: TempDir,
}

impl PluginSetup {
    fn new(name: &str, default_duration: &str, answered_duration: Option<&str>) -> Self {
        let dir = TempDir::new().unwrap();
        let runs = dir.path().join("runs");
        let answered = answered_duration.map(|text| format!(r#""cacheDuration":"{text}","#));
        let config = serde_json::json!({
            "apiVersion": "kubelet.config.k8s.io/v1", "kind": "CredentialProviderConfig",
            "providers": [{
                "name": name, "apiVersion": API, "matchImages": ["*.example.com"],
                "defaultCacheDuration": default_duration, "args": ["--region", "eu"],
                "env": [
                    {"name": "RUNS", "value": runs}, {"name": "LOGIN", "value": "from-env"},
                    {"name": "DURATION", "value": answered.unwrap_or_default()},
                ],
            }],
        });
        let config = PluginConfig::parse(&config.to_string()).unwrap();
        let (seconds, start) = (Arc::new(AtomicU64::new(0)), Instant::now());
        let clock = Arc::clone(&seconds);
        let plugins = ProviderPlugins::new(config, bin_dir())
            .unwrap()
            .with_clock(move || start + Duration::from_secs(clock.load(Ordering::SeqCst)));
        Self { plugins: Arc::new(plugins), runs, seconds, _dir: dir }
    }

    async fn ask(&self, image: &str) -> usize {
        let lookup = self.plugins.candidates(image).await;
        assert_eq!(lookup.errors, []);
        lookup.credentials.len()
    }

    fn runs(&self) -> usize {
        fs::read_to_string(&self.runs).unwrap_or_default().lines().count()
    }

    fn advance(&self, seconds: u64) {
        self.seconds.fetch_add(seconds, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn the_request_arguments_and_environment_reach_the_plugin() {
    let setup = PluginSetup::new("echo", "0s", None);
    let lookup = setup.plugins.candidates("registry.example.com/team/x").await;
    let expected = Credential::Basic { username: "from-env".into(), password: "hunter2".into() };
    assert_eq!((lookup.credentials, lookup.errors), (vec![expected], vec![]));
}

#[tokio::test]
async fn a_plugin_is_asked_only_for_images_it_matches() {
    let setup = PluginSetup::new("image", "1h", None);
    for image in ["registry.example.org/x", "a.registry.example.com/x", "example.com/x", "redis"] {
        assert_eq!(setup.ask(image).await, 0);
    }
    assert_eq!(setup.runs(), 0);
}

#[tokio::test]
async fn an_answer_serves_only_the_registries_it_names() {
    let setup = PluginSetup::new("registry", "1h", None);
    assert_eq!(setup.ask("other.example.com/x").await, 0);
    assert_eq!(setup.runs(), 1);
}

#[rstest]
#[case::per_image("image", 2, 3)]
#[case::per_registry("registry", 1, 2)]
#[case::for_everything("global", 1, 1)]
#[tokio::test]
async fn answers_are_kept_as_the_plugin_says(
    #[case] plugin: &str,
    #[case] after_a_second_image: usize,
    #[case] after_a_second_registry: usize,
) {
    let setup = PluginSetup::new(plugin, "1h", None);
    for _ in 0..3 {
        assert_eq!(setup.ask("registry.example.com/one").await, 1);
    }
    assert_eq!(setup.runs(), 1);
    setup.ask("registry.example.com/two").await;
    assert_eq!(setup.runs(), after_a_second_image);
    setup.ask("second.example.com/one").await;
    assert_eq!(setup.runs(), after_a_second_registry);
}

#[rstest]
#[case::the_default("60s", None, Some(60))]
#[case::the_answers_own("1h", Some("10s"), Some(10))]
#[case::longer_than_the_default("0s", Some("1m30s"), Some(90))]
#[case::answered_zero("1h", Some("0s"), None)]
#[case::default_zero("0", None, None)]
#[tokio::test]
async fn answers_are_kept_for_as_long_as(
    #[case] default: &str,
    #[case] answered: Option<&str>,
    #[case] fresh_for: Option<u64>,
) {
    let setup = PluginSetup::new("image", default, answered);
    setup.ask("registry.example.com/x").await;
    let Some(seconds) = fresh_for else {
        setup.ask("registry.example.com/x").await;
        assert_eq!(setup.runs(), 2, "nothing is kept");
        return;
    };
    setup.advance(seconds - 1);
    setup.ask("registry.example.com/x").await;
    assert_eq!(setup.runs(), 1, "still fresh");
    setup.advance(1);
    setup.ask("registry.example.com/x").await;
    assert_eq!(setup.runs(), 2, "asked again");
}

#[tokio::test]
async fn concurrent_asks_start_one_process() {
    let setup = PluginSetup::new("slow-answer", "1h", None);
    let asks: Vec<_> = (0..8)
        .map(|_| {
            let plugins = Arc::clone(&setup.plugins);
            tokio::spawn(async move { plugins.candidates("registry.example.com/x").await })
        })
        .collect();
    for ask in asks {
        assert_eq!(ask.await.unwrap().credentials.len(), 1);
    }
    assert_eq!(setup.runs(), 1);
}

#[rstest]
#[case("failing", PluginFailure::Exited(Some(3)))]
#[case("endless", PluginFailure::TooMuchOutput)]
#[case("garbage", PluginFailure::NotAResponse)]
#[case("other-version", PluginFailure::OtherVersion(API.into()))]
#[case("no-cache-key", PluginFailure::NoCacheKeyType)]
#[tokio::test]
async fn a_failure_is_typed_and_repeats_nothing(
    #[case] plugin: &str,
    #[case] failure: PluginFailure,
) {
    let setup = PluginSetup::new(plugin, "1h", None);
    let lookup = setup.plugins.candidates("registry.example.com/x").await;
    assert_eq!(lookup.credentials, []);
    assert_eq!(lookup.errors.len(), 1);
    assert_eq!((lookup.errors[0].provider.as_str(), &lookup.errors[0].failure), (plugin, &failure));
    for text in
        [lookup.errors[0].to_string(), format!("{lookup:?}"), format!("{:?}", setup.plugins)]
    {
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[tokio::test]
async fn a_plugin_that_hangs_is_ended() {
    let setup = PluginSetup::new("slow", "1h", None);
    let limit = Duration::from_secs(3);
    let plugins = Arc::into_inner(setup.plugins).unwrap().with_time_limit(limit);
    let started = Instant::now();
    let lookup = plugins.candidates("registry.example.com/x").await;
    assert_eq!(lookup.errors[0].failure, PluginFailure::TimedOut(limit));
    assert!(started.elapsed() < Duration::from_secs(20));
    let process = fs::read_to_string(&setup.runs).unwrap();
    let process = Path::new("/proc").join(process.trim());
    while process.exists() {
        assert!(started.elapsed() < Duration::from_secs(30), "the process is still there");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_failing_plugin_hides_no_other() {
    let entry = |name: &str| {
        serde_json::json!({"name": name, "apiVersion": API, "matchImages": ["*.example.com"],
            "defaultCacheDuration": "0s"})
    };
    let config = serde_json::json!({
        "apiVersion": "kubelet.config.k8s.io/v1", "kind": "CredentialProviderConfig",
        "providers": [entry("failing"), entry("image")],
    });
    let config = PluginConfig::parse(&config.to_string()).unwrap();
    let plugins = ProviderPlugins::new(config, bin_dir()).unwrap();
    let lookup = plugins.candidates("registry.example.com/x").await;
    assert_eq!((lookup.credentials.len(), lookup.errors.len()), (1, 1));
}

#[rstest]
#[case("missing", "entity not found")]
#[case("not-executable", "is not an executable file")]
fn a_binary_must_be_there(#[case] name: &str, #[case] message: &str) {
    let config = PluginConfig::parse(&format!(
        "{{apiVersion: kubelet.config.k8s.io/v1, kind: CredentialProviderConfig, providers: [\
         {{name: {name}, apiVersion: {API}, matchImages: [a.b], defaultCacheDuration: 0s}}]}}"
    ))
    .unwrap();
    let problems = ProviderPlugins::new(config, bin_dir()).unwrap_err();
    assert_eq!(problems[0].path, "providers[0].name");
    assert!(problems[0].message.ends_with(message), "{}", problems[0].message);
}
