//! Two policies on what a resource lets its author do by way of the operator: what only those who may
//! create pods could do otherwise is denied to others, and Secrets that the author cannot reach are
//! remarked on. Both judge what changed alone, so that an unrelated edit by somebody else passes.

use serde_json::{Value, json};

use super::resource_policy::{PODS, ResourcePolicy, SECRETS, variable};
use crate::v1alpha2::PROVIDER_APIS;

/// The overrides that make of the server's pod whatever a pod can be.
const LIKE_PODS: [&str; 6] =
    ["serviceAccountName", "command", "args", "volumes", "podLabels", "securityContext"];

/// Asked of the API server: whether the user has a right in the resource's namespace. It costs a third of
/// what an expression may cost, so it is asked last, and once or twice.
fn may(verb: &str, resource: &str) -> String {
    format!(
        "authorizer.group('').resource('{resource}').namespace(request.namespace)\
         .check('{verb}').allowed()"
    )
}

/// What takes the right to create pods.
pub(super) fn of_pods() -> ResourcePolicy {
    let fields = LIKE_PODS.map(|field| format!("'{field}'")).join(", ");
    let mut variables = Vec::from(specs());
    for [name, spec] in [["overrides", "spec"], ["overrides_before", "spec_before"]] {
        let overrides = format!("variables.{spec}.?workload.?overrides.orValue({{}})");
        variables.push(variable(name, &overrides));
    }
    for [name, spec] in [["claim", "spec"], ["claim_before", "spec_before"]] {
        let claim = format!("variables.{spec}.?workload.?storage.?existingClaim.orValue('')");
        variables.push(variable(name, &claim));
    }
    variables.push(variable(
        "taken",
        &format!(
            "[{fields}].filter(f, f in variables.overrides && size(variables.overrides[f]) > 0 && \
             !(f in variables.overrides_before && \
             variables.overrides[f] == variables.overrides_before[f])).map(f, 'overrides.' + f) + \
             (variables.claim == '' || variables.claim == variables.claim_before ? [] : ['storage.existingClaim'])"
        ),
    ));
    let says = "takes the right to create pods in this namespace, which you do not have";
    let remedy = "let somebody set it who has that right, or leave it out";
    ResourcePolicy {
        name: PODS,
        actions: &["Deny"],
        match_conditions: json!([]),
        variables: json!(variables),
        validations: json!([{
            "expression": format!("variables.taken.size() == 0 || {}", may("create", "pods")),
            "reason": "Forbidden",
            "message": format!("spec.workload: {says}; {remedy}"),
            "messageExpression":
                format!("'spec.workload: ' + variables.taken.join(', ') + ': {says}; {remedy}'"),
        }]),
    }
}

/// What names Secrets.
pub(super) fn of_secrets() -> ResourcePolicy {
    let mut variables = Vec::from(specs());
    variables.push(variable("named", &named_in("variables.spec")));
    variables.push(variable("named_before", &named_in("variables.spec_before")));
    ResourcePolicy {
        name: SECRETS,
        actions: &["Warn", "Audit"],
        match_conditions: json!([]),
        variables: json!(variables),
        validations: json!([{
            "expression": format!(
                "variables.named == variables.named_before || \
                 !variables.named.exists(l, size(l) > 0) || {} || {}",
                may("get", "secrets"),
                may("create", "pods"),
            ),
            "reason": "Forbidden",
            "message": "spec: names Secrets of this namespace, which you may not read; the server gets \
                        them all the same, so let somebody name them who has the right to get Secrets \
                        or to create pods",
        }]),
    }
}

/// The spec as it is to be, and as it is.
fn specs() -> [Value; 2] {
    [
        variable("spec", "has(object.spec) ? object.spec : dyn({})"),
        variable(
            "spec_before",
            "oldObject != null && has(oldObject.spec) ? oldObject.spec : dyn({})",
        ),
    ]
}

/// All that names a Secret in a spec, part by part. Maps have no order and are compared as they are.
fn named_in(spec: &str) -> String {
    let overrides = format!("{spec}.?workload.?overrides");
    let access = format!("{spec}.?access.?authentication");
    let parts = [
        of_entries(&format!("{spec}.?providers")),
        of_entries(&format!("{spec}.?externalProviders")),
        format!(
            "[?{spec}.?storage.?kv.?password, ?{spec}.?storage.?sql.?connectionString, \
             ?{access}.?oidc.?introspection.?clientSecret, ?{spec}.?networking.?tls.?secretName]"
        ),
        format!("{access}.?apiKeys.orValue([])"),
        format!(
            "[{spec}.?networking.?expose.orValue(false)]\
             .filter(e, type(e) == map && has(e.tlsSecretName)).map(e, e.tlsSecretName)"
        ),
        format!("{overrides}.?imagePullSecrets.orValue([])"),
        format!(
            "{overrides}.?env.orValue([]).filter(v, v.?valueFrom.?secretKeyRef.hasValue())\
             .map(v, v.valueFrom.secretKeyRef)"
        ),
        format!("{overrides}.?envFrom.orValue([]).filter(f, has(f.secretRef)).map(f, f.secretRef)"),
    ];
    format!("[{}]", parts.map(|part| format!("dyn({part})")).join(", "))
}

/// What the providers of each API name, those that name nothing left out.
fn of_entries(providers: &str) -> String {
    let apis = PROVIDER_APIS.map(|api| format!("'{api}'")).join(", ");
    let providers = format!("{providers}.orValue({{}})");
    format!(
        "[{apis}].filter(a, a in {providers}).map(a, {providers}[a])\
         .map(p, type(p) == list ? p : [p])\
         .map(l, l.map(e, [?e.?apiKey, ?e.?secretRefs] + \
         [e.?host.orValue('')].filter(h, type(h) == map)).filter(n, size(n) > 0))\
         .filter(l, size(l) > 0)"
    )
}
