//! Whether what changes of a server comes from inputs that it shares with others, and so may have to wait.

use super::record::{Member, Wave};
use super::sources::{Source, is_shared, of_variables};
use crate::live::{DeploymentDetail, LiveObject};
use crate::objects::{PlannedObject, labels};
use crate::resource::Resource;
use crate::resource::template_inputs::{CA_BUNDLE, IMAGE, Inputs, VARIABLES, is_word, told};

/// What a planned Deployment changes of shared inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SharedChange {
    /// Nothing that waits or counts: also what a change of the server's own takes with it, and what reaches one
    /// that does not serve.
    None,
    /// Something, and it waits for no other server: its user asks for it, or a place is the server's already.
    Joins(Wave),
    /// Nothing but this, in the words that people are told.
    Asks(Wave, Vec<String>),
}

/// Compares a planned Deployment with what the live one was made from. `is_used_by_others` says of an object
/// whether another resource names it, `has_cluster_bundle` whether the cluster gives certificate authorities to
/// the namespace, `now` what time it is.
pub fn shared_change(
    resource: &Resource,
    planned: &PlannedObject,
    live: Option<&LiveObject>,
    has_cluster_bundle: bool,
    is_used_by_others: impl Fn(&Source) -> bool,
    now: i64,
) -> SharedChange {
    let annotations = &planned.json["metadata"]["annotations"];
    let live = live.filter(|live| !live.deleting).and_then(LiveObject::deployment);
    let (Some(live), Some(spec)) = (live, &resource.spec) else { return SharedChange::None };
    let planned = annotations[labels::INPUTS].as_str().map(Inputs::parse).unwrap_or_default();
    let recorded = live.inputs.as_deref().map(Inputs::parse).unwrap_or_default();
    let changes: Vec<&str> = planned.changes(&recorded).collect();
    let is_planned_alike = live.template.as_deref() == annotations[labels::TEMPLATE_HASH].as_str();
    if changes.is_empty() || is_planned_alike {
        return SharedChange::None;
    }
    let namespace = &*resource.key.namespace;
    let variables = planned.changed_variables(&recorded);
    let of_variables: Vec<Source> =
        variables.iter().filter_map(|(object, _)| of_variables(object, namespace)).collect();
    let (shared, own): (Vec<&str>, Vec<&str>) = changes.into_iter().partition(|part| {
        let is_used = &is_used_by_others;
        is_shared(part, spec, namespace, &of_variables, has_cluster_bundle, is_used)
    });
    // Whatever becomes of the server then does not tell of the shared change. Of an adopted Deployment any change
    // of the spec takes the template over.
    let is_edited = !own.iter().all(|part| is_word(part)) || live.adopted && !live.is_for(resource);
    if shared.is_empty() || is_edited {
        return SharedChange::None;
    }
    // Servers with other variables beside have that object's value in common.
    let parts = shared.iter().flat_map(|part| match *part {
        VARIABLES if !variables.is_empty() => variables.iter().map(|(_, part)| *part).collect(),
        part => vec![part],
    });
    let inputs = parts.filter_map(|part| Some(named(part, planned.get(part)?, namespace)));
    let wave = Wave { inputs: inputs.collect(), ..Wave::default() };
    let has_place = |member: &Member| member.is_changing() || member.is_down();
    match Member::from_deployment(live, now).filter(has_place) {
        Some(member) => SharedChange::Joins(wave.beside(&member.wave)),
        None if !own.is_empty() => SharedChange::Joins(wave),
        None if !serves(live) => SharedChange::None,
        None => SharedChange::Asks(wave, told(shared)),
    }
}

/// One that does not serve has nothing to lose, and counts as down for other reasons.
fn serves(live: &DeploymentDetail) -> bool {
    live.state.wanted > 0 && live.state.available > 0
}

/// Objects of two namespaces are two, although they have one name.
fn named(part: &str, hash: &str, namespace: &str) -> String {
    match part {
        IMAGE | CA_BUNDLE => format!("{part}={hash}"),
        part => format!("{namespace}/{part}={hash}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::objects::ObjectKind;

    const BEFORE: &str = "approve=- ca-bundle=11 image=- pods=11 secret:keys/token=11";

    fn resource() -> Resource {
        Resource::parse(&json!({
            "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
            "metadata": {"name": "llama", "namespace": "team", "generation": 3},
            "spec": {"distribution": {"name": "starter"}},
        }))
    }

    fn change(now: &str, available: i32, wave: Option<&str>) -> SharedChange {
        change_of(now, available, |annotations| {
            annotations[labels::WAVE] = json!(wave);
        })
    }

    /// Of a Deployment that has these annotations, too.
    fn change_of(now: &str, available: i32, annotate: impl FnOnce(&mut Value)) -> SharedChange {
        let json = json!({"metadata": {"annotations": {
            labels::INPUTS: now, labels::TEMPLATE_HASH: "new",
        }}});
        let planned = PlannedObject { kind: ObjectKind::Deployment, name: "llama".into(), json };
        let mut live = json!({
            "metadata": {"name": "llama", "namespace": "team", "annotations": {
                labels::INPUTS: BEFORE, labels::TEMPLATE_HASH: "old",
            }},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": {labels::INSTANCE: "llama"}},
            },
            "status": {"replicas": 1, "updatedReplicas": 1, "availableReplicas": available},
        });
        annotate(&mut live["metadata"]["annotations"]);
        let (_, live) = LiveObject::parse(ObjectKind::Deployment, &live).unwrap();
        let is_used = |source: &Source| source.name == "keys";
        shared_change(&resource(), &planned, Some(&live), true, is_used, 0)
    }

    fn changed(part: &str) -> String {
        let name = part.split_once('=').unwrap().0;
        let others = BEFORE.split(' ').filter(|it| !it.starts_with(&format!("{name}=")));
        others.chain([part]).collect::<Vec<_>>().join(" ")
    }

    fn wave(inputs: &[&str]) -> Wave {
        let inputs = inputs.iter().map(|it| (*it).to_owned()).collect();
        Wave { inputs, ..Wave::default() }
    }

    #[test]
    fn only_a_change_of_shared_inputs_alone_asks_for_a_turn() {
        let asks =
            |input: &str, word: &str| SharedChange::Asks(wave(&[input]), vec![word.to_owned()]);
        assert_eq!(change(BEFORE, 1, None), SharedChange::None);
        assert_eq!(change(&changed("ca-bundle=22"), 1, None), asks("ca-bundle=22", "ca-bundle"));
        let rotated = asks("team/secret:keys/token=22", "secret:keys/token");
        assert_eq!(change(&changed("secret:keys/token=22"), 1, None), rotated);
        assert_eq!(change(&changed("pods=22"), 1, None), SharedChange::None);
        let approved = changed("ca-bundle=22").replace("approve=-", "approve=22");
        assert_eq!(change(&approved, 1, None), SharedChange::Joins(wave(&["ca-bundle=22"])));
        let edited = changed("ca-bundle=22").replace("pods=11", "pods=22");
        assert_eq!(change(&edited, 1, None), SharedChange::None, "its user takes it along");
    }

    #[test]
    fn a_server_that_does_not_serve_waits_for_no_other() {
        let new = changed("ca-bundle=22");
        assert_eq!(change(&new, 0, None), SharedChange::None, "it is down for another reason");
        let record = r#"{"inputs": ["ca-bundle=11", "image=33"], "template": "old"}"#;
        let both = || SharedChange::Joins(wave(&["ca-bundle=22", "image=33"]));
        assert_eq!(change(&new, 0, Some(record)), both(), "it is a part of a wave");
        let failed = record.replace('}', r#", "failed": true}"#);
        assert_eq!(change(&new, 0, Some(&failed)), both(), "its failure was of another value");
        let asks = SharedChange::Asks(wave(&["ca-bundle=22"]), vec!["ca-bundle".to_owned()]);
        assert_eq!(change(&new, 1, Some(&failed)), asks, "it serves as before");
        let edited = new.replace("pods=11", "pods=22");
        assert_eq!(change(&edited, 0, Some(record)), SharedChange::None, "it counts no more");
    }

    #[test]
    fn any_edit_of_an_adopted_server_takes_the_shared_change_along() {
        let new = changed("ca-bundle=22");
        let adopted = |planned_for: &str| {
            change_of(&new, 1, |annotations| {
                annotations[labels::ADOPTED] = json!("true");
                annotations[labels::PLANNED_FOR] = json!(planned_for);
            })
        };
        assert_eq!(adopted("2-"), SharedChange::None, "for example of the number of pods");
        assert!(matches!(adopted(&resource().state().unwrap()), SharedChange::Asks(..)));
    }
}
