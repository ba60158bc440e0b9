//! The operator itself: its Deployment, its release, and whether one of its replicas leads.

use jiff::{SignedDuration, Timestamp};
use llsd_install::names::{LEASE, OPERATOR};
use llsd_plan::values::image_name::split_digest;
use serde_json::Value;

use super::finding::Finding;

const CHECK: &str = "operator";
const VERSION: &str = "its version";
const LEADER: &str = "leader";
const INSTALL: &str = "llsd manifests | kubectl apply --server-side -f -";

/// The operator as it is installed.
#[derive(Clone, Debug)]
pub(super) struct InstalledOperator {
    pub(super) namespace: String,
    pub(super) account: String,
    /// The namespaces that it looks after; all where there is none.
    pub(super) watched: Vec<String>,
}

impl InstalledOperator {
    /// As the install files have it.
    pub(super) fn by_default(namespace: &str) -> Self {
        let account = OPERATOR.to_owned();
        Self { namespace: namespace.to_owned(), account, watched: Vec::new() }
    }

    pub(super) fn parse(deployment: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let namespace = text(&deployment["metadata"]["namespace"]);
        let pod = &deployment["spec"]["template"]["spec"];
        let account = text(&pod["serviceAccountName"]);
        let watched = watched(&pod["containers"][0], &namespace);
        Self { namespace, account, watched }
    }
}

/// By its variable, or by its flag, which wins.
fn watched(container: &Value, own: &str) -> Vec<String> {
    let variables = container["env"].as_array().into_iter().flatten();
    let mut variables = variables.filter(|variable| variable["name"] == "WATCH_NAMESPACE");
    let by_variable =
        variables.next().map(|variable| variable["value"].as_str().unwrap_or(own).to_owned());
    let arguments = container["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let arguments: Vec<&str> = arguments.collect();
    let by_flag = arguments.iter().enumerate().find_map(|(at, argument)| {
        let (flag, value) = argument.split_once('=').unwrap_or((*argument, ""));
        let is_it = matches!(flag, "--watch-namespace" | "--watch-namespaces");
        let behind = || arguments.get(at + 1).copied().unwrap_or_default();
        is_it.then(|| if value.is_empty() { behind() } else { value })
    });
    let named = by_flag.map(str::to_owned).or(by_variable).unwrap_or_default();
    named.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The Deployment, and where it may be instead.
pub(super) fn check(
    deployment: Option<&Value>,
    namespace: &str,
    lease: Option<&Value>,
    now: Timestamp,
) -> Vec<Finding> {
    let leader = lease.and_then(|lease| leader(lease, now));
    let Some(deployment) = deployment else {
        return vec![missing(namespace, leader.as_deref())];
    };
    let mut findings = vec![ready(deployment), version(deployment)];
    findings.push(match leader {
        Some(holder) => Finding::ok(LEADER, holder),
        None => Finding::problem(
            LEADER,
            format!("no replica holds the Lease {LEASE}, so nothing is done for resources"),
            format!("kubectl logs -n {} deployment/{OPERATOR}", namespace_of(deployment)),
        ),
    });
    findings
}

/// One that runs outside of the cluster has no Deployment, and leads all the same.
fn missing(namespace: &str, leader: Option<&str>) -> Finding {
    match leader {
        Some(holder) => Finding::warning(
            CHECK,
            format!(
                "there is no Deployment in namespace {namespace}, but {holder} leads from elsewhere"
            ),
            "run the operator in the cluster if it should not depend on another machine",
        ),
        None => Finding::problem(
            CHECK,
            format!("there is no Deployment {OPERATOR} in namespace {namespace}"),
            format!(
                "{INSTALL}; if it is in another namespace, name that with --operator-namespace"
            ),
        ),
    }
}

fn namespace_of(deployment: &Value) -> &str {
    deployment["metadata"]["namespace"].as_str().unwrap_or_default()
}

fn ready(deployment: &Value) -> Finding {
    let wanted = deployment["spec"]["replicas"].as_u64().unwrap_or(1);
    let ready = deployment["status"]["readyReplicas"].as_u64().unwrap_or_default();
    let namespace = namespace_of(deployment);
    let says = format!("{ready} of {wanted} replicas are ready in namespace {namespace}");
    let look = format!(
        "kubectl describe pods -n {namespace}, and kubectl logs -n {namespace} deployment/{OPERATOR}"
    );
    if wanted == 0 {
        let scale = format!("kubectl scale -n {namespace} deployment/{OPERATOR} --replicas=2");
        Finding::problem(CHECK, "it is scaled to no replica", scale)
    } else if ready == 0 {
        Finding::problem(CHECK, says, look)
    } else if ready < wanted {
        Finding::warning(CHECK, says, look)
    } else {
        Finding::ok(CHECK, says)
    }
}

/// The operator's release by its image's tag, and that of this program.
fn version(deployment: &Value) -> Finding {
    let own = env!("CARGO_PKG_VERSION");
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let image = container["image"].as_str().unwrap_or_default();
    let runs_llsd = |list: &Value| {
        list.as_array().into_iter().flatten().any(|word| word.as_str().is_some_and(is_llsd))
    };
    if container["command"].is_array() && !runs_llsd(&container["command"]) {
        return Finding::problem(
            VERSION,
            format!("the Deployment runs another program, in {image}: operator v0.9 or older"),
            format!("{INSTALL} replaces it; servers go on"),
        );
    }
    let (name, _) = split_digest(image);
    let tag = name.rsplit_once(':').map(|(_, tag)| tag).filter(|tag| !tag.contains('/'));
    match tag.map(|tag| tag.trim_start_matches('v')) {
        Some(tag) if tag == own => Finding::ok(VERSION, format!("{own}, as this program")),
        Some(tag) if tag.starts_with(|c: char| c.is_ascii_digit()) => Finding::warning(
            VERSION,
            format!(
                "the operator is {tag}, and this program {own}: they may judge a resource differently"
            ),
            "use llsd of the operator's release",
        ),
        _ => Finding::ok(
            VERSION,
            format!("image {image}; its tag is no release to compare with {own}"),
        ),
    }
}

fn is_llsd(word: &str) -> bool {
    word.rsplit('/').next() == Some("llsd")
}

/// Who holds the Lease, if that is still so.
fn leader(lease: &Value, now: Timestamp) -> Option<String> {
    let spec = &lease["spec"];
    let holder = spec["holderIdentity"].as_str().filter(|holder| !holder.is_empty())?;
    let renewed: Timestamp = spec["renewTime"].as_str()?.parse().ok()?;
    let seconds = spec["leaseDurationSeconds"].as_i64().unwrap_or(15);
    let until = renewed.checked_add(SignedDuration::from_secs(seconds)).ok()?;
    (now <= until).then(|| holder.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::finding::Level;
    use super::*;

    fn deployment(container: &Value, ready: u64) -> Value {
        json!({
            "metadata": {"namespace": "operators"},
            "spec": {"replicas": 2, "template": {"spec": {
                "serviceAccountName": "operator", "containers": [container],
            }}},
            "status": {"readyReplicas": ready},
        })
    }

    fn own() -> Value {
        json!({
            "image": format!("registry.example.com:5000/llsd:{}", env!("CARGO_PKG_VERSION")),
            "command": ["llsd"],
        })
    }

    #[test]
    fn replicas_and_release_are_judged() {
        for (ready, level) in [(2, Level::Ok), (1, Level::Warning), (0, Level::Problem)] {
            assert_eq!(super::ready(&deployment(&own(), ready)).level, level);
        }
        let of = |container: Value| version(&deployment(&container, 2)).level;
        assert_eq!(of(own()), Level::Ok);
        assert_eq!(of(json!({"image": "r/llsd:99.0.0", "command": ["llsd"]})), Level::Warning);
        assert_eq!(of(json!({"image": "r/llsd:main"})), Level::Ok);
        assert_eq!(
            of(json!({"image": "r/operator:v0.9.0", "command": ["/manager"]})),
            Level::Problem
        );
    }

    #[test]
    fn the_namespaces_are_those_of_the_variable_or_the_flag() {
        let of = |container: Value| watched(&container, "own");
        assert_eq!(of(json!({})), Vec::<String>::new());
        let by_field = json!({"env": [{"name": "WATCH_NAMESPACE", "valueFrom": {"fieldRef": {}}}]});
        assert_eq!(of(by_field), ["own"]);
        for args in
            [json!(["run", "--watch-namespaces=a, b"]), json!(["run", "--watch-namespace", "a,b"])]
        {
            assert_eq!(of(json!({"args": args})), ["a", "b"]);
        }
    }

    #[test]
    fn a_lease_that_ran_out_is_held_by_no_replica() {
        let renewed = "2026-11-18T10:00:00.000000Z";
        let lease = json!({"spec": {
            "holderIdentity": "pod-1", "renewTime": renewed, "leaseDurationSeconds": 15,
        }});
        let at =
            |seconds| renewed.parse::<Timestamp>().unwrap() + SignedDuration::from_secs(seconds);
        assert_eq!(leader(&lease, at(10)).as_deref(), Some("pod-1"));
        assert_eq!(leader(&lease, at(16)), None);
        assert_eq!(missing("home", None).level, Level::Problem);
        assert_eq!(missing("home", Some("pod-1")).level, Level::Warning);
    }
}
