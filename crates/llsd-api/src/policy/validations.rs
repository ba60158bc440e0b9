//! The validations of the admission policy, in CEL. Each is a list of what is wrong, empty when
//! all is well, so that the message can name every offender.

use serde_json::{Value, json};

use super::resource_policy::REMOVAL;
use crate::crd::described_v1alpha2;
use crate::rules::{self, Words};
use crate::schema::ENTRY;
use crate::v1alpha2::PROVIDER_APIS;

/// One validation: where it looks, what it says, and the CEL list of its offenders.
struct Validation {
    at: &'static str,
    words: Words,
    offenders: String,
}

impl Validation {
    /// `message` is what the API server falls back to should the expression's text be too long.
    fn to_json(&self) -> Value {
        let Self { at, words, offenders } = self;
        let quoted = |text: &str| text.replace('\'', "\\'");
        json!({
            "expression": format!("{offenders}.size() == 0"),
            "message": format!("{at}: {}; {}", words.message, words.remedy),
            "messageExpression": format!(
                "'{at}: {}: ' + {offenders}.join(', ') + '; {}'",
                quoted(words.message),
                quoted(words.remedy),
            ),
        })
    }
}

/// All validations, in the order in which they are tried.
pub(super) fn all() -> Value {
    let described = described_v1alpha2();
    let spec = &described["properties"]["spec"]["properties"];
    let mut validations = Vec::from(of_provider_apis());
    validations.extend(of_provider_entries(&spec["providers"]));
    validations.extend(of_resources(&spec["resources"]));
    validations.extend(of_expose(&spec["networking"]["properties"]["expose"]));
    validations.extend(of_access());
    validations.iter().map(Validation::to_json).collect()
}

fn of_provider_apis() -> [Validation; 5] {
    let at = "spec.providers";
    let names = PROVIDER_APIS.map(|api| format!("'{api}'")).join(", ");
    let without_id = PROVIDER_APIS.map(|api| {
        let configured = "!(has(e.enabled) && e.enabled == false)";
        format!(
            "(variables.{api}.filter(e, {configured}).size() < 2 ? [] : \
             variables.{api}.filter(e, {configured} && !has(e.id))\
             .map(e, '{api}/' + e.?provider.orValue('')))"
        )
    });
    [
        Validation {
            at,
            words: rules::PROVIDER_SHAPE,
            offenders: format!(
                "[{names}].filter(a, a in variables.providers && \
                 type(variables.providers[a]) != list && type(variables.providers[a]) != map)"
            ),
        },
        Validation {
            at,
            words: rules::AGENTS_OR_RESPONSES,
            offenders: "(has(variables.providers.agents) && has(variables.providers.responses) \
                        ? ['agents', 'responses'] : [])"
                .into(),
        },
        Validation {
            at,
            words: rules::IDS_REQUIRED,
            offenders: format!("({})", without_id.join(" + ")),
        },
        Validation {
            at,
            words: rules::IDS_UNIQUE,
            offenders: "variables.named.filter(n, n.id in variables.repeated)\
                        .map(n, n.api + '/' + n.id)"
                .into(),
        },
        Validation {
            at,
            words: rules::REMOVED_OR_CONFIGURED,
            offenders: "variables.removed.filter(r, variables.in_their_apis.indexOf(r) != \
                        variables.in_their_apis.lastIndexOf(r))"
                .into(),
        },
    ]
}

fn of_provider_entries(providers: &Value) -> Vec<Validation> {
    let known = fields(&providers["properties"]["inference"][ENTRY]);
    let strangers = format!("n.api + '.' + n.entry.filter(k, !(k in {known})).join(' and ')");
    let named = "n.api + '/' + n.entry.?id.orValue(n.entry.?provider.orValue(''))";
    [
        (
            rules::PROVIDER_REQUIRED,
            format!("!({REMOVAL}) && !has(n.entry.provider)"),
            "n.api + '/' + n.entry.?id.orValue('')",
        ),
        (
            rules::REMOVAL_ALONE,
            format!(
                "{REMOVAL} && (!has(n.entry.id) || n.entry.exists(k, k != 'id' && k != 'enabled'))"
            ),
            named,
        ),
        (rules::UNKNOWN_FIELDS, format!("n.entry.exists(k, !(k in {known}))"), strangers.as_str()),
        (
            rules::HOST_SHAPE,
            "has(n.entry.host) && type(n.entry.host) != string && type(n.entry.host) != map".into(),
            "n.api + '.host'",
        ),
        (
            rules::DEPLOYMENT_NAME_IS_FOR_AZURE,
            "has(n.entry.deploymentName) && has(n.entry.provider) && \
             n.entry.provider != 'azure' && !n.entry.provider.endsWith('::azure')"
                .into(),
            named,
        ),
        (
            rules::ONE_API_KEY,
            "has(n.entry.apiKey) && has(n.entry.secretRefs) && 'api_key' in n.entry.secretRefs"
                .into(),
            named,
        ),
        (rules::SETTINGS_OR_CONFIG, "has(n.entry.settings) && has(n.entry.config)".into(), named),
    ]
    .map(|(words, wrong, named)| Validation {
        at: "spec.providers",
        words,
        offenders: format!("variables.entries.filter(n, {wrong}).map(n, {named})"),
    })
    .into()
}

fn of_resources(resources: &Value) -> Vec<Validation> {
    let lists = [
        ("models", "spec.resources.models"),
        ("tools", "spec.resources.tools"),
        ("shields", "spec.resources.shields"),
    ];
    let mut validations = Vec::new();
    for (list, at) in lists {
        let known = fields(&resources["properties"][list]["items"][ENTRY]);
        let kind = kind_of("m");
        validations.push(Validation {
            at,
            words: rules::NAME_OR_OBJECT,
            offenders: format!(
                "variables.{list}.filter(m, type(m) != string && type(m) != map).map(m, {kind})"
            ),
        });
        validations.push(Validation {
            at,
            words: rules::UNKNOWN_FIELDS,
            offenders: format!(
                "variables.{list}.filter(m, type(m) == map && m.exists(k, !(k in {known})))\
                 .map(m, m.name + '.' + m.filter(k, !(k in {known})).join(' and '))"
            ),
        });
    }
    validations.push(Validation {
        at: "spec.resources.models",
        words: rules::EMBEDDING_DIMENSION,
        offenders: "variables.models.filter(m, type(m) == map && has(m.modelType) && \
                    m.modelType == 'embedding' && !has(m.embeddingDimension) && \
                    !(has(m.metadata) && 'embedding_dimension' in m.metadata && \
                    m.metadata.embedding_dimension != null)).map(m, m.name)"
            .into(),
    });
    validations
}

fn of_expose(described: &Value) -> [Validation; 2] {
    let at = "spec.networking.expose";
    let expose = "variables.networking.expose";
    let (kind, known) = (kind_of(expose), fields(&described[ENTRY]));
    [
        Validation {
            at,
            words: rules::EXPOSE_SHAPE,
            offenders: format!(
                "(has({expose}) && type({expose}) != bool && type({expose}) != map ? [{kind}] : [])"
            ),
        },
        Validation {
            at,
            words: rules::UNKNOWN_FIELDS,
            offenders: format!(
                "(has({expose}) && type({expose}) == map ? \
                 {expose}.filter(k, !(k in {known})) : [])"
            ),
        },
    ]
}

/// The sentences that some release understands, with space as Python knows it between their words.
fn sentence() -> String {
    let (space, word) = (r"[\s\v\x1c-\x1f\x85\p{Z}]", r"[^\s\v\x1c-\x1f\x85\p{Z}]+");
    let sentences = [
        "user is( not)? owner",
        "user with WORD( not)? in WORD",
        "user( not)? in owners WORD",
        "resource is unowned",
    ];
    let sentences = sentences.join("|").replace(' ', &format!("{space}+")).replace("WORD", word);
    format!("r'^{space}*({sentences}){space}*$'")
}

fn of_access() -> Vec<Validation> {
    let mut validations = Vec::new();
    let sentence = sentence();
    for (list, at) in [("routes", "spec.access.routes"), ("rules", "spec.access.rules")] {
        let rules = format!("variables.access_{list}");
        let misshapen = |field: &str| {
            format!(
                "{rules}.filter(r, has(r.{field}) && type(r.{field}) != string && \
                 type(r.{field}) != list).map(r, '{field}')"
            )
        };
        validations.push(Validation {
            at,
            words: rules::CONDITION_SHAPE,
            offenders: format!("({} + {})", misshapen("when"), misshapen("unless")),
        });
        let unknown = |field: &str| {
            format!(
                "{rules}.filter(r, has(r.{field}) && type(r.{field}) == string && \
                 !r.{field}.matches({sentence})).map(r, r.{field}) + \
                 {rules}.filter(r, has(r.{field}) && type(r.{field}) == list && \
                 !r.{field}.all(c, c.matches({sentence})))\
                 .map(r, r.{field}.filter(c, !c.matches({sentence})).join(', '))"
            )
        };
        validations.push(Validation {
            at,
            words: rules::CONDITION_SENTENCE,
            offenders: format!("({} + {})", unknown("when"), unknown("unless")),
        });
        validations.push(Validation {
            at,
            words: rules::WHEN_OR_UNLESS,
            offenders: format!(
                "{rules}.filter(r, has(r.when) && has(r.unless)).map(r, 'when beside unless')"
            ),
        });
    }
    // The policy sees objects as v1alpha2, whichever version a client wrote.
    validations.push(Validation {
        at: "spec.access",
        words: rules::ACCESS_IS_CARRIED,
        offenders:
            "(request.operation == 'UPDATE' && request.requestKind.version == 'v1alpha1' && \
                    has(oldObject.spec) && has(oldObject.spec.access) && \
                    !has(variables.spec.access) ? ['access'] : [])"
                .into(),
    });
    validations
}

/// The names of an entry's fields, as a CEL list.
fn fields(entry: &Value) -> String {
    let names = entry["properties"].as_object().into_iter().flatten();
    let quoted: Vec<String> = names.map(|(name, _)| format!("'{name}'")).collect();
    format!("[{}]", quoted.join(", "))
}

/// What a misshapen value is, in CEL.
fn kind_of(value: &str) -> String {
    format!(
        "({value} == null ? 'null' : type({value}) == bool ? 'a boolean' : \
         type({value}) == list ? 'a list' : type({value}) == string ? 'a string' : 'a number')"
    )
}
