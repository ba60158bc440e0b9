//! What the operator may do, by its account, and what the caller may do.

use futures::StreamExt;
use futures::stream;
use kube::Client;
use llsd_api::{GROUP, PLURAL};
use llsd_install::{NeededRight, needed_rights};
use serde_json::{Value, json};

use super::api::post;
use super::deployment::InstalledOperator;
use super::finding::{Finding, INSTALL};

const OPERATOR: &str = "operator's rights";
const OWN: &str = "your rights";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1";
/// How many questions are asked at the same time.
const AT_ONCE: usize = 16;
/// The most rights that are named.
const NAMED: usize = 4;

/// VerbOnResource, group and resource.
type VerbOnResource = (&'static str, &'static str, &'static str);

/// What a person does, and the rights that it takes in the namespace.
const OF_CALLER: [(&str, &[VerbOnResource]); 5] = [
    ("read resources", &[("get", GROUP, PLURAL), ("list", GROUP, PLURAL)]),
    (
        "write resources",
        &[("create", GROUP, PLURAL), ("patch", GROUP, PLURAL), ("delete", GROUP, PLURAL)],
    ),
    (
        "use llsd status and history",
        &[("get", "apps", "deployments"), ("list", "apps", "replicasets")],
    ),
    ("use llsd logs", &[("list", "", "pods"), ("get", "", "pods/log")]),
    ("use llsd restart", &[("patch", "apps", "deployments")]),
];

/// All that the operator needs.
pub(super) async fn of_operator(client: &Client, operator: &InstalledOperator) -> Finding {
    let InstalledOperator { account, setup } = operator;
    let namespace = &setup.namespace;
    let needed = needed_rights(setup);
    let subject = json!({
        "user": format!("system:serviceaccount:{namespace}:{account}"),
        "groups": [
            "system:serviceaccounts",
            format!("system:serviceaccounts:{namespace}"),
            "system:authenticated",
        ],
    });
    let mut answers = stream::iter(&needed)
        .map(async |right| {
            (right, is_allowed(client, "subjectaccessreviews", &subject, right).await)
        })
        .buffered(AT_ONCE);
    let mut lacking = Vec::new();
    while let Some((right, answer)) = answers.next().await {
        match answer {
            Ok(true) => {}
            Ok(false) => lacking.push(right),
            Err(error) => return Finding::unasked(OPERATOR, &error),
        }
    }
    judged(needed.len(), &lacking, setup.watched.is_empty())
}

fn judged(asked: usize, lacking: &[&NeededRight], everywhere: bool) -> Finding {
    let Some(first) = lacking.first() else {
        let place = if everywhere { "in all namespaces" } else { "in its namespaces" };
        return Finding::ok(OPERATOR, format!("it has all {asked}, {place}"));
    };
    let named: Vec<String> = lacking.iter().take(NAMED).map(|right| words(right)).collect();
    let more = if lacking.len() > NAMED { ", …" } else { "" };
    Finding::problem(
        OPERATOR,
        format!("{} of {asked} are lacking: {}{more}", lacking.len(), named.join(", ")),
        format!("the role {} of the install files gives the first; {INSTALL}", first.role),
    )
}

fn words(right: &NeededRight) -> String {
    let NeededRight { verb, resource, namespace, .. } = right;
    match namespace {
        Some(namespace) => format!("{verb} {resource} in {namespace}"),
        None => format!("{verb} {resource}"),
    }
}

/// What the caller may do with resources of a namespace. Not everyone has to.
pub(super) async fn of_caller(client: &Client, namespace: &str) -> Vec<Finding> {
    let mut may = Vec::new();
    let mut findings = Vec::new();
    for (does, rights) in OF_CALLER {
        let mut lacking = Vec::new();
        for (verb, group, resource) in rights {
            let right = NeededRight {
                role: "",
                verb: (*verb).to_owned(),
                group: (*group).to_owned(),
                resource: (*resource).to_owned(),
                name: None,
                namespace: Some(namespace.to_owned()),
            };
            match is_allowed(client, "selfsubjectaccessreviews", &json!({}), &right).await {
                Ok(true) => {}
                Ok(false) => lacking.push(format!("{verb} {resource}")),
                Err(error) => return vec![Finding::unasked(OWN, &error)],
            }
        }
        if lacking.is_empty() {
            may.push(does);
        } else {
            findings.push(Finding::warning(
                OWN,
                format!(
                    "in namespace {namespace} you may not {does}: {} is lacking",
                    lacking.join(", ")
                ),
                "ask who administers the namespace for the role edit, or view to look only",
            ));
        }
    }
    if !may.is_empty() {
        let says = format!("in namespace {namespace} you may {}", may.join(", "));
        findings.insert(0, Finding::ok(OWN, says));
    }
    findings
}

async fn is_allowed(
    client: &Client,
    review: &str,
    subject: &Value,
    right: &NeededRight,
) -> kube::Result<bool> {
    let NeededRight { verb, group, resource, name, namespace, .. } = right;
    let (resource, sub) = resource.split_once('/').unwrap_or((resource, ""));
    let mut spec = subject.clone();
    spec["resourceAttributes"] = json!({
        "verb": verb, "group": group, "resource": resource, "subresource": sub,
        "name": name.as_deref().unwrap_or_default(),
        "namespace": namespace.as_deref().unwrap_or_default(),
    });
    let kind =
        if review.starts_with("self") { "SelfSubjectAccessReview" } else { "SubjectAccessReview" };
    let object = json!({"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec});
    let answer = post(client, &format!("{REVIEWS}/{review}"), &object).await?;
    Ok(answer["status"]["allowed"] == true)
}

#[cfg(test)]
mod tests {
    use llsd_install::OperatorSetup;

    use super::super::finding::Level;
    use super::*;

    #[test]
    fn rights_that_are_lacking_are_named_with_the_role_that_should_give_them() {
        let of_team = OperatorSetup {
            watched: vec!["team".to_owned()],
            ..OperatorSetup::by_default("operators")
        };
        let needed = needed_rights(&of_team);
        let lacking: Vec<&NeededRight> =
            needed.iter().filter(|right| right.resource == "deployments").collect();
        let found = judged(needed.len(), &lacking, false);
        assert_eq!(found.level, Level::Problem);
        assert!(found.says.contains("get deployments in team, "), "{found:?}");
        let remedy = found.remedy.unwrap();
        assert!(remedy.contains("llama-stack-k8s-operator-manager-role"), "{remedy}");
        // Other files would take away what Helm, OLM or cert-manager added.
        assert!(remedy.contains("apply the files that you installed it with, for example: "));
        assert_eq!(judged(needed.len(), &[], true).level, Level::Ok);
    }
}
