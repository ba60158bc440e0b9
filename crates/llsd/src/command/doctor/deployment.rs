//! The operator itself: its Deployment, its release, and whether one of its replicas leads.

use jiff::{SignedDuration, Timestamp};
use llsd_install::OperatorSetup;
use llsd_install::names::{LEASE, METRICS_AUTHENTICATION, OPERATOR};
use llsd_plan::values::image_name::split_digest;
use serde_json::Value;

use super::finding::{Finding, INSTALL, Level};

const CHECK: &str = "operator";
const VERSION: &str = "its version";
const LEADER: &str = "leader";

/// The operator as it is installed.
#[derive(Clone, Debug)]
pub(super) struct InstalledOperator {
    pub(super) account: String,
    pub(super) setup: OperatorSetup,
}

impl InstalledOperator {
    /// As the install files have it.
    pub(super) fn by_default(namespace: &str) -> Self {
        Self { account: OPERATOR.to_owned(), setup: OperatorSetup::by_default(namespace) }
    }

    pub(super) fn parse(deployment: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let namespace = text(&deployment["metadata"]["namespace"]);
        let pod = &deployment["spec"]["template"]["spec"];
        let account = text(&pod["serviceAccountName"]);
        Self { account, setup: setup(&pod["containers"][0], namespace) }
    }
}

/// What the operator does, by its flags.
fn setup(container: &Value, namespace: String) -> OperatorSetup {
    let words = words(container);
    let watched = watched(container, &words, &namespace);
    let serves_webhooks = !matches!(value_of(&words, &["--webhook-bind-address"]), Some("" | "0"));
    let has_files = value_of(&words, &["--webhook-cert-dir"]).is_some();
    let has_url = value_of(&words, &["--webhook-url"]).is_some();
    // An operator of some namespaces serves webhooks only with certificates from elsewhere.
    let makes_certificates = serves_webhooks && !has_files && watched.is_empty();
    OperatorSetup {
        namespace,
        watched,
        makes_certificates,
        // Who makes the certificates registers them, too; only an address is the operator's to write.
        registers_webhooks: makes_certificates || (serves_webhooks && has_files && has_url),
        authenticates_readers: is_on(&words, METRICS_AUTHENTICATION),
    }
}

/// The command line of a container.
fn words(container: &Value) -> Vec<&str> {
    let lists = [&container["command"], &container["args"]];
    lists.into_iter().filter_map(Value::as_array).flatten().filter_map(Value::as_str).collect()
}

/// What one of these flags is given, behind a `=` or as the next word.
fn value_of<'a>(words: &[&'a str], flags: &[&str]) -> Option<&'a str> {
    words.iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
        Some((flag, value)) => flags.contains(&flag).then_some(value),
        None => flags.contains(word).then(|| words.get(at + 1).copied().unwrap_or_default()),
    })
}

/// Whether a flag is set that needs no value.
fn is_on(words: &[&str], flag: &str) -> bool {
    let is_it = |rest: &str| rest.is_empty() || rest == "=true";
    words.iter().filter_map(|word| word.strip_prefix(flag)).any(is_it)
}

/// By its variable, or by its flag, which wins.
fn watched(container: &Value, words: &[&str], own: &str) -> Vec<String> {
    let variables = container["env"].as_array().into_iter().flatten();
    let mut variables = variables.filter(|variable| variable["name"] == "WATCH_NAMESPACE");
    let by_variable = variables.next().map(|variable| variable["value"].as_str().unwrap_or(own));
    let by_flag = value_of(words, &["--watch-namespace", "--watch-namespaces"]);
    let named = by_flag.or(by_variable).unwrap_or_default();
    named.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The Deployment, and where it may be instead.
pub(super) fn check(
    deployment: Option<&Value>,
    namespace: &str,
    lease: &kube::Result<Option<Value>>,
    now: Timestamp,
) -> Vec<Finding> {
    let leader = match lease {
        Ok(lease) => lease.as_ref().and_then(|lease| leader(lease, now)),
        Err(error) => return without_lease(deployment, namespace, error),
    };
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

/// Only who leads is then unknown; where there is no Deployment, one may lead from elsewhere.
fn without_lease(deployment: Option<&Value>, namespace: &str, error: &kube::Error) -> Vec<Finding> {
    let mut findings = match deployment {
        Some(deployment) => vec![ready(deployment), version(deployment)],
        None => vec![Finding { level: Level::Warning, ..missing(namespace, None) }],
    };
    findings.push(Finding::unasked(LEADER, error));
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
                "if it is in another namespace, name that with --operator-namespace; else {INSTALL}"
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
            "servers keep running while you install this release in its place, for example: \
             llsd manifests | kubectl apply --server-side -f -",
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
            format!("image {image}; its tag is not a release to compare with {own}"),
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
    use kube::core::Status;
    use serde_json::json;

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
        let of = |container: Value| watched(&container, &words(&container), "own");
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
    fn what_the_operator_does_is_read_from_its_flags() {
        let of = |args: &[&str]| {
            let setup = setup(&json!({"command": ["llsd"], "args": args}), "own".to_owned());
            [setup.makes_certificates, setup.registers_webhooks, setup.authenticates_readers]
        };
        assert_eq!(of(&["run", "--leader-elect", "--metrics-authentication"]), [true; 3]);
        assert_eq!(of(&["run", "--metrics-authentication=true"]), [true; 3]);
        assert_eq!(of(&["run", "--metrics-authentication=false"]), [true, true, false]);
        // With cert-manager, on OpenShift and with OLM the operator does not make or register them.
        assert_eq!(of(&["run", "--webhook-cert-dir=/certificates"]), [false; 3]);
        assert_eq!(of(&["run", "--webhook-cert-dir", "/certificates"]), [false; 3]);
        let at_an_address = ["run", "--webhook-cert-dir=/c", "--webhook-url=https://10.0.0.5:9443"];
        assert_eq!(of(&at_an_address), [false, true, false]);
        assert_eq!(of(&["run", "--webhook-bind-address=0"]), [false; 3]);
        assert_eq!(of(&["run", "--watch-namespaces=team"]), [false; 3]);
    }

    #[test]
    fn a_lease_that_cannot_be_read_hides_the_leader_alone() {
        let refused = Status { code: 403, message: "forbidden".into(), ..Status::default() };
        let lease = Err(kube::Error::Api(refused.boxed()));
        let found = |deployment: Option<&Value>| -> Vec<(&'static str, Level)> {
            let found = check(deployment, "operators", &lease, Timestamp::now());
            found.into_iter().map(|finding| (finding.check, finding.level)).collect()
        };
        let without_pods = deployment(&own(), 0);
        assert_eq!(
            found(Some(&without_pods)),
            [(CHECK, Level::Problem), (VERSION, Level::Ok), (LEADER, Level::Warning)]
        );
        assert_eq!(found(None), [(CHECK, Level::Warning), (LEADER, Level::Warning)]);
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
