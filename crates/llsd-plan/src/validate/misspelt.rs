//! Names of the server's that are nearly a known one: provider types and APIs. What is surely a slip of the
//! fingers is refused; any other passes, for an image may have providers of its own.

use llsd_api::v1alpha2::PROVIDER_APIS;
use serde_json::Value;

use super::providers::canonical_api;
use crate::problems::suggest::{did_you_mean, is_slip};
use crate::problems::{FieldPath, Findings, Reason};
use crate::releases::Releases;
use crate::releases::api_name::in_snake_case;

/// How many provider names are looked at, and how long one may be: a person who sends thousands must not
/// keep the others waiting.
const PROVIDERS: usize = 50;
const LONGEST: usize = 64;

/// APIs of OGX whose providers come with the image alone.
const APIS_OF_OGX: [&str; 4] = ["messages", "interactions", "skills", "containerRuntime"];

/// APIs of some release that have no providers of their own.
const APIS_WITHOUT_PROVIDERS: [&str; 14] = [
    "admin",
    "benchmarks",
    "connectors",
    "conversations",
    "datasets",
    "inspect",
    "models",
    "prompts",
    "providers",
    "scoringFunctions",
    "shields",
    "toolGroups",
    "vectorDbs",
    "vectorStores",
];

/// Short names of providers that are surely slips.
pub(super) fn providers(providers: &Value, findings: &mut Findings) {
    let refused = nearly_known(providers).into_iter().filter(NearlyKnown::is_refused);
    for NearlyKnown { path, written, meant, .. } in refused {
        let remedy = format!(
            "did you mean {meant}? A type that only your image has is written in full: remote::{written}"
        );
        findings.problem(&path, Reason::NotFound, unknown(written), remedy);
    }
}

/// Names that an image may have of its own.
pub(crate) fn warn_of_types(providers: &Value, findings: &mut Findings) {
    let passed = nearly_known(providers).into_iter().filter(|it| !it.is_refused());
    for NearlyKnown { path, written, meant, .. } in passed {
        let remedy = format!("did you mean {meant}?");
        findings.warning(&path, Reason::NotFound, unknown(written), remedy);
    }
}

fn unknown(written: &str) -> String {
    format!("no release has a provider `{written}` of this kind")
}

/// A provider whose name no release of any server knows.
struct NearlyKnown<'a> {
    path: FieldPath,
    written: &'a str,
    meant: &'static str,
    is_slip: bool,
}

impl NearlyKnown<'_> {
    /// A type that is written in full is taken as it is.
    fn is_refused(&self) -> bool {
        self.is_slip && !self.written.contains("::")
    }
}

fn nearly_known(providers: &Value) -> Vec<NearlyKnown<'_>> {
    let path = FieldPath::spec().key("providers");
    let apis = providers.as_object().into_iter().flatten();
    let entries = apis.flat_map(|(api, entries)| {
        let path = path.key(api);
        let listed = entries.as_array().into_iter().flatten().enumerate();
        let listed: Vec<_> = listed.map(|(index, entry)| (path.index(index), entry)).collect();
        let single = entries.is_object().then_some((path, entries));
        listed.into_iter().chain(single).map(move |(path, entry)| (api, path, entry))
    });
    let entries = entries.take(PROVIDERS).filter_map(|(api, path, entry)| {
        let written = entry["provider"].as_str().filter(|written| written.len() <= LONGEST)?;
        let path = path.key("provider");
        let slip_of = of_api(api, |api| Releases::shipped().slip_of(api, written));
        let meant =
            slip_of.or_else(|| of_api(api, |api| Releases::shipped().meant(api, written)))?;
        Some(NearlyKnown { path, written, meant, is_slip: slip_of.is_some() })
    });
    entries.collect()
}

/// Of an API under two names, a provider that one of them has is known.
fn of_api(api: &str, meant: impl Fn(&str) -> Option<&'static str>) -> Option<&'static str> {
    let apis: &[&str] = match api {
        "agents" | "responses" => &["agents", "responses"],
        _ => &[&in_snake_case(api)],
    };
    let meant: Option<Vec<&str>> = apis.iter().map(|api| meant(api)).collect();
    meant?.first().copied()
}

/// Names in `spec.disabled` that no release knows. A slip switches off nothing where something was to be
/// switched off; any other name does no harm.
pub(super) fn disabled(spec: &Value, findings: &mut Findings) {
    let known: Vec<&str> =
        PROVIDER_APIS.into_iter().chain(APIS_WITHOUT_PROVIDERS).chain(APIS_OF_OGX).collect();
    for (index, name) in spec["disabled"].as_array().into_iter().flatten().enumerate() {
        let Some(name) = name.as_str().filter(|name| !name.is_empty()) else {
            continue;
        };
        if known.iter().any(|api| canonical_api(api) == canonical_api(name)) {
            continue;
        }
        let path = FieldPath::spec().key("disabled").index(index);
        let message = format!("no release has an API `{name}`");
        let plain = name.replace('_', "");
        if let Some(meant) = known.iter().find(|api| is_slip(&plain, api)) {
            let remedy = format!("did you mean {meant}?");
            findings.problem(&path, Reason::NotFound, message, remedy);
        } else {
            let remedy = did_you_mean(name, known.iter().copied(), "remove it");
            findings.warning(&path, Reason::NotFound, message, remedy);
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn found(api: &str, provider: &str) -> [Findings; 2] {
        let providers_of = json!({api: {"provider": provider}});
        let [mut refused, mut warned] = [Findings::default(), Findings::default()];
        providers(&providers_of, &mut refused);
        warn_of_types(&providers_of, &mut warned);
        [refused, warned]
    }

    #[rstest]
    #[case("inference", "vlm", "vllm")]
    #[case("inference", "ollma", "ollama")]
    #[case("inference", "olalma", "ollama")]
    #[case("inference", "sentence-transfomers", "sentence-transformers")]
    #[case("toolRuntime", "brav-search", "brave-search")]
    #[case("vectorIo", "qdrent", "qdrant")]
    fn a_slip_is_refused(#[case] api: &str, #[case] written: &str, #[case] meant: &str) {
        let [refused, warned] = found(api, written);
        let [problem] = refused.problems.as_slice() else { panic!("{refused:?}") };
        assert_eq!(problem.path.to_string(), format!("spec.providers.{api}.provider"));
        assert!(problem.remedy.starts_with(&format!("did you mean {meant}? ")), "{problem:?}");
        assert_eq!(warned, Findings::default());
        let [refused, warned] = found(api, &format!("remote::{written}"));
        assert_eq!((refused.problems.len(), warned.warnings.len()), (0, 1));
    }

    #[rstest]
    #[case("inference", "tei")]
    #[case("inference", "vllm-2")]
    #[case("inference", "vllm2")]
    #[case("toolRuntime", "jina-search")]
    #[case("toolRuntime", "serper-search")]
    #[case("toolRuntime", "xai-search")]
    #[case("fileProcessors", "pymupdf")]
    fn a_name_of_ones_own_is_warned_of_alone(#[case] api: &str, #[case] written: &str) {
        let [refused, warned] = found(api, written);
        assert_eq!(refused, Findings::default());
        assert_eq!((warned.problems.len(), warned.warnings.len()), (0, 1), "{warned:?}");
    }

    fn found_of_disabled(name: &str) -> Findings {
        let mut findings = Findings::default();
        disabled(&json!({"disabled": [name]}), &mut findings);
        findings
    }

    #[test]
    fn only_a_slip_of_an_api_is_refused() {
        for slip in ["evall", "vector_ioo", "toolRuntme", "post_trainig", "inspct"] {
            let found = found_of_disabled(slip);
            assert!(found.problems[0].remedy.starts_with("did you mean "), "{found:?}");
        }
        for other in ["tools", "eval2", "timeTravel"] {
            let found = found_of_disabled(other);
            assert_eq!((found.problems.len(), found.warnings.len()), (0, 1), "{found:?}");
        }
        for known in ["inspect", "providers", "admin", "vector_io", "EVAL"] {
            assert_eq!(found_of_disabled(known), Findings::default(), "{known}");
        }
    }
}
