//! The `ValidatingAdmissionPolicies` on the resource: one judges what the CRD's schema and CEL cannot see,
//! the insides of fields that take two shapes, and two what its author may do. They work while the
//! operator does not run.

mod resource_policy;
mod rights;
mod validations;

use serde_json::{Value, json};

use crate::v1alpha2::PROVIDER_APIS;
use resource_policy::{REMOVAL, ResourcePolicy, variable};

pub use resource_policy::{NAME, PODS, SECRETS};

/// The policies, each with its binding.
pub fn manifests() -> Vec<Value> {
    let policies = [of_form(), rights::of_pods(), rights::of_secrets()];
    policies.iter().flat_map(|policy| [policy.to_json(), policy.binding()]).collect()
}

fn of_form() -> ResourcePolicy {
    ResourcePolicy {
        name: NAME,
        actions: &["Deny"],
        // A policy does not ratchet: without this an object that was stored invalid could not
        // even lose a finalizer.
        match_conditions: json!([{
            "name": "spec-changed",
            "expression": "request.operation == 'CREATE' || (!has(object.metadata.deletionTimestamp) && \
                           (!has(oldObject.spec) || !has(object.spec) || object.spec != oldObject.spec))",
        }]),
        variables: variables(),
        validations: validations::all(),
    }
}

fn variables() -> Value {
    let mut variables = vec![
        variable("spec", "has(object.spec) ? object.spec : dyn({})"),
        variable("providers", "has(variables.spec.providers) ? variables.spec.providers : dyn({})"),
        variable("resources", "has(variables.spec.resources) ? variables.spec.resources : dyn({})"),
        variable(
            "networking",
            "has(variables.spec.networking) ? variables.spec.networking : dyn({})",
        ),
    ];
    for api in PROVIDER_APIS {
        let field = format!("variables.providers.{api}");
        variables.push(variable(
            api,
            &format!("!has({field}) ? [] : type({field}) == list ? {field} : type({field}) == map ? [{field}] : []"),
        ));
    }
    for list in ["models", "tools", "shields"] {
        let field = format!("variables.resources.{list}");
        variables.push(variable(list, &format!("has({field}) ? {field} : dyn([])")));
    }
    for list in ["routes", "rules"] {
        let field = format!("variables.spec.access.{list}");
        variables.push(variable(
            &format!("access_{list}"),
            &format!("has(variables.spec.access) && has({field}) ? {field} : dyn([])"),
        ));
    }
    variables.extend(of_providers());
    Value::Array(variables)
}

/// The providers of all APIs, and their ids.
fn of_providers() -> [Value; 6] {
    // Aggregate literals must be homogeneous, hence dyn() around the names.
    let entries = PROVIDER_APIS
        .map(|api| format!("variables.{api}.map(e, {{'api': dyn('{api}'), 'entry': e}})"))
        .join(" + ");
    // An entry without id and type is refused for that.
    let named = format!(
        "variables.entries.filter(n, !({REMOVAL}) && (has(n.entry.id) || has(n.entry.provider)))\
         .map(n, {{'api': n.api, 'id': has(n.entry.id) ? n.entry.id : \
         !n.entry.provider.contains('::') ? n.entry.provider : \
         n.entry.provider.substring(n.entry.provider.lastIndexOf('::') + 2)}})"
    );
    // Providers of several APIs of a base may share an id, so these are told apart by their API, too.
    let removed = format!(
        "variables.entries.filter(n, {REMOVAL} && has(n.entry.id)).map(n, n.api + '/' + n.entry.id)"
    );
    [
        variable("entries", &entries),
        variable("named", &named),
        variable("removed", &removed),
        variable("in_their_apis", "variables.removed + variables.named.map(n, n.api + '/' + n.id)"),
        variable("ids", "variables.named.map(n, n.id)"),
        variable(
            "repeated",
            "variables.ids.filter(i, variables.ids.indexOf(i) != variables.ids.lastIndexOf(i))",
        ),
    ]
}
