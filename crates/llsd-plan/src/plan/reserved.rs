//! What belongs to the operator itself, and no resource may name: its accounts, under which a pod would have the
//! rights of the operator, and its Secrets. Where tenants have resources in the operator's own namespace, naming
//! them would be the way to become the operator.

use k8s_openapi::api::core::v1::Volume;
use llsd_api::v1alpha2::LlamaStackDistributionSpec;

use super::references;
use crate::facts::OperatorFacts;
use crate::objects::ObjectKind;
use crate::problems::{FieldPath, Findings, Reason};

/// Reports every field of a resource in the operator's namespace that names something of the operator's.
pub(super) fn check(
    spec: &LlamaStackDistributionSpec,
    namespace: &str,
    operator: &OperatorFacts,
    findings: &mut Findings,
) {
    if operator.namespace.as_deref() != Some(namespace) {
        return;
    }
    let named = references::walk(spec).into_iter().filter(|it| it.namespace.is_none());
    let mut named: Vec<_> = named.map(|it| (it.path, it.kind, it.name)).collect();
    let overrides = spec.workload.as_ref().and_then(|workload| workload.overrides.as_ref());
    let path = FieldPath::spec().key("workload").key("overrides").key("volumes");
    for (index, volume) in
        overrides.and_then(|it| it.volumes.as_ref()).into_iter().flatten().enumerate()
    {
        let secrets = secrets_of(volume).into_iter();
        named.extend(secrets.map(|name| (path.index(index), ObjectKind::Secret, name)));
    }
    for (path, kind, name) in named {
        let reserved = match kind {
            ObjectKind::Secret => &operator.own_secrets,
            ObjectKind::ServiceAccount => &operator.own_accounts,
            _ => continue,
        };
        if reserved.contains(&name) {
            findings.problem(
                &path,
                Reason::Conflict,
                format!("{} {name} is the operator's own", kind.name()),
                "name one of yours",
            );
        }
    }
}

/// The Secrets that a volume shows, in whichever way.
fn secrets_of(volume: &Volume) -> Vec<String> {
    let secret = volume.secret.as_ref().and_then(|secret| secret.secret_name.clone());
    let sources = volume.projected.iter().flat_map(|projected| projected.sources.iter().flatten());
    let projected = sources.filter_map(|source| Some(source.secret.as_ref()?.name.clone()));
    let references = [
        volume.csi.as_ref().and_then(|it| it.node_publish_secret_ref.as_ref()),
        volume.cephfs.as_ref().and_then(|it| it.secret_ref.as_ref()),
        volume.flex_volume.as_ref().and_then(|it| it.secret_ref.as_ref()),
        volume.iscsi.as_ref().and_then(|it| it.secret_ref.as_ref()),
        volume.rbd.as_ref().and_then(|it| it.secret_ref.as_ref()),
        volume.scale_io.as_ref().map(|it| &it.secret_ref),
        volume.storageos.as_ref().and_then(|it| it.secret_ref.as_ref()),
        volume.cinder.as_ref().and_then(|it| it.secret_ref.as_ref()),
    ];
    let azure = volume.azure_file.as_ref().map(|it| it.secret_name.clone());
    let named = references.into_iter().flatten().map(|reference| reference.name.clone());
    secret.into_iter().chain(projected).chain(named).chain(azure).collect()
}

#[cfg(test)]
mod tests {
    use llsd_api::policy;
    use llsd_api::v1alpha2::PROVIDER_APIS;
    use llsd_cases::secret_fields::secret_fields;
    use serde_json::{Value, json};

    use super::*;

    fn problems(namespace: &str, spec: Value) -> Vec<String> {
        let operator = OperatorFacts {
            namespace: Some("system".to_owned()),
            own_accounts: ["operator".to_owned()].into(),
            own_secrets: ["own-key".to_owned()].into(),
            ..OperatorFacts::default()
        };
        let mut findings = Findings::default();
        check(&serde_json::from_value(spec).unwrap(), namespace, &operator, &mut findings);
        findings.problems.iter().map(|problem| problem.path.to_string()).collect()
    }

    #[test]
    fn nothing_of_the_operators_own_can_be_named_in_its_namespace() {
        let source = json!({"name": "own-key"});
        let overrides = json!({
            "serviceAccountName": "operator",
            "imagePullSecrets": [{"name": "own-key"}, {"name": "mine"}],
            "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "own-key", "key": "k"}}}],
            "envFrom": [{"secretRef": source}],
            "volumes": [
                {"name": "a", "secret": {"secretName": "own-key"}},
                {"name": "b", "projected": {"sources": [{"secret": source}]}},
                {"name": "c", "csi": {"driver": "d", "nodePublishSecretRef": source}},
                {"name": "d", "secret": {"secretName": "mine"}},
            ],
        });
        let spec = json!({
            "distribution": {"name": "starter"}, "workload": {"overrides": overrides},
            "providers": {"inference": {
                "provider": "vllm", "apiKey": {"secretKeyRef": {"name": "own-key", "key": "key"}},
            }},
            "networking": {"expose": {"tlsSecretName": "own-key"}},
        });
        let overrides_at = "spec.workload.overrides";
        let expected = [
            "spec.providers.inference.apiKey".to_owned(),
            "spec.networking.expose.tlsSecretName".to_owned(),
            format!("{overrides_at}.serviceAccountName"),
            format!("{overrides_at}.imagePullSecrets[0].name"),
            format!("{overrides_at}.env[0].valueFrom.secretKeyRef"),
            format!("{overrides_at}.envFrom[0].secretRef"),
            format!("{overrides_at}.volumes[0]"),
            format!("{overrides_at}.volumes[1]"),
            format!("{overrides_at}.volumes[2]"),
        ];
        assert_eq!(problems("system", spec.clone()), expected);
        assert!(problems("elsewhere", spec).is_empty(), "there they belong to others");
    }

    /// What the expressions of a policy say, without the marks of optional fields.
    fn expressions(name: &str) -> String {
        let policies = policy::manifests();
        let is_it =
            |it: &&Value| it["metadata"]["name"] == name && it["spec"]["variables"].is_array();
        let policy = policies.iter().find(is_it).unwrap();
        policy["spec"]["variables"].to_string().replace('?', "")
    }

    /// Whether expressions have these fields in a row, such as `storage.kv.password`.
    fn have(expressions: &str, fields: &str) -> bool {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        expressions.match_indices(fields).any(|(at, _)| {
            !expressions[..at].ends_with(is_name)
                && !expressions[at + fields.len()..].starts_with(is_name)
        })
    }

    /// The pieces of a path that stand in a row. Lists, maps and the names of APIs interrupt it.
    fn pieces(path: &[Option<String>]) -> Vec<String> {
        let steps = path.iter().map(|step| match step.as_deref() {
            None => "|".to_owned(),
            Some(api) if PROVIDER_APIS.contains(&api) => format!("|{api}|"),
            Some(field) => field.to_owned(),
        });
        let joined = steps.collect::<Vec<_>>().join(".");
        let pieces = joined.split('|').map(|piece| piece.trim_matches('.').to_owned());
        pieces.filter(|piece| !piece.is_empty()).collect()
    }

    /// Here, and in the policies on what authors of resources may do: a field that the policy on Secrets does
    /// not have must be one that requires permission to create pods.
    #[test]
    fn every_field_that_names_a_secret_is_looked_at() {
        let [secrets, pods] = [policy::SECRETS, policy::PODS].map(expressions);
        let fields = secret_fields("own-key");
        assert!(fields.len() > 70, "{}", fields.len());
        for field in fields {
            let path = &field.path;
            assert_eq!(problems("system", field.spec.clone()).len(), 1, "{path:?}");
            let pieces = pieces(path);
            let is_judged = pieces.iter().all(|piece| have(&secrets, piece));
            let of_pods = pieces[0].strip_prefix("workload.overrides.");
            let of_pods = of_pods.is_some_and(|field| have(&pods, field));
            assert!(is_judged || of_pods, "{path:?}");
        }
        assert!(!have(&secrets, "storage.kv.endpoint") && !have(&pods, "env"));
    }
}
