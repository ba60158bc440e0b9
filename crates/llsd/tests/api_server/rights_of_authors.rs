//! What an author of a resource must be allowed to do themselves, on a real API server: fields that make of the
//! server's pod another pod require permission to create pods, and Secrets are named by users who can read them.

use std::path::{Path, PathBuf};

use llsd_api::v1alpha2::PROVIDER_APIS;
use llsd_cases::secret_fields::secret_fields;
use llsd_install::files;
use llsd_testbed::access::{eventually, may};
use llsd_testbed::cluster::install as install_definition;
use llsd_testbed::install::{apply, file, install};
use llsd_testkit::{ControlPlane, Kubectl, SharedControlPlane};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

static CLUSTER: SharedControlPlane = SharedControlPlane::new(ControlPlane::builder);
static INSTALLED: OnceCell<()> = OnceCell::const_new();

/// A namespace, and who writes resources in it.
struct Team<'a> {
    cluster: &'a ControlPlane,
    namespace: String,
}

impl Team<'static> {
    async fn new() -> Option<Self> {
        let cluster = CLUSTER.get_or_skip().await?;
        INSTALLED.get_or_init(|| install_definition(cluster)).await;
        Some(Team::within(cluster).await)
    }
}

impl<'a> Team<'a> {
    async fn within(cluster: &'a ControlPlane) -> Self {
        Self { cluster, namespace: cluster.namespace("team").await.unwrap() }
    }

    /// A user who may write resources, and these things as well.
    async fn author(&self, name: &str, more: &[(&str, &str)]) -> PathBuf {
        let name = format!("{name}-of-{}", self.namespace);
        let rights = [("*", "llamastackdistributions.llamastack.io")];
        for (number, (verb, resource)) in rights.iter().chain(more).enumerate() {
            let (role, to) = (format!("{name}-{number}"), format!("--user={name}"));
            let [verb, resource] = [format!("--verb={verb}"), format!("--resource={resource}")];
            self.admin(&["create", "role", &role, &verb, &resource], None).await.expect_success();
            let role_flag = format!("--role={role}");
            let args = ["create", "rolebinding", &role, &role_flag, &to];
            self.admin(&args, None).await.expect_success();
        }
        let client = self.cluster.client_for(&name, &[]);
        let (verb, resource) = more.last().unwrap_or(&("create", "llamastackdistributions"));
        let group = if more.is_empty() { "llamastack.io" } else { "" };
        eventually("the roles are at work", async || {
            may(&client, verb, (group, resource), &self.namespace, "").await
        })
        .await;
        self.cluster.kubeconfig_for(&name, &[])
    }

    async fn admin(&self, args: &[&str], stdin: Option<&str>) -> Kubectl {
        self.run(self.cluster.kubeconfig_path(), args, stdin).await
    }

    async fn run(&self, user: &Path, args: &[&str], stdin: Option<&str>) -> Kubectl {
        let args: Vec<&str> =
            ["-n", &self.namespace].into_iter().chain(args.iter().copied()).collect();
        self.cluster.kubectl_as(user, &args, stdin).await.unwrap()
    }

    async fn apply(&self, user: &Path, name: &str, more: &Value) -> Kubectl {
        let mut spec = json!({"distribution": {"name": "starter"}});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let resource = json!({
            "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
            "metadata": {"name": name}, "spec": spec,
        });
        self.run(user, &["apply", "-f", "-"], Some(&resource.to_string())).await
    }
}

fn overrides(of: &Value) -> Value {
    json!({"workload": {"overrides": of}})
}

/// Every way to make of the server's pod another one: a name for the resource, its spec, and the field.
fn like_pods() -> Vec<(&'static str, Value, &'static str)> {
    let probe = json!({"liveness": {"exec": {"command": ["sh"]}}});
    let token = json!({"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}});
    let mut volume = json!({"name": "v"});
    volume.as_object_mut().unwrap().extend(token.as_object().unwrap().clone());
    let annotations = json!({"k8s.v1.cni.cncf.io/networks": "theirs"});
    let fields = [
        ("account", json!({"serviceAccountName": "admin"}), "overrides.serviceAccountName"),
        ("command", json!({"command": ["sh"]}), "overrides.command"),
        ("args", json!({"args": ["-c"]}), "overrides.args"),
        ("probes", json!({"probes": probe}), "overrides.probes"),
        ("volumes", json!({"volumes": [volume]}), "overrides.volumes"),
        ("labels", json!({"podLabels": {"a": "b"}}), "overrides.podLabels"),
        ("annotations", json!({"podAnnotations": annotations}), "overrides.podAnnotations"),
        ("context", json!({"securityContext": {"runAsUser": 0}}), "overrides.securityContext"),
    ];
    let claim = json!({"workload": {"storage": {"existingClaim": "theirs"}}});
    let fields = fields.map(|(name, used, field)| (name, overrides(&used), field));
    fields.into_iter().chain([("claim", claim, "storage.existingClaim")]).collect()
}

#[tokio::test]
async fn what_makes_another_pod_of_the_servers_is_for_those_who_may_create_pods() {
    let Some(team) = Team::new().await else { return };
    let author = team.author("author", &[]).await;
    let trusted = team.author("trusted", &[("create", "pods")]).await;
    for (name, used, field) in like_pods() {
        let refused = team.apply(&author, name, &used).await;
        let says = format!("spec.workload: {field}: requires permission to create pods");
        assert!(!refused.success() && refused.stderr.contains(&says), "{}", refused.stderr);
        team.apply(&trusted, name, &used).await.expect_success();
    }
    let env = json!([{"name": "A", "value": "1"}]);
    let harmless = overrides(&json!({"env": env, "podLabels": {}, "probes": {}}));
    team.apply(&author, "harmless", &harmless).await.expect_success();
}

/// As a pipeline that scales a server, or a user who removes an override.
#[tokio::test]
async fn only_what_is_added_or_changed_takes_the_right() {
    let Some(team) = Team::new().await else { return };
    let author = team.author("author", &[]).await;
    let admin = team.cluster.kubeconfig_path();
    let mut used = overrides(&json!({"command": ["sh"], "podLabels": {"a": "b"}}));
    team.apply(admin, "server", &used).await.expect_success();
    used["workload"]["replicas"] = json!(2);
    team.apply(&author, "server", &used).await.expect_success();
    used["workload"]["overrides"]["command"] = json!(["bash"]);
    let refused = team.apply(&author, "server", &used).await;
    assert!(
        refused.stderr.contains("spec.workload: overrides.command: requires permission"),
        "{}",
        refused.stderr
    );
    used["workload"]["overrides"].as_object_mut().unwrap().remove("command");
    team.apply(&author, "server", &used).await.expect_success();
}

/// Every way to name a Secret.
fn naming() -> Vec<(&'static str, Value)> {
    let key = json!({"name": "theirs", "key": "k"});
    let nested = json!({"secretKeyRef": key});
    let vllm = |more: Value| {
        let mut provider = json!({"provider": "remote::vllm"});
        provider.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"providers": {"inference": provider}})
    };
    let mut list = vllm(json!({"id": "a", "secretRefs": {"api_token": key}}));
    list["providers"]["inference"] = json!([list["providers"]["inference"]]);
    let oidc = json!({
        "issuer": "https://i.example.com",
        "introspection": {"url": "https://i.example.com/a", "clientId": "c", "clientSecret": key},
    });
    let image = json!({"providerId": "p", "image": "i", "secretRefs": {"token": key}});
    vec![
        ("api-key", vllm(json!({"apiKey": nested}))),
        ("host", vllm(json!({"host": key}))),
        ("refs", list),
        ("external", json!({"externalProviders": {"inference": [image]}})),
        (
            "redis",
            json!({"storage": {"kv": {"type": "redis", "endpoint": "redis://r:6379", "password": key}}}),
        ),
        ("postgres", json!({"storage": {"sql": {"type": "postgres", "connectionString": key}}})),
        ("tls", json!({"networking": {"tls": {"enabled": true, "secretName": "theirs"}}})),
        ("expose", json!({"networking": {"expose": {"tlsSecretName": "theirs"}}})),
        ("keys", json!({"access": {"authentication": {"apiKeys": [key]}}})),
        ("oidc", json!({"access": {"authentication": {"oidc": oidc}}})),
        ("env", overrides(&json!({"env": [{"name": "A", "valueFrom": nested}]}))),
        ("env-from", overrides(&json!({"envFrom": [{"secretRef": {"name": "theirs"}}]}))),
        ("pull", overrides(&json!({"imagePullSecrets": [{"name": "theirs"}]}))),
    ]
}

const NAMES_SECRETS: &str = "spec: names Secrets, but you do not have permission to read Secrets";

/// Whether a spec has a value at a path of the schema.
fn has(value: &Value, path: &[Option<String>]) -> bool {
    let Some((step, rest)) = path.split_first() else { return true };
    match (step, value) {
        (Some(field), _) => value.get(field).is_some_and(|below| has(below, rest)),
        (None, Value::Array(items)) => items.iter().any(|item| has(item, rest)),
        (None, Value::Object(fields)) => {
            has(value, rest) || fields.values().any(|below| has(below, rest))
        }
        _ => false,
    }
}

/// The APIs are alike, and volumes are for users who can create pods.
#[test]
fn every_field_that_names_a_secret_is_tried() {
    let skipped = |field: &str| {
        field == "volumes" || (field != "inference" && PROVIDER_APIS.contains(&field))
    };
    let fields = secret_fields("theirs");
    let mut fields: Vec<_> = fields.iter().map(|field| &field.path).collect();
    fields.retain(|path| !path.iter().flatten().any(|field| skipped(field)));
    assert!(fields.len() >= naming().len(), "{fields:?}");
    for path in fields {
        assert!(naming().iter().any(|(_, used)| has(used, path)), "{path:?}");
    }
}

#[tokio::test]
async fn who_names_secrets_without_the_right_to_them_is_warned_once_for_the_resource() {
    let Some(team) = Team::new().await else { return };
    let author = team.author("author", &[]).await;
    let reader = team.author("reader", &[("get", "secrets")]).await;
    let trusted = team.author("trusted", &[("create", "pods")]).await;
    for (name, used) in naming() {
        let warned = team.apply(&author, name, &used).await;
        assert!(warned.success(), "{name}: {}", warned.stderr);
        assert_eq!(warned.stderr.matches(NAMES_SECRETS).count(), 1, "{name}: {}", warned.stderr);
        for (user, suffix) in [(&reader, "r"), (&trusted, "t")] {
            let silent = team.apply(user, &format!("{name}-{suffix}"), &used).await;
            let says = silent.stderr.contains(NAMES_SECRETS);
            assert!(silent.success() && !says, "{name}: {}", silent.stderr);
        }
    }
    // An edit elsewhere says nothing, and neither does a resource that names none.
    let mut used = naming()[0].1.clone();
    used["workload"] = json!({"replicas": 2});
    let silent = team.apply(&author, "api-key", &used).await;
    assert!(silent.success() && !silent.stderr.contains(NAMES_SECRETS), "{}", silent.stderr);
    let silent = team.apply(&author, "none", &json!({"networking": {"expose": true}})).await;
    assert!(silent.success() && !silent.stderr.contains(NAMES_SECRETS), "{}", silent.stderr);
}

/// Secrets that a privileged user named, in fields of each form: alone, in lists and in maps.
fn named_before() -> Value {
    let key = |key: &str| json!({"name": "theirs", "key": key});
    let provider = |id: &str| {
        let refs = json!({"one": key("one"), "two": {"secretKeyRef": key("two")}});
        json!({"id": id, "provider": "remote::vllm", "apiKey": key(id), "secretRefs": refs})
    };
    json!({
        "providers": {"inference": [provider("a"), provider("b")]},
        "access": {"authentication": {"apiKeys": [key("alice"), key("bob")]}},
        "workload": {"overrides": {
            "env": [
                {"name": "A", "valueFrom": {"secretKeyRef": key("a")}},
                {"name": "B", "valueFrom": {"secretKeyRef": key("b")}},
            ],
            "imagePullSecrets": [{"name": "pull"}, {"name": "theirs"}],
        }},
    })
}

/// Applies a change of what a privileged user wrote; whether its author is warned of Secrets.
async fn is_warned(team: &Team<'_>, author: &Path, change: impl FnOnce(&mut Value)) -> bool {
    let mut used = named_before();
    let admin = team.cluster.kubeconfig_path();
    team.apply(admin, "server", &used).await.expect_success();
    change(&mut used);
    let changed = team.apply(author, "server", &used).await;
    assert!(changed.success(), "{}", changed.stderr);
    changed.stderr.contains(NAMES_SECRETS)
}

#[tokio::test]
async fn only_secrets_that_were_not_named_before_are_judged() {
    let Some(team) = Team::new().await else { return };
    let author = team.author("author", &[]).await;
    let keys = "/access/authentication/apiKeys";
    let (first, pod) = ("/providers/inference/0", "/workload/overrides");
    let reverse = |at: &'static str| {
        move |spec: &mut Value| spec.pointer_mut(at).unwrap().as_array_mut().unwrap().reverse()
    };
    let remove = |at: &'static str, index: usize| {
        move |spec: &mut Value| {
            spec.pointer_mut(at).unwrap().as_array_mut().unwrap().remove(index);
        }
    };
    for list in [keys, "/providers/inference", "/workload/overrides/imagePullSecrets"] {
        assert!(!is_warned(&team, &author, reverse(list)).await, "{list} is reordered");
        assert!(!is_warned(&team, &author, remove(list, 0)).await, "{list} loses one");
    }
    assert!(!is_warned(&team, &author, remove("/workload/overrides/env", 1)).await);
    let without_ref = |spec: &mut Value| {
        let provider = spec.pointer_mut(first).unwrap().as_object_mut().unwrap();
        provider.remove("apiKey");
        provider["secretRefs"].as_object_mut().unwrap().remove("two");
        provider.insert("endpoint".to_owned(), json!("http://vllm:8000"));
    };
    assert!(!is_warned(&team, &author, without_ref).await, "a provider loses two");

    let another_key = |spec: &mut Value| spec.pointer_mut(keys).unwrap()[1]["key"] = json!("root");
    assert!(is_warned(&team, &author, another_key).await);
    let another_ref = |spec: &mut Value| {
        spec.pointer_mut(first).unwrap()["secretRefs"]["two"] = json!({"name": "x", "key": "k"});
    };
    assert!(is_warned(&team, &author, another_ref).await);
    // The server does not read a Secret that the kubelet pulls images with.
    let read = |spec: &mut Value| {
        spec.pointer_mut(pod).unwrap()["envFrom"] = json!([{"secretRef": {"name": "pull"}}]);
    };
    assert!(is_warned(&team, &author, read).await);
}

#[tokio::test]
async fn with_the_choice_to_deny_it_is_denied() {
    let Some(cluster) = ControlPlane::start_or_skip().await else { return };
    install_definition(&cluster).await;
    let team = Team::within(&cluster).await;
    let author = team.author("author", &[]).await;
    let patch = r#"{"spec": {"validationActions": ["Deny"]}}"#;
    let kind = "validatingadmissionpolicybinding";
    let args = ["patch", kind, llsd_api::policy::SECRETS, "--type=merge", "-p", patch];
    team.admin(&args, None).await.expect_success();
    let (_, used) = &naming()[0];
    // What was let through before it holds is not judged again.
    let mut tries = 0;
    eventually("it is denied", async || {
        tries += 1;
        let refused = team.apply(&author, &format!("api-key-{tries}"), used).await;
        !refused.success() && refused.stderr.contains(NAMES_SECRETS)
    })
    .await;
}

/// The largest resource must be judged, not refused for what that costs.
#[tokio::test]
async fn a_resource_that_names_hundreds_of_secrets_is_judged() {
    let Some(team) = Team::new().await else { return };
    let author = team.author("author", &[]).await;
    let refs: Value = (0..8).map(|n| (format!("f{n}"), json!({"name": "s", "key": "k"}))).collect();
    let entries = |api: &str| -> Value {
        let entry =
            |n| json!({"id": format!("{api}-{n}"), "provider": "remote::vllm", "secretRefs": refs});
        (0..32).map(entry).collect()
    };
    let apis =
        ["inference", "safety", "vectorIo", "toolRuntime", "files", "batches", "eval", "scoring"];
    let providers: Value = apis.map(|api| (api.to_owned(), entries(api))).into_iter().collect();
    let mut resource = json!({
        "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
        "metadata": {"name": "large"},
        "spec": {"distribution": {"name": "starter"}, "providers": providers},
    });
    for (verb, replicas, warned) in [("create", 1, true), ("replace", 2, false)] {
        resource["spec"]["workload"] = json!({"replicas": replicas});
        let done = team.run(&author, &[verb, "-f", "-"], Some(&resource.to_string())).await;
        assert!(done.success(), "{}", done.stderr);
        assert_eq!(done.stderr.contains(NAMES_SECRETS), warned, "{}", done.stderr);
    }
}

/// Neither right is the operator's, and what it writes back it has not changed.
#[tokio::test]
async fn the_operator_migrates_what_others_may_write() {
    let Some(cluster) = ControlPlane::start_or_skip().await else { return };
    let user = install(&cluster).await;
    apply(&cluster, file(&files(), "storage-migration.yaml")).await;
    let team = Team::within(&cluster).await;
    let mut used = naming()[0].1.clone();
    used["workload"] = json!({"overrides": {"command": ["sh"], "serviceAccountName": "theirs"}});
    team.apply(cluster.kubeconfig_path(), "server", &used).await.expect_success();
    let operator = cluster.client_for(&user, &[]);
    assert!(!may(&operator, "create", ("", "pods"), &team.namespace, "").await);
    let resources = ("llamastack.io", "llamastackdistributions");
    eventually("the role is at work", async || {
        may(&operator, "update", resources, &team.namespace, "").await
    })
    .await;
    let config = cluster.kubeconfig_for(&user, &[]);
    let stored =
        team.run(&config, &["get", "llsd", "server", "-o", "json"], None).await.expect_success();
    let back = team.run(&config, &["replace", "-f", "-"], Some(&stored)).await;
    assert!(back.success() && !back.stderr.contains(NAMES_SECRETS), "{}", back.stderr);
}
