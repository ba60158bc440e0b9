//! The NetworkPolicy: made where the resource says who may connect, or where the operator's own
//! configuration wants one for every server.

use std::sync::LazyLock;

use k8s_openapi::api::networking::v1::{
    NetworkPolicy, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicyPort,
    NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use llsd_api::v1alpha2::{AllowedFromSpec, AllowedPods};
use regex_lite::Regex;

use super::blueprint::Blueprint;
use super::exposure::{self, Via};
use super::kind::ObjectKind;
use super::labels::OPERATOR_PODS;
use super::{labels, names};
use crate::problems::{FieldPath, Findings, Reason};
use crate::resource::callers::admits_named_alone;

/// Where v0.9 is installed, for an operator that does not know its own namespace.
const DEFAULT_OPERATOR_NAMESPACE: &str = "llama-stack-k8s-operator-system";
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";
/// Labels of namespaces that may read figures: the one that people set, and OpenShift's own.
const MONITORS: [(&str, &str); 2] = [("metrics", "enabled"), (ROUTERS, "monitoring")];
const HIGHEST_PORT: i32 = 65535;
/// What OpenShift puts on the namespaces of its routers, and of its monitoring.
const ROUTERS: &str = "network.openshift.io/policy-group";
/// Where OpenShift runs all of its routers.
const ROUTER_NAMESPACE: &str = "openshift-ingress";

static LABEL_KEY: LazyLock<Regex> = LazyLock::new(|| {
    let prefix = r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?";
    Regex::new(&format!("^{prefix}{NAME}$")).expect("a constant")
});
static LABEL_VALUE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(&format!("^{NAME}$")).expect("a constant"));
const NAME: &str = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";

pub(super) fn network_policy(
    blueprint: &Blueprint,
    findings: &mut Findings,
) -> Option<NetworkPolicy> {
    let asked_for = blueprint.networking().allowed_from.is_some();
    let guards = blueprint.metrics_port();
    if !blueprint.facts.operator.network_policy.unwrap_or(asked_for || guards.is_some()) {
        if guards.is_some() {
            findings.warning(
                &FieldPath::spec().key("monitoring").key("metrics"),
                Reason::Conflict,
                "whoever reaches the pods reads the figures: the operator's configuration switches \
                 NetworkPolicies off",
                "set enableNetworkPolicy in the ConfigMap llama-stack-operator-config",
            );
        }
        if asked_for {
            findings.warning(
                &FieldPath::spec().key("networking").key("allowedFrom"),
                Reason::Ignored,
                "the operator's configuration switches NetworkPolicies off",
                "set enableNetworkPolicy in the ConfigMap llama-stack-operator-config",
            );
        }
        return None;
    }
    // A policy that guards the port of figures alone leaves all others as they are.
    let restricts = asked_for || blueprint.facts.operator.network_policy == Some(true);
    let mut ingress = Vec::new();
    if restricts {
        check_allowed(blueprint, findings);
        warn_of_locked_out_controller(blueprint, findings);
        ingress.push(rule(Some(peers(blueprint)), vec![port("TCP", blueprint.port(), None)]));
        ingress.extend(to_other_ports(blueprint));
    } else if let Some(metrics) = guards {
        ingress.push(rule(None, all_but(metrics)));
    }
    if let Some(metrics) = guards {
        let monitors = MONITORS.map(|(key, value)| labelled(key, value)).to_vec();
        ingress.push(rule(Some(monitors), vec![port("TCP", metrics, None)]));
    }
    Some(NetworkPolicy {
        metadata: blueprint.owned(names::of(ObjectKind::NetworkPolicy, blueprint.name)),
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(labels::selecting_pods(blueprint.name)),
            policy_types: Some(vec!["Ingress".into()]),
            ingress: Some(ingress),
            egress: None,
        }),
    })
}

fn rule(
    from: Option<Vec<NetworkPolicyPeer>>,
    ports: Vec<NetworkPolicyPort>,
) -> NetworkPolicyIngressRule {
    NetworkPolicyIngressRule { from, ports: Some(ports) }
}

fn port(protocol: &str, first: i32, last: Option<i32>) -> NetworkPolicyPort {
    NetworkPolicyPort {
        protocol: Some(protocol.into()),
        port: Some(IntOrString::Int(first)),
        end_port: last,
    }
}

/// Every port but this one, which is 1024 or above.
fn all_but(guarded: i32) -> Vec<NetworkPolicyPort> {
    let mut ports = vec![port("TCP", 1, Some(guarded - 1))];
    if guarded < HIGHEST_PORT {
        ports.push(port("TCP", guarded + 1, Some(HIGHEST_PORT)));
    }
    ports.extend(["UDP", "SCTP"].map(|protocol| port(protocol, 1, Some(HIGHEST_PORT))));
    ports
}

fn peers(blueprint: &Blueprint) -> Vec<NetworkPolicyPeer> {
    let allowed = blueprint.networking().allowed_from.clone().unwrap_or_default();
    let listed = allowed.namespaces.unwrap_or_default();
    if listed.iter().any(|namespace| namespace == "*") {
        return vec![namespaces(LabelSelector::default())];
    }
    let operator = blueprint.facts.operator.namespace.as_deref();
    let operator = labelled(NAMESPACE_NAME, operator.unwrap_or(DEFAULT_OPERATOR_NAMESPACE));
    let admits_named = admits_named_alone(blueprint.spec);
    let mut peers = if admits_named {
        vec![NetworkPolicyPeer { pod_selector: Some(selecting(&OPERATOR_PODS)), ..operator }]
    } else {
        vec![pods(&AllowedPods::default()), operator]
    };
    peers.extend(listed.iter().map(|namespace| labelled(NAMESPACE_NAME, namespace)));
    peers.extend(allowed.labels.iter().flatten().map(|label| match label.split_once('=') {
        Some((key, value)) => labelled(key, value),
        None => labelled_somehow(label),
    }));
    let to_server = allowed.pods.iter().flatten().filter(|pods| pods.ports.is_none());
    peers.extend(to_server.map(pods));
    if blueprint.spec.networking.is_some() && !admits_named {
        peers.push(labelled(ROUTERS, "ingress"));
    }
    let mut seen = Vec::new();
    peers.retain(|peer| {
        let new = !seen.contains(peer);
        seen.push(peer.clone());
        new
    });
    peers
}

/// Pods that may connect to other ports than the server's.
fn to_other_ports(blueprint: &Blueprint) -> Vec<NetworkPolicyIngressRule> {
    let allowed = blueprint.networking().allowed_from.iter();
    let named = allowed.flat_map(|allowed| allowed.pods.iter().flatten());
    let rules = named.filter_map(|given| {
        let ports = given.ports.as_ref()?.iter().map(|number| port("TCP", *number, None));
        Some(rule(Some(vec![pods(given)]), ports.collect()))
    });
    rules.collect()
}

/// Pods that carry labels, in a namespace by its name, or in the resource's own.
fn pods(given: &AllowedPods) -> NetworkPolicyPeer {
    let AllowedPods { namespace, labels, ports: _ } = given;
    let elsewhere = namespace.as_deref().map(|name| match name {
        "*" => LabelSelector::default(),
        name => selecting(&[(NAMESPACE_NAME, name)]),
    });
    let labels = labels.as_ref().filter(|labels| !labels.is_empty()).cloned();
    NetworkPolicyPeer {
        namespace_selector: elsewhere,
        pod_selector: Some(LabelSelector { match_labels: labels, ..Default::default() }),
        ..Default::default()
    }
}

/// Pods of another namespace that has this label with this value.
fn labelled(key: &str, value: &str) -> NetworkPolicyPeer {
    namespaces(selecting(&[(key, value)]))
}

fn selecting(labels: &[(&str, &str)]) -> LabelSelector {
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    LabelSelector { match_labels: Some(labels.collect()), ..Default::default() }
}

/// Pods of another namespace that has this label, whatever its value.
fn labelled_somehow(key: &str) -> NetworkPolicyPeer {
    namespaces(LabelSelector {
        match_expressions: Some(vec![LabelSelectorRequirement {
            key: key.into(),
            operator: "Exists".into(),
            values: None,
        }]),
        ..Default::default()
    })
}

fn namespaces(selector: LabelSelector) -> NetworkPolicyPeer {
    NetworkPolicyPeer { namespace_selector: Some(selector), ..Default::default() }
}

/// What is no name of a namespace and no label would make the API server refuse the policy.
fn check_allowed(blueprint: &Blueprint, findings: &mut Findings) {
    let Some(allowed) = &blueprint.networking().allowed_from else { return };
    let path = FieldPath::spec().key("networking").key("allowedFrom");
    for (index, namespace) in allowed.namespaces.iter().flatten().enumerate() {
        check_namespace(namespace, &path.key("namespaces").index(index), findings);
    }
    for (index, pods) in allowed.pods.iter().flatten().enumerate() {
        check_pods(pods, &path.key("pods").index(index), findings);
    }
    for (index, label) in allowed.labels.iter().flatten().enumerate() {
        let (key, value) = label.split_once('=').unwrap_or((label, ""));
        if !LABEL_KEY.is_match(key) || !(value.is_empty() || LABEL_VALUE.is_match(value)) {
            findings.problem(
                &path.key("labels").index(index),
                Reason::Invalid,
                format!("`{label}` is not a label"),
                "write a label's key, or key=value",
            );
        }
    }
}

fn check_namespace(name: &str, path: &FieldPath, findings: &mut Findings) {
    if name != "*" && !LABEL_VALUE.is_match(name) {
        findings.problem(
            path,
            Reason::Invalid,
            format!("`{name}` is not the name of a namespace"),
            "write the name of one namespace, or *",
        );
    }
}

fn check_pods(given: &AllowedPods, path: &FieldPath, findings: &mut Findings) {
    if let Some(namespace) = &given.namespace {
        check_namespace(namespace, &path.key("namespace"), findings);
    }
    for (key, value) in given.labels.iter().flatten() {
        if !LABEL_KEY.is_match(key) || !(value.is_empty() || LABEL_VALUE.is_match(value)) {
            findings.problem(
                &path.key("labels").key(key),
                Reason::Invalid,
                format!("`{key}: {value}` is not a label"),
                "write a label's key and its value",
            );
        }
    }
}

/// Where traffic from outside comes from cannot be known here, except for OpenShift's routers. A policy that
/// names no other pods and namespaces certainly keeps it out.
fn warn_of_locked_out_controller(blueprint: &Blueprint, findings: &mut Findings) {
    let Some(exposure) = exposure::exposure(blueprint) else { return };
    let allowed = blueprint.networking().allowed_from.clone().unwrap_or_default();
    // On OpenShift the routers also serve Ingresses.
    let by_routers = match exposure.via {
        Via::Route => true,
        Via::Ingress => blueprint.serves(ObjectKind::Route.api()),
        Via::HttpRoute(_) => false,
    };
    let (locked_out, remedy) = if by_routers {
        (
            admits_named_alone(blueprint.spec) && !names_routers(&allowed),
            "expose the gateway instead, or add openshift-ingress to allowedFrom.namespaces",
        )
    } else {
        (
            names_none(&allowed),
            "add the namespace of the Ingress controller or Gateway to allowedFrom.namespaces",
        )
    };
    if locked_out {
        findings.warning(
            &FieldPath::spec().key("networking").key("allowedFrom"),
            Reason::Conflict,
            "the NetworkPolicy keeps out the controller through which the server is exposed",
            remedy,
        );
    }
}

fn names_none(allowed: &AllowedFromSpec) -> bool {
    let AllowedFromSpec { namespaces, labels, pods } = allowed;
    let lists = [namespaces, labels];
    lists.into_iter().flatten().all(Vec::is_empty) && pods.as_ref().is_none_or(Vec::is_empty)
}

/// Whether OpenShift's routers may be among those whom the resource names. Labels may be theirs.
fn names_routers(allowed: &AllowedFromSpec) -> bool {
    let is_theirs = |name: &String| name == ROUTER_NAMESPACE || name == "*";
    let mut to_server = allowed.pods.iter().flatten().filter(|pods| pods.ports.is_none());
    allowed.namespaces.iter().flatten().any(is_theirs)
        || allowed.labels.as_ref().is_some_and(|labels| !labels.is_empty())
        || to_server.any(|pods| pods.namespace.as_ref().is_some_and(is_theirs))
}
