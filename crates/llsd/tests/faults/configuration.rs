//! The operator's own ConfigMap, broken, edited and gone.

use llsd_install::names::{CONFIG_MAP, KEPT_CONFIG_MAP, NAMESPACE};
use serde_json::{Value, json};

use llsd_testbed::access::{eventually, may};
use llsd_testbed::authority::authority;
use llsd_testbed::granted::{grant_all, revoke};
use llsd_testbed::namespace::{DISTRIBUTION, Namespace, condition};
use llsd_testbed::neighbour;
use llsd_testbed::story::container;
use llsd_testbed::test_operator::TestOperator;

/// Alone, so that a restart does not wait for a lease to run out.
const ARGUMENTS: [&str; 1] = ["--leader-elect=false"];
const POLICY: &str = "demo-network-policy";

fn starter() -> Value {
    json!({"distribution": {"name": "starter"}})
}

/// The image that stands for the starter in a mirror.
fn mirrored(tag: &str) -> String {
    format!("mirror.invalid/starter:{tag}")
}

/// Servers with one image need not wait for each other.
const ALL_AT_ONCE: &str = "maxUnavailableServers: 100%";

fn overriding(tag: &str) -> String {
    format!("starter: {}\n", mirrored(tag))
}

async fn image_of(namespace: &Namespace<'_>, name: &str) -> String {
    let deployment = namespace.get("Deployment", name).await.expect("a Deployment");
    container(&deployment)["image"].as_str().unwrap().to_owned()
}

async fn until_image(namespace: &Namespace<'_>, image: &str) {
    let what = format!("runs {image}");
    namespace
        .until("Deployment", "demo", &what, |deployment| {
            container(deployment)["image"].as_str().unwrap_or_default().starts_with(image)
        })
        .await;
    namespace.until_ready("demo").await;
}

/// Waits until the operator has noticed that the cluster's domain is this one.
async fn until_in_domain(namespace: &Namespace<'_>, domain: &str) {
    namespace
        .until(DISTRIBUTION, "demo", "is reached in the domain that was set", |object| {
            let url = object["status"]["serviceURL"].as_str().unwrap_or_default();
            url.ends_with(&format!(".svc.{domain}:8321"))
        })
        .await;
}

async fn until_figure(operator: &TestOperator, key: &str, value: f64) {
    let figure = format!("llsd_broken_configuration{{key=\"{key}\"}}");
    eventually(&format!("{figure} is {value}"), async || {
        operator.process.figure(&figure).await == Some(value)
    })
    .await;
}

fn at<'a>(operator: &'a TestOperator, namespace: &str) -> Namespace<'a> {
    Namespace { cluster: &operator.cluster, name: namespace.to_owned() }
}

/// A new resource, which can only know what the operator uses now.
async fn newcomer(operator: &TestOperator) -> String {
    let namespace = operator.namespace("newcomer").await;
    neighbour::becomes_ready(&namespace).await;
    image_of(&namespace, "neighbour").await
}

#[tokio::test]
async fn a_broken_key_keeps_its_last_good_value_also_over_restarts_and_when_all_is_gone() {
    let Some(mut operator) = TestOperator::start(&ARGUMENTS).await else { return };
    operator
        .operator_namespace()
        .until("ConfigMap", CONFIG_MAP, "is made for people to edit", |_| true)
        .await;
    let name = operator.namespace("overridden").await.name;
    let flags = "enableNetworkPolicy: {enabled: true}";
    let data = json!({"image-overrides": overriding("1"), "featureFlags": flags});
    operator.configure(data).await;
    at(&operator, &name).distribution("demo", starter()).await;
    until_image(&at(&operator, &name), &mirrored("1")).await;
    at(&operator, &name).until("NetworkPolicy", POLICY, "is there", |_| true).await;
    let before = at(&operator, &name).running("demo").await;

    // Two keys are broken, and a third one is set meanwhile.
    let broken = json!({
        "image-overrides": "starter: [mirror.invalid/starter:2\n",
        "featureFlags": "enableNetworkPolicy: {enabled: perhaps}",
        "clusterDomain": "cluster.internal",
    });
    operator.configure(broken).await;
    let said = "image-overrides is broken, and the value that it had before stays in use";
    operator.operator_namespace().until_event(CONFIG_MAP, "ConfigurationBroken", said).await;
    operator
        .operator_namespace()
        .until_event(CONFIG_MAP, "ConfigurationBroken", "must be true or false")
        .await;
    until_figure(&operator, "image-overrides", 1.0).await;
    until_figure(&operator, "featureFlags", 1.0).await;
    until_figure(&operator, "clusterDomain", 0.0).await;
    assert_eq!(newcomer(&operator).await, mirrored("1"));
    until_in_domain(&at(&operator, &name), "cluster.internal").await;
    let log = operator.process.log();
    let logged = log.matches("image-overrides: not valid YAML").count();
    assert_eq!(logged, 1, "{log}");

    operator.restart(&ARGUMENTS);
    until_figure(&operator, "image-overrides", 1.0).await;
    assert_eq!(newcomer(&operator).await, mirrored("1"));

    operator.operator_namespace().delete("ConfigMap", CONFIG_MAP).await;
    eventually("it is noticed", async || operator.process.log().contains("is gone")).await;
    assert_eq!(newcomer(&operator).await, mirrored("1"));
    // Where there is none when it starts, the operator makes one of what is in use.
    operator.restart(&ARGUMENTS);
    let made = operator
        .operator_namespace()
        .until("ConfigMap", CONFIG_MAP, "is made again", |_| true)
        .await;
    assert_eq!(made["data"]["image-overrides"], overriding("1"), "{made}");
    assert_eq!(made["data"]["featureFlags"], flags);
    assert_eq!(newcomer(&operator).await, mirrored("1"));
    assert!(at(&operator, &name).get("NetworkPolicy", POLICY).await.is_some());
    assert_eq!(at(&operator, &name).running("demo").await, before, "nothing of it moved a server");

    // A valid edit is a change of the resources that it names; an empty or absent key means its default.
    let data = json!({
        "image-overrides": overriding("2"), "featureFlags": "", "rollout": ALL_AT_ONCE,
    });
    operator.configure(data).await;
    until_image(&at(&operator, &name), &mirrored("2")).await;
    until_figure(&operator, "image-overrides", 0.0).await;
    at(&operator, &name).until_gone("NetworkPolicy", POLICY).await;
    operator.configure(json!({"featureFlags": "", "rollout": ALL_AT_ONCE})).await;
    until_image(&at(&operator, &name), "docker.io/llamastack/distribution-starter").await;

    // At rest nothing of this is written, also not by an operator that starts again.
    let mark = operator.operator_namespace().quiet(&operator.user).await;
    operator.restart(&ARGUMENTS);
    assert!(newcomer(&operator).await.starts_with("docker.io/"));
    let writes =
        operator.cluster.audit().requests_of(&operator.user).await.unwrap().since(mark).writes();
    let of_config = writes.only(|request| [CONFIG_MAP, KEPT_CONFIG_MAP].contains(&&*request.name));
    assert!(of_config.is_empty(), "{of_config:#?}");
}

fn trusting(namespace: &str) -> Value {
    let mut spec = starter();
    let bundle = json!({"configMapName": "roots", "configMapNamespace": namespace});
    spec["networking"] = json!({"tls": {"caBundle": bundle}});
    spec
}

#[tokio::test]
async fn authorities_of_another_namespace_are_read_only_where_it_is_open_or_they_are_in_use() {
    let Some(operator) = TestOperator::start(&ARGUMENTS).await else { return };
    let trust = operator.namespace("trust").await;
    trust.config_map("roots", json!({"ca-bundle.crt": authority("roots")})).await;
    let first = operator.namespace("first").await;
    let second = operator.namespace("second").await;
    let closed = async |namespace: &Namespace<'_>| {
        let stalled = namespace
            .until(DISTRIBUTION, "demo", "is refused", |object| {
                condition(object, "Stalled")["status"] == "True"
            })
            .await;
        let said = condition(&stalled, "Ready")["message"].to_string();
        assert!(said.contains("spec.networking.tls.caBundle.configMapNamespace"), "{said}");
        assert!(said.contains("caBundleNamespaces"), "{said}");
        assert!(namespace.get("Deployment", "demo").await.is_none());
    };
    first.distribution("demo", trusting(&trust.name)).await;
    closed(&first).await;
    neighbour::becomes_ready(&operator.namespace("neighbour").await).await;
    let asked = operator.cluster.audit().requests_of(&operator.user).await.unwrap();
    let read = asked.only(|request| request.namespace == trust.name && request.name == "roots");
    assert!(read.is_empty(), "{read:#?}");

    operator.configure(json!({"caBundleNamespaces": format!("[{}]", trust.name)})).await;
    first.until_ready("demo").await;
    let before = first.running("demo").await;
    // Whoever runs with them goes on, also through changes of the resource; others do not begin.
    operator.configure(json!({"clusterDomain": "cluster.internal"})).await;
    until_in_domain(&first, "cluster.internal").await;
    second.distribution("demo", trusting(&trust.name)).await;
    closed(&second).await;
    let replicas = json!({"spec": {"workload": {"replicas": 2}}});
    first.patch(DISTRIBUTION, "demo", &replicas).await;
    first.until_ready("demo").await;
    let deployment = first.get("Deployment", "demo").await.unwrap();
    assert_eq!(deployment["spec"]["replicas"], 2);
    assert_eq!(first.running("demo").await.uid, before.uid);
    // What is written on the ConfigMap by hand opens nothing.
    let granted = first.find("ConfigMap", "demo-ca-bundle-").await.unwrap();
    let grant = &granted["metadata"]["annotations"]["llamastack.io/ca-bundle-grant"];
    assert!(grant.is_string(), "{granted}");
    let copied = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": granted["metadata"]["name"],
            "labels": granted["metadata"]["labels"],
            "annotations": {"llamastack.io/ca-bundle-grant": grant},
        },
        "data": granted["data"],
    });
    second.apply(&copied.to_string()).await;
    let again = json!({"metadata": {"annotations": {"llamastack.io/refresh": "now"}}});
    second.patch(DISTRIBUTION, "demo", &again).await;
    neighbour::becomes_ready(&operator.namespace("later").await).await;
    closed(&second).await;
}

/// Takes away what the operator may do in its own namespace only.
async fn unbind(operator: &TestOperator) {
    let unbind = ["delete", "rolebinding", "--all", "-n", NAMESPACE];
    operator.cluster.kubectl(&unbind, None).await.unwrap().expect_success();
}

#[tokio::test]
async fn a_configuration_that_may_no_longer_be_read_stays_in_use_over_a_restart() {
    let Some(mut operator) = TestOperator::start(&ARGUMENTS).await else { return };
    let name = operator.namespace("blind").await.name;
    operator.configure(json!({"image-overrides": overriding("1")})).await;
    at(&operator, &name).distribution("demo", starter()).await;
    until_image(&at(&operator, &name), &mirrored("1")).await;
    revoke(&operator.cluster, &[("", "configmaps", &["list", "watch"])]).await;
    unbind(&operator).await;
    operator.restart(&ARGUMENTS);
    let more = json!({"spec": {"workload": {"replicas": 2}}});
    let namespace = at(&operator, &name);
    namespace.patch(DISTRIBUTION, "demo", &more).await;
    let has_two = |deployment: &Value| deployment["spec"]["replicas"] == 2;
    namespace.until("Deployment", "demo", "has two pods", has_two).await;
    assert!(image_of(&namespace, "demo").await.starts_with(&mirrored("1")));
    assert!(newcomer(&operator).await.starts_with(&mirrored("1")));
}

#[tokio::test]
async fn a_configuration_that_may_not_be_kept_is_used_and_is_kept_once_it_may() {
    let Some(mut operator) = TestOperator::start(&ARGUMENTS).await else { return };
    operator
        .operator_namespace()
        .until("ConfigMap", CONFIG_MAP, "is made for people to edit", |_| true)
        .await;
    operator.process.kill();
    for name in [CONFIG_MAP, KEPT_CONFIG_MAP] {
        operator.operator_namespace().delete("ConfigMap", name).await;
    }
    revoke(&operator.cluster, &[("", "configmaps", &["get", "create", "patch"])]).await;
    unbind(&operator).await;
    let client = operator.cluster.client_for(&operator.user, &[]);
    let may_write = async || {
        may(&client, "create", ("", "configmaps"), NAMESPACE, "").await
            && may(&client, "patch", ("", "configmaps"), NAMESPACE, KEPT_CONFIG_MAP).await
    };
    eventually("the rights are taken away", async || !may_write().await).await;
    operator.restart(&ARGUMENTS);

    let not_made = "its ConfigMap cannot be made";
    eventually(not_made, async || operator.process.log().contains(not_made)).await;
    let log = operator.process.log();
    let not_kept = "what is in use cannot be kept, and a restart would forget it";
    for said in ["what was in use last cannot be read", not_kept, not_made] {
        assert_eq!(log.matches(said).count(), 1, "{said}: {log}");
    }
    // Resources are worked on, and an edit is used.
    let namespace = operator.namespace("unkept").await;
    namespace.distribution("demo", starter()).await;
    until_image(&namespace, "docker.io/llamastack/distribution-starter").await;
    assert_eq!(operator.process.probe("/readyz").await, Some(200));
    operator.configure(json!({"image-overrides": overriding("1")})).await;
    let edited = operator.namespace("edited").await;
    edited.distribution("demo", starter()).await;
    until_image(&edited, &mirrored("1")).await;
    assert!(operator.operator_namespace().get("ConfigMap", KEPT_CONFIG_MAP).await.is_none());

    grant_all(&operator.cluster).await;
    eventually("the rights are given back", may_write).await;
    operator.configure(json!({"image-overrides": overriding("2")})).await;
    let is_kept = |object: &Value| object["data"]["image-overrides"] == overriding("2");
    operator.operator_namespace().until("ConfigMap", KEPT_CONFIG_MAP, "is kept", is_kept).await;
}

#[tokio::test]
async fn what_was_kept_and_may_not_be_read_is_not_written_over() {
    let Some(mut operator) = TestOperator::start(&ARGUMENTS).await else { return };
    operator.configure(json!({"image-overrides": overriding("1")})).await;
    let is_kept = |object: &Value| object["data"]["image-overrides"] == overriding("1");
    operator.operator_namespace().until("ConfigMap", KEPT_CONFIG_MAP, "is kept", is_kept).await;
    operator.process.kill();
    revoke(&operator.cluster, &[("", "configmaps", &["get"])]).await;
    unbind(&operator).await;
    let client = operator.cluster.client_for(&operator.user, &[]);
    let may_read =
        async || may(&client, "get", ("", "configmaps"), NAMESPACE, KEPT_CONFIG_MAP).await;
    eventually("the right is taken away", async || !may_read().await).await;
    let broken = |domain: &str| json!({"image-overrides": "starter: [", "clusterDomain": domain});
    operator.configure(broken("first.internal")).await;
    operator.restart(&ARGUMENTS);
    let said = "what it holds cannot be read, and is not written over";
    eventually(said, async || operator.process.log().contains(said)).await;
    // The rest of the edit is used meanwhile.
    let namespace = operator.namespace("unread").await;
    namespace.distribution("demo", starter()).await;
    until_in_domain(&namespace, "first.internal").await;
    let kept = operator.operator_namespace().get("ConfigMap", KEPT_CONFIG_MAP).await.unwrap();
    assert!(is_kept(&kept), "{kept}");

    grant_all(&operator.cluster).await;
    eventually("the right is given back", may_read).await;
    operator.configure(broken("second.internal")).await;
    let kept = operator
        .operator_namespace()
        .until("ConfigMap", KEPT_CONFIG_MAP, "has the edit", |object| {
            object["data"]["clusterDomain"] == "second.internal"
        })
        .await;
    assert!(is_kept(&kept), "{kept}");
    assert_eq!(newcomer(&operator).await, mirrored("1"));
}

#[tokio::test]
async fn what_a_platform_forbids_is_refused_and_what_runs_goes_on() {
    let Some(operator) = TestOperator::start(&ARGUMENTS).await else { return };
    let namespace = operator.namespace("tenant").await;
    let mut spec = starter();
    spec["workload"] = json!({"overrides": {"podAnnotations": {"a": "b"}}});
    spec["networking"] =
        json!({"expose": {"hostname": "bank.example.com", "annotations": {"a/b": "c"}}});
    namespace.distribution("demo", spec).await;
    namespace.until_ready("demo").await;
    let before = namespace.running("demo").await;
    // A slip of the pen does not allow what it was to forbid.
    operator.configure(json!({"overrides": "forbid"})).await;
    let said = "overrides is broken, and allows nothing until it is corrected";
    operator.operator_namespace().until_event(CONFIG_MAP, "ConfigurationBroken", said).await;
    namespace
        .until(DISTRIBUTION, "demo", "is refused", |object| {
            condition(object, "Stalled")["status"] == "True"
        })
        .await;
    operator
        .configure(json!({
            "overrides": "Forbid",
            "exposure": "{allowedDomains: [apps.example.com], allowedAnnotations: []}",
        }))
        .await;
    let refused = namespace
        .until(DISTRIBUTION, "demo", "is refused for its exposure, too", |object| {
            let message = &condition(object, "Ready")["message"];
            message.as_str().is_some_and(|said| said.contains("spec.networking.expose"))
        })
        .await;
    let said = condition(&refused, "Ready")["message"].to_string();
    for path in [
        "spec.workload.overrides.podAnnotations",
        "spec.networking.expose.hostname",
        "spec.networking.expose.annotations.a/b",
    ] {
        assert!(said.contains(path), "{path}: {said}");
    }
    assert_eq!(namespace.running("demo").await, before);
    operator.configure(json!({"overrides": "Allow"})).await;
    namespace.until_ready("demo").await;
}
