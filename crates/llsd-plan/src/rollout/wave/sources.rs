//! Where the inputs of a pod template come from that more than one resource may name: an object of a
//! namespace, or the operator's own configuration.

use llsd_api::v1alpha2::LlamaStackDistributionSpec;

use crate::objects::ObjectKind;
use crate::objects::ca_bundle::OPENSHIFT_AI_BUNDLE;
use crate::plan::references::{Purpose, Reference, walk};
use crate::resource::template_inputs::{CA_BUNDLE, CONFIG, IMAGE, SECRET, VARIABLES};

/// A Secret or ConfigMap that resources name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    pub kind: ObjectKind,
    pub namespace: String,
    pub name: String,
}

/// Whether a spec of this namespace names an object that its pods read.
pub fn names_source(spec: &LlamaStackDistributionSpec, namespace: &str, source: &Source) -> bool {
    walk(spec).into_iter().any(|reference| {
        is_read_by_pods(reference.purpose) && of_reference(reference, namespace) == *source
    })
}

/// An object that variables are made from, as a record of inputs names it: `Secret/keys`.
pub(super) fn of_variables(object: &str, namespace: &str) -> Option<Source> {
    let (kind, name) = object.split_once('/')?;
    let kinds = [ObjectKind::Secret, ObjectKind::ConfigMap];
    let kind = kinds.into_iter().find(|known| known.name() == kind)?;
    Some(Source { kind, namespace: namespace.to_owned(), name: name.to_owned() })
}

/// Whether an input comes from something that other resources use, too. `variables` are the objects whose values
/// for the user's own variables changed, where that is known; `is_used_by_others` says of an object whether others
/// use it, `has_cluster_bundle` that the cluster gives certificate authorities to the namespace.
pub(super) fn is_shared(
    part: &str,
    spec: &LlamaStackDistributionSpec,
    namespace: &str,
    variables: &[Source],
    has_cluster_bundle: bool,
    is_used_by_others: impl Fn(&Source) -> bool,
) -> bool {
    let of_purpose = |is_it: fn(Purpose) -> bool| {
        let all = walk(spec).into_iter().filter(move |reference| is_it(reference.purpose));
        all.map(|reference| of_reference(reference, namespace))
    };
    match part {
        IMAGE => true,
        CA_BUNDLE => {
            let mut bundles = of_purpose(|it| it == Purpose::CaBundle).peekable();
            // What the cluster gives is the same in every namespace, and so is its end.
            let is_of_cluster = has_cluster_bundle || bundles.peek().is_none();
            is_of_cluster
                || bundles.any(|it| it.name == OPENSHIFT_AI_BUNDLE || is_used_by_others(&it))
        }
        CONFIG => of_purpose(|it| it == Purpose::OverrideConfig).any(|it| is_used_by_others(&it)),
        // One of this resource alone must not wait.
        VARIABLES if !variables.is_empty() => variables.iter().all(is_used_by_others),
        VARIABLES => {
            let mut objects = of_purpose(is_variable).peekable();
            objects.peek().is_some() && objects.all(|it| is_used_by_others(&it))
        }
        part => {
            part.strip_prefix(SECRET).and_then(|it| it.split_once('/')).is_some_and(|(name, _)| {
                let (namespace, name) = (namespace.to_owned(), name.to_owned());
                is_used_by_others(&Source { kind: ObjectKind::Secret, namespace, name })
            })
        }
    }
}

fn of_reference(reference: Reference, namespace: &str) -> Source {
    let Reference { kind, namespace: elsewhere, name, .. } = reference;
    Source { kind, namespace: elsewhere.unwrap_or_else(|| namespace.to_owned()), name }
}

fn is_variable(purpose: Purpose) -> bool {
    matches!(purpose, Purpose::Variable | Purpose::OptionalVariable)
}

fn is_read_by_pods(purpose: Purpose) -> bool {
    match purpose {
        Purpose::ProviderSecret
        | Purpose::AccessSecret
        | Purpose::RedisPassword
        | Purpose::ConnectionString
        | Purpose::Certificate
        | Purpose::CaBundle
        | Purpose::OverrideConfig
        | Purpose::Variable
        | Purpose::OptionalVariable => true,
        Purpose::IngressCertificate
        | Purpose::ServiceAccount
        | Purpose::PullSecret
        | Purpose::Claim => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::resource::Resource;

    fn spec(spec: &Value) -> LlamaStackDistributionSpec {
        let resource = json!({
            "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
            "metadata": {"name": "llama", "namespace": "team"}, "spec": spec,
        });
        Resource::parse(&resource).spec.unwrap()
    }

    #[test]
    fn an_input_is_shared_if_another_resource_names_its_object() {
        let variable = |name: &str| json!({"name": "A", "valueFrom": {"secretKeyRef": {"name": name, "key": "k"}}});
        let spec_with = |names: &[&str]| {
            let env: Vec<Value> = names.iter().map(|name| variable(name)).collect();
            spec(&json!({
                "distribution": {"name": "starter"},
                "networking": {"tls": {"caBundle": {
                    "configMapName": "roots", "configMapNamespace": "trust",
                }}},
                "workload": {"overrides": {"env": env}},
            }))
        };
        let one = spec_with(&["common"]);
        let others_use = |names: &'static [&'static str]| {
            move |source: &Source| {
                names.contains(&format!("{}/{}", source.namespace, source.name).as_str())
            }
        };
        let shared =
            |part: &str, spec, cluster, used| is_shared(part, spec, "team", &[], cluster, used);
        assert!(shared("image", &one, false, others_use(&[])));
        assert!(shared("ca-bundle", &one, false, others_use(&["trust/roots"])));
        assert!(!shared("ca-bundle", &one, false, others_use(&["team/roots"])));
        assert!(shared("ca-bundle", &one, true, others_use(&[])), "every namespace has it");
        let without = spec(&json!({"distribution": {"name": "starter"}}));
        assert!(shared("ca-bundle", &without, false, others_use(&[])), "it was the cluster's");
        assert!(shared("secret:keys/token", &one, false, others_use(&["team/keys"])));
        assert!(!shared("secret:keys/token", &one, false, others_use(&["other/keys"])));
        assert!(!shared("pods", &one, true, others_use(&["team/keys"])));
        assert!(shared("env", &one, false, others_use(&["team/common"])));
        let both = spec_with(&["common", "own"]);
        assert!(!shared("env", &both, false, others_use(&["team/common"])), "its own may be new");
        let after_change_of = |objects: &[&str]| {
            let objects: Vec<Source> =
                objects.iter().filter_map(|object| of_variables(object, "team")).collect();
            is_shared("env", &both, "team", &objects, false, others_use(&["team/common"]))
        };
        assert!(after_change_of(&["Secret/common"]), "its own is as it was");
        assert!(!after_change_of(&["Secret/common", "Secret/own"]));
        assert!(!after_change_of(&["Secret/own"]));
        let none = spec_with(&[]);
        assert!(!shared("env", &none, false, others_use(&["team/common"])));
    }

    #[test]
    fn a_spec_names_what_its_pods_read() {
        let spec = spec(&json!({
            "distribution": {"name": "starter"},
            "workload": {"overrides": {
                "envFrom": [{"secretRef": {"name": "keys"}}],
                "imagePullSecrets": [{"name": "pull"}],
            }},
        }));
        let names = |namespace: &str, name: &str| {
            let (namespace, name) = (namespace.to_owned(), name.to_owned());
            names_source(&spec, "team", &Source { kind: ObjectKind::Secret, namespace, name })
        };
        assert!(names("team", "keys"));
        assert!(!names("other", "keys") && !names("team", "pull"));
    }
}
