//! The addresses of what a server talks to: providers and MCP servers. The server passes most of them on
//! to a client library, which fails at the first request and not at the start.

use std::net::Ipv6Addr;

use serde_json::Value;

use super::providers;
use super::value::present;
use crate::problems::suggest::did_you_mean;
use crate::problems::{FieldPath, Findings, Reason};
use crate::releases::api_name::in_snake_case;
use crate::releases::{EndpointForm, Releases};

/// Ends of a path that clients add by themselves.
const OPERATIONS: [&str; 4] = ["/chat/completions", "/completions", "/embeddings", "/responses"];

/// What is wrong with an address, and what to do.
struct AddressFault {
    message: String,
    remedy: String,
}

impl AddressFault {
    fn new(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { message: message.into(), remedy: remedy.into() }
    }
}

pub(super) fn check(spec: &Value, findings: &mut Findings) {
    for entry in providers::entries(spec) {
        let (Some(endpoint), Some(provider)) =
            (present(entry.value, "endpoint").and_then(Value::as_str), entry.provider())
        else {
            continue;
        };
        let path = entry.path.key("endpoint");
        check_address(endpoint, form(entry.api, provider), "name it in apiKey", &path, findings);
        if entry.api == "inference" {
            warn_of_operation(endpoint, &path, findings);
        }
    }
    let tools = present(spec, "resources").and_then(|resources| present(resources, "tools"));
    let path = FieldPath::spec().key("resources").key("tools");
    for (index, tool) in tools.and_then(Value::as_array).into_iter().flatten().enumerate() {
        if let Some(uri) = tool.pointer("/mcpEndpoint/uri").and_then(Value::as_str) {
            let path = path.index(index).key("mcpEndpoint").key("uri");
            let instead = "let clients send it as a header";
            check_address(uri, Some(EndpointForm::Url), instead, &path, findings);
        }
    }
}

/// What the newest release that has the type takes; nothing is known of an external provider.
fn form(api: &str, provider: &str) -> Option<EndpointForm> {
    let api = in_snake_case(api);
    let apis: &[&str] = match api.as_str() {
        "agents" | "responses" => &["agents", "responses"],
        _ => &[&api],
    };
    let mut catalogues = Releases::shipped().catalogues().rev();
    catalogues.find_map(|catalogue| {
        apis.iter().find_map(|api| {
            let known = catalogue.get(api, catalogue.full_type(api, provider)?)?;
            Some(known.endpoint_form())
        })
    })
}

fn check_address(
    written: &str,
    form: Option<EndpointForm>,
    credentials: &str,
    path: &FieldPath,
    findings: &mut Findings,
) {
    if written.is_empty() || written.contains("${") {
        // The schema refuses the one, and the server replaces a part of the other.
        return;
    }
    let fault = if written.contains(char::is_whitespace) {
        Some(AddressFault::new("holds blanks", "write an address without blanks"))
    } else if has_credentials(written, form) {
        let remedy = format!("remove them; put the key into a Secret and {credentials}");
        Some(AddressFault::new(
            "holds credentials, which everybody who may read the resource sees",
            remedy,
        ))
    } else {
        match form {
            Some(EndpointForm::Url) => wrong_url(written),
            Some(EndpointForm::Host) => wrong_host(written),
            Some(EndpointForm::Address) => wrong_port(written),
            None => None,
        }
    };
    if let Some(AddressFault { message, remedy }) = fault {
        findings.problem(path, Reason::Invalid, message, remedy);
    }
}

/// Whether a password stands in it. In a URL of HTTP a user alone may be a token; other protocols name users.
fn has_credentials(written: &str, form: Option<EndpointForm>) -> bool {
    let Some((user, _)) = authority(written).rsplit_once('@') else { return false };
    let has_password = user.split_once(':').is_some_and(|(_, password)| !password.is_empty());
    has_password || form == Some(EndpointForm::Url)
}

/// User, host and port.
fn authority(written: &str) -> &str {
    let after_scheme = written.split_once("://").map_or(written, |(_, rest)| rest);
    after_scheme.split(['/', '?', '#']).next().unwrap_or_default()
}

fn wrong_url(written: &str) -> Option<AddressFault> {
    let Some((scheme, _)) = written.split_once("://") else {
        let remedy = format!("write http://{written} or https://{written}");
        return Some(AddressFault::new(format!("`{written}` has no scheme"), remedy));
    };
    if !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) {
        let remedy = did_you_mean(scheme, ["http", "https"], "use http:// or https://");
        return Some(AddressFault::new(format!("the scheme `{scheme}` is not supported"), remedy));
    }
    wrong_port(written)
}

fn wrong_host(written: &str) -> Option<AddressFault> {
    let is_ipv6 = |text: &str| text.parse::<Ipv6Addr>().is_ok();
    if written.starts_with('/') || is_ipv6(written) || !written.contains(['/', ':', '@']) {
        return None;
    }
    let bracketed = written.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let remedy = match bracketed.filter(|(address, _)| is_ipv6(address)) {
        // Clients of PostgreSQL look a host in brackets up as a name.
        Some((address, "")) => format!("write {address} without brackets"),
        Some((address, _)) => {
            format!("write {address} without brackets, and put the port into settings.port")
        }
        None if written.contains('@') => "put the user into settings.user".to_owned(),
        None => "put the port into settings.port".to_owned(),
    };
    Some(AddressFault::new("is not the name of a host alone", remedy))
}

fn wrong_port(written: &str) -> Option<AddressFault> {
    let authority = authority(written);
    let authority = authority.rsplit_once('@').map_or(authority, |(_, rest)| rest);
    // The colons of an IPv6 address are within brackets.
    let after_host = authority.rsplit_once(']').map_or(authority, |(_, rest)| rest);
    let (host, port) = match after_host.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (after_host, None),
    };
    if host.is_empty() && !authority.contains(']') && !written.contains(":///") {
        return Some(AddressFault::new("has no host", "write the name of a Service or a host"));
    }
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    let port = port.filter(|port| !is_port(port))?;
    Some(AddressFault::new(format!("`{port}` is not a port"), "use a number from 1 to 65535"))
}

fn warn_of_operation(written: &str, path: &FieldPath, findings: &mut Findings) {
    let trimmed = written.trim_end_matches('/');
    let stripped = OPERATIONS.iter().find_map(|operation| trimmed.strip_suffix(operation));
    let Some(base) = stripped.or_else(|| before_list_of_models(trimmed)) else { return };
    findings.warning(
        path,
        Reason::Invalid,
        format!(
            "ends with `{}`, which the server adds by itself: write {base}",
            &trimmed[base.len()..]
        ),
        format!("write {base}"),
    );
}

/// What is in front of `/models` behind a version, as in `/v1/models`. Elsewhere it may be a base, as on Azure.
fn before_list_of_models(trimmed: &str) -> Option<&str> {
    let base = trimmed.strip_suffix("/models")?;
    let (_, version) = base.rsplit_once('/')?;
    let is_version = version
        .strip_prefix('v')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    is_version.then_some(base)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn found(api: &str, provider: &str, endpoint: &str) -> Findings {
        let mut findings = Findings::default();
        let spec = json!({"providers": {api: {"provider": provider, "endpoint": endpoint}}});
        check(&spec, &mut findings);
        findings
    }

    #[rstest]
    #[case::plain("inference", "vllm", "http://vllm:8000")]
    #[case::with_a_path("inference", "vllm", "https://vllm.example.com/v1")]
    #[case::ipv6("inference", "vllm", "http://[fd00::1]:8000/v1")]
    #[case::upper_case("inference", "remote::vllm", "HTTP://vllm:8000")]
    #[case::from_the_environment("inference", "vllm", "${env.VLLM_URL:=http://vllm:8000}")]
    #[case::of_an_external_type("inference", "of_our_own", "unix:/run/model")]
    #[case::host("vectorIo", "pgvector", "postgres.data.svc")]
    #[case::socket("vectorIo", "pgvector", "/var/run/postgresql")]
    #[case::without_a_scheme("vectorIo", "weaviate", "weaviate:8080")]
    #[case::qdrant_without_a_scheme("vectorIo", "qdrant", "qdrant:6333")]
    #[case::qdrant("vectorIo", "qdrant", "https://qdrant.example.com:6333")]
    #[case::host_of_ipv6("vectorIo", "pgvector", "fd00::10")]
    #[case::user_of_another_protocol("vectorIo", "neo4j", "bolt://reader@neo4j:7687")]
    #[case::user_of_an_external_type("vectorIo", "of_our_own", "mongodb://reader@db:27017")]
    #[case::models_as_a_base("inference", "vllm", "https://x.services.ai.azure.com/models")]
    #[case::own_protocol("vectorIo", "neo4j", "bolt://neo4j:7687")]
    #[case::at_sign_in_the_path("inference", "vllm", "http://vllm:8000/@team/v1")]
    fn addresses_that_a_server_can_use(
        #[case] api: &str,
        #[case] provider: &str,
        #[case] endpoint: &str,
    ) {
        assert_eq!(found(api, provider, endpoint), Findings::default());
    }

    #[rstest]
    #[case("vllm:8000", "`vllm:8000` has no scheme; write http://vllm:8000 or https://vllm:8000")]
    #[case("htp://vllm:8000", "the scheme `htp` is not supported; did you mean http?")]
    #[case("grpc://vllm:8000", "the scheme `grpc` is not supported; use http:// or https://")]
    #[case("http://vllm:80000", "`80000` is not a port; use a number from 1 to 65535")]
    #[case("http://:8000", "has no host; write the name of a Service or a host")]
    #[case(" ", "holds blanks; write an address without blanks")]
    #[case("http://vllm: 8000", "holds blanks; write an address without blanks")]
    #[case(
        "http://user:pw@vllm:8000",
        "holds credentials, which everybody who may read the resource sees; \
         remove them; put the key into a Secret and name it in apiKey"
    )]
    fn addresses_that_no_server_can_use(#[case] endpoint: &str, #[case] expected: &str) {
        let findings = found("inference", "vllm", endpoint);
        let [problem] = findings.problems.as_slice() else { panic!("{findings:?}") };
        assert_eq!(problem.path.to_string(), "spec.providers.inference.endpoint");
        assert_eq!(format!("{}; {}", problem.message, problem.remedy), expected);
    }

    #[rstest]
    #[case("pgvector", "postgres:5432", "is not the name of a host alone")]
    #[case("pgvector", "postgresql://postgres", "is not the name of a host alone")]
    #[case("pgvector", "reader@postgres", "is not the name of a host alone")]
    #[case("qdrant", "qdrant:http", "`http` is not a port")]
    #[case("neo4j", "bolt://reader@neo4j:70000", "`70000` is not a port")]
    #[case("weaviate", "weaviate:http", "`http` is not a port")]
    fn other_forms_have_rules_of_their_own(
        #[case] provider: &str,
        #[case] endpoint: &str,
        #[case] expected: &str,
    ) {
        let findings = found("vectorIo", provider, endpoint);
        assert_eq!(findings.problems[0].message, expected);
    }

    #[rstest]
    #[case("postgres:5432", "put the port into settings.port")]
    #[case("[fd00::10]", "write fd00::10 without brackets")]
    #[case(
        "[fd00::10]:5432",
        "write fd00::10 without brackets, and put the port into settings.port"
    )]
    #[case("reader@postgres", "put the user into settings.user")]
    fn the_remedy_says_how_a_host_is_written(#[case] endpoint: &str, #[case] expected: &str) {
        assert_eq!(found("vectorIo", "pgvector", endpoint).problems[0].remedy, expected);
    }

    #[rstest]
    #[case::known_type("inference", "vllm", "http://reader@vllm:8000")]
    #[case::other_protocol("vectorIo", "neo4j", "bolt://reader:pw@neo4j:7687")]
    #[case::host("vectorIo", "pgvector", "reader:pw@postgres")]
    #[case::external_type("vectorIo", "of_our_own", "mongodb://reader:p@ss@db:27017")]
    fn credentials_are_refused(#[case] api: &str, #[case] provider: &str, #[case] endpoint: &str) {
        let findings = found(api, provider, endpoint);
        let [problem] = findings.problems.as_slice() else { panic!("{findings:?}") };
        assert!(problem.message.starts_with("holds credentials"), "{problem:?}");
    }

    #[rstest]
    #[case("http://vllm:8000/v1/models", Some("http://vllm:8000/v1"))]
    #[case(
        "https://api.example.com/openai/v1beta/models/",
        Some("https://api.example.com/openai/v1beta")
    )]
    #[case("https://x.services.ai.azure.com/models", None)]
    #[case("https://api.example.com/vendor/models", None)]
    fn a_list_of_models_is_told_from_a_base(#[case] endpoint: &str, #[case] base: Option<&str>) {
        let remedies: Vec<String> = found("inference", "azure", endpoint)
            .warnings
            .into_iter()
            .map(|it| it.remedy)
            .collect();
        let expected: Vec<String> = base.into_iter().map(|base| format!("write {base}")).collect();
        assert_eq!(remedies, expected);
    }

    #[test]
    fn the_path_of_one_operation_is_warned_of() {
        let findings = found("inference", "vllm", "http://vllm:8000/v1/chat/completions");
        assert!(findings.problems.is_empty());
        let [warning] = findings.warnings.as_slice() else { panic!("{findings:?}") };
        assert_eq!(
            warning.message,
            "ends with `/chat/completions`, which the server adds by itself: write http://vllm:8000/v1"
        );
        assert_eq!(warning.remedy, "write http://vllm:8000/v1");
    }

    #[test]
    fn the_address_of_an_mcp_server_is_checked() {
        let mut findings = Findings::default();
        let tools = json!([{"name": "web", "mcpEndpoint": {"uri": "mcp:3000/sse"}}]);
        check(&json!({"resources": {"tools": tools}}), &mut findings);
        assert_eq!(
            findings.problems[0].path.to_string(),
            "spec.resources.tools[0].mcpEndpoint.uri"
        );
    }
}
