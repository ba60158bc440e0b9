//! Two policies on what a resource lets its author do through the operator: fields that make of the server's
//! pod another pod are denied to users who cannot create pods, and Secrets that the author cannot read are
//! remarked on. Both judge only what a request adds or changes, so that a user without these permissions can
//! still edit the rest of the resource.

use serde_json::{Value, json};

use super::resource_policy::{PODS, ResourcePolicy, SECRETS, variable};
use crate::v1alpha2::PROVIDER_APIS;

/// The overrides by which the server's pod becomes whatever a pod can be. A probe with `exec` runs any
/// command, and other components act on labels and annotations: they inject containers or attach networks.
const LIKE_PODS: [&str; 8] = [
    "serviceAccountName",
    "command",
    "args",
    "probes",
    "volumes",
    "podLabels",
    "podAnnotations",
    "securityContext",
];

/// How many comparisons a part of the spec may take. Beyond that it is judged as a whole, because an
/// expression must not cost more than 1,000,000.
const MOST_COMPARISONS: u32 = 100_000;

/// Asks the API server whether the user has a permission in the resource's namespace. One question costs
/// 350,000 of the 1,000,000 that an expression may cost, so it comes last, and at most twice.
fn may(verb: &str, resource: &str) -> String {
    format!(
        "authorizer.group('').resource('{resource}').namespace(request.namespace)\
         .check('{verb}').allowed()"
    )
}

/// What requires permission to create pods.
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
    let says = "requires permission to create pods in this namespace";
    let remedy = "ask a user who has it to set this field, or remove it";
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
    let [spec, spec_before] = ["variables.spec", "variables.spec_before"];
    let mut variables = Vec::from(specs());
    variables.push(variable("entries", &entries_in(spec)));
    // A provider that names no Secret names none that this empty one does not name.
    let before = format!("({}).map(l, l + [dyn({{}})])", entries_in(spec_before));
    variables.push(variable("entries_before", &before));
    variables.push(variable("named", &named_in(spec)));
    variables.push(variable("named_before", &named_in(spec_before)));
    variables.push(variable("adds_to_providers", &adds_to_providers()));
    variables.push(variable("adds_elsewhere", &adds_elsewhere()));
    ResourcePolicy {
        name: SECRETS,
        actions: &["Warn", "Audit"],
        match_conditions: json!([]),
        variables: json!(variables),
        validations: json!([{
            "expression": format!(
                "!(variables.adds_to_providers || variables.adds_elsewhere) || {} || {}",
                may("get", "secrets"),
                may("create", "pods"),
            ),
            "reason": "Forbidden",
            "message": "spec: names Secrets, but you do not have permission to read Secrets in this \
                        namespace; a user with `get secrets` or `create pods` must set these fields",
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

/// Whether a provider names a Secret that no provider of its API named before, in the same field. Providers
/// that did not change are passed over first, which is cheap.
fn adds_to_providers() -> String {
    let of_before = "variables.entries_before[i]";
    let names_no_more = "(!has(e.apiKey) || e.?apiKey == b.?apiKey) && \
                         (type(e.?host.orValue('')) != map || e.?host == b.?host) && \
                         (!has(e.secretRefs) || (has(b.secretRefs) && e.secretRefs.all(k, \
                         k in b.secretRefs && b.secretRefs[k] == e.secretRefs[k])))";
    format!(
        "{}.exists(i, variables.entries[i].exists(e, !(e in {of_before}) && \
         !{of_before}.exists(b, {names_no_more})))",
        indexes(2 * PROVIDER_APIS.len())
    )
}

/// Whether another part of the spec names a Secret that the same part did not name before.
fn adds_elsewhere() -> String {
    let [part, before] = ["variables.named[i]", "variables.named_before[i]"];
    format!(
        "{}.exists(i, size({part}) * size({before}) > {MOST_COMPARISONS} ? {part} != {before} : \
         {part}.exists(r, !(r in {before})))",
        indexes(PARTS)
    )
}

fn indexes(count: usize) -> String {
    format!("{:?}", (0..count).collect::<Vec<_>>())
}

/// The providers of each API, and then the external ones, as one list for each. An API without any has an
/// empty list, so that the lists of two specs correspond.
fn entries_in(spec: &str) -> String {
    let apis = PROVIDER_APIS.map(|api| format!("'{api}'")).join(", ");
    let entries = ["providers", "externalProviders"].map(|field| {
        let providers = format!("{spec}.?{field}.orValue({{}})");
        format!(
            "[{apis}].map(a, a in {providers} ? {providers}[a] : [])\
             .map(p, type(p) == list ? p : [p]).map(l, l.filter(e, type(e) == map))"
        )
    });
    entries.join(" + ")
}

/// How many parts [`named_in`] has.
const PARTS: usize = 6;

/// What the rest of a spec names Secrets by, in a list for each part.
fn named_in(spec: &str) -> String {
    let overrides = format!("{spec}.?workload.?overrides");
    let access = format!("{spec}.?access.?authentication");
    let parts: [String; PARTS] = [
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
