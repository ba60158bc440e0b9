//! The `ValidatingAdmissionPolicy` that judges what the CRD's schema and CEL cannot see: the
//! insides of fields that take two shapes. It works while the operator does not run.

use serde_json::{Value, json};

use crate::crd::described_v1alpha2;
use crate::rules::{self, Words};
use crate::schema::ENTRY;
use crate::v1alpha2::PROVIDER_APIS;
use crate::{GROUP, PLURAL};

/// The name of the policy and of its binding.
pub const NAME: &str = "llamastackdistributions.llamastack.io";

/// One validation: a CEL list of what is wrong, empty when all is well, and the words for it.
struct Validation {
    at: &'static str,
    words: Words,
    offenders: String,
}

impl Validation {
    /// `message` is what the API server falls back to should the expression's text be too long.
    fn to_json(&self) -> Value {
        let Self { at, words: Words { message, remedy }, offenders } = self;
        json!({
            "expression": format!("{offenders}.size() == 0"),
            "message": format!("{at}: {message}; {remedy}"),
            "messageExpression": format!("'{at}: {message}: ' + {offenders}.join(', ') + '; {remedy}'"),
        })
    }
}

/// The policy and its binding.
pub fn manifests() -> [Value; 2] {
    [policy(), binding()]
}

fn binding() -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": NAME},
        "spec": {"policyName": NAME, "validationActions": ["Deny"]},
    })
}

fn policy() -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": NAME},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [GROUP],
                "apiVersions": ["v1alpha2"],
                "operations": ["CREATE", "UPDATE"],
                "resources": [PLURAL],
            }]},
            // A policy does not ratchet: without this an object that was stored invalid could not
            // even lose a finalizer.
            "matchConditions": [{
                "name": "spec-changed",
                "expression": "request.operation == 'CREATE' || (!has(object.metadata.deletionTimestamp) && \
                               (!has(oldObject.spec) || !has(object.spec) || object.spec != oldObject.spec))",
            }],
            "variables": variables(),
            "validations": validations().iter().map(Validation::to_json).collect::<Value>(),
        },
    })
}

fn variables() -> Value {
    let mut variables = vec![
        variable("spec", "has(object.spec) ? object.spec : dyn({})"),
        variable("providers", "has(variables.spec.providers) ? variables.spec.providers : dyn({})"),
        variable("resources", "has(variables.spec.resources) ? variables.spec.resources : dyn({})"),
        variable("networking", "has(variables.spec.networking) ? variables.spec.networking : dyn({})"),
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
    // Aggregate literals must be homogeneous, hence dyn() around the names.
    let entries = PROVIDER_APIS
        .map(|api| format!("variables.{api}.map(e, {{'api': dyn('{api}'), 'entry': e}})"))
        .join(" + ");
    variables.push(variable("entries", &entries));
    variables.push(variable(
        "ids",
        "variables.entries.map(n, has(n.entry.id) ? n.entry.id : !n.entry.provider.contains('::') ? n.entry.provider \
         : n.entry.provider.substring(n.entry.provider.lastIndexOf('::') + 2))",
    ));
    variables.push(variable(
        "labels",
        "variables.entries.map(n, n.api + '/' + (has(n.entry.id) ? n.entry.id : !n.entry.provider.contains('::') ? \
         n.entry.provider : n.entry.provider.substring(n.entry.provider.lastIndexOf('::') + 2)))",
    ));
    Value::Array(variables)
}

fn variable(name: &str, expression: &str) -> Value {
    json!({"name": name, "expression": expression})
}

fn validations() -> Vec<Validation> {
    let described = described_v1alpha2();
    let spec = &described["properties"]["spec"]["properties"];
    let fields = |entry: &Value| {
        let names: Vec<String> =
            entry["properties"].as_object().into_iter().flatten().map(|(name, _)| format!("'{name}'")).collect();
        format!("[{}]", names.join(", "))
    };
    let provider_fields = fields(&spec["providers"]["properties"]["inference"][ENTRY]);
    let expose_fields = fields(&spec["networking"]["properties"]["expose"][ENTRY]);
    let expose = "variables.networking.expose";

    let mut validations = vec![
        Validation {
            at: "spec.providers",
            words: rules::PROVIDER_SHAPE,
            offenders: format!(
                "[{}].filter(a, a in variables.providers && type(variables.providers[a]) != list && \
                 type(variables.providers[a]) != map)",
                PROVIDER_APIS.map(|api| format!("'{api}'")).join(", ")
            ),
        },
        Validation {
            at: "spec.providers",
            words: rules::AGENTS_OR_RESPONSES,
            offenders: "(has(variables.providers.agents) && has(variables.providers.responses) ? \
                        ['agents', 'responses'] : [])"
                .into(),
        },
        Validation {
            at: "spec.providers",
            words: rules::IDS_REQUIRED,
            offenders: format!(
                "({})",
                PROVIDER_APIS
                    .map(|api| format!(
                        "(variables.{api}.size() < 2 ? [] : variables.{api}.filter(e, !has(e.id)).map(e, \
                         '{api}/' + e.provider))"
                    ))
                    .join(" + ")
            ),
        },
        Validation {
            at: "spec.providers",
            words: rules::IDS_UNIQUE,
            offenders: "variables.labels.filter(l, variables.ids.filter(i, l.endsWith('/' + i)).size() > 1)".into(),
        },
        provider_validation(rules::PROVIDER_FIELDS, &format!("n.entry.exists(k, !(k in {provider_fields}))"),
            &format!("n.api + '.' + n.entry.filter(k, !(k in {provider_fields})).join(' and ')")),
        provider_validation(
            rules::DEPLOYMENT_NAME_IS_FOR_AZURE,
            "has(n.entry.deploymentName) && n.entry.provider != 'azure' && !n.entry.provider.endsWith('::azure')",
            "n.api + '/' + n.entry.provider",
        ),
        provider_validation(
            rules::ONE_API_KEY,
            "has(n.entry.apiKey) && has(n.entry.secretRefs) && 'api_key' in n.entry.secretRefs",
            "n.api + '/' + n.entry.provider",
        ),
        provider_validation(
            rules::SETTINGS_OR_CONFIG,
            "has(n.entry.settings) && has(n.entry.config)",
            "n.api + '/' + n.entry.provider",
        ),
    ];
    for (list, at) in [
        ("models", "spec.resources.models"),
        ("tools", "spec.resources.tools"),
        ("shields", "spec.resources.shields"),
    ] {
        let known = fields(&spec["resources"]["properties"][list]["items"][ENTRY]);
        validations.push(Validation {
            at,
            words: rules::NAME_OR_OBJECT,
            offenders: format!("variables.{list}.filter(m, type(m) != string && type(m) != map).map(m, string(type(m)))"),
        });
        validations.push(Validation {
            at,
            words: rules::RESOURCE_FIELDS,
            offenders: format!(
                "variables.{list}.filter(m, type(m) == map && m.exists(k, !(k in {known}))).map(m, \
                 m.name + '.' + m.filter(k, !(k in {known})).join(' and '))"
            ),
        });
    }
    validations.push(Validation {
        at: "spec.resources.models",
        words: rules::EMBEDDING_DIMENSION,
        offenders: "variables.models.filter(m, type(m) == map && has(m.modelType) && m.modelType == 'embedding' && \
                    !has(m.embeddingDimension) && !(has(m.metadata) && 'embedding_dimension' in m.metadata)).map(m, m.name)"
            .into(),
    });
    validations.push(Validation {
        at: "spec.networking.expose",
        words: rules::EXPOSE_SHAPE,
        offenders: format!(
            "(has({expose}) && type({expose}) != bool && type({expose}) != map ? [string(type({expose}))] : [])"
        ),
    });
    validations.push(Validation {
        at: "spec.networking.expose",
        words: rules::RESOURCE_FIELDS,
        offenders: format!(
            "(has({expose}) && type({expose}) == map ? {expose}.filter(k, !(k in {expose_fields})) : [])"
        ),
    });
    validations
}

fn provider_validation(words: Words, wrong: &str, named: &str) -> Validation {
    Validation {
        at: "spec.providers",
        words,
        offenders: format!("variables.entries.filter(n, {wrong}).map(n, {named})"),
    }
}
