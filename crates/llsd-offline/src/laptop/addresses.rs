//! Addresses that only a cluster resolves, so that a server here does not reach what they name.

use llsd_plan::problems::{FieldPath, Findings, Reason};
use serde_json::{Map, Value};

use super::provider_ids::provider_id;

/// Warns of every endpoint of the spec that looks like the name of a Service.
pub(super) fn warn_of_cluster_addresses(spec: &Map<String, Value>, findings: &mut Findings) {
    let path = FieldPath::spec().key("providers");
    let apis = spec.get("providers").and_then(Value::as_object).into_iter().flatten();
    for (api, entries) in apis {
        let (path, is_list) = (path.key(api), entries.is_array());
        let entries = entries.as_array().map_or(std::slice::from_ref(entries), Vec::as_slice);
        for (index, entry) in entries.iter().enumerate() {
            let path = if is_list { path.index(index) } else { path.clone() };
            let Some(id) = entry.as_object().and_then(provider_id) else { continue };
            let remedy = format!("--endpoint {id}=URL gives an address that this machine reaches");
            warn(entry.get("endpoint"), &path.key("endpoint"), &remedy, findings);
        }
    }
    let tools = spec.get("resources").and_then(|resources| resources.get("tools"));
    let path = FieldPath::spec().key("resources").key("tools");
    for (index, tool) in tools.and_then(Value::as_array).into_iter().flatten().enumerate() {
        let path = path.index(index).key("mcpEndpoint").key("uri");
        let remedy = "use an address that this machine reaches in a copy of the file";
        warn(tool.pointer("/mcpEndpoint/uri"), &path, remedy, findings);
    }
}

fn warn(address: Option<&Value>, path: &FieldPath, remedy: &str, findings: &mut Findings) {
    let address = address.and_then(Value::as_str).unwrap_or_default();
    if let Some(host) = host(address).filter(|host| is_of_a_cluster(host)) {
        let message = format!("{host} looks like a Service, which only a cluster resolves");
        findings.warning(path, Reason::Unavailable, message, remedy);
    }
}

/// The host of a URL or of `HOST:PORT`; nothing for an IPv6 address.
fn host(address: &str) -> Option<&str> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = host.split(':').next()?;
    (!host.is_empty() && !host.starts_with('[')).then_some(host)
}

fn is_of_a_cluster(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let is_short = !host.contains('.') && host != "localhost";
    is_short || host.split('.').any(|label| label == "svc")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn short_names_and_names_of_services_are_warned_of() {
        for address in
            ["http://vllm:8000", "vllm.models.svc:80", "http://u@a.b.svc.cluster.local/v1"]
        {
            assert!(host(address).is_some_and(is_of_a_cluster), "{address}");
        }
        for address in [
            "http://localhost:1",
            "http://127.0.0.1",
            "http://[::1]:80",
            "https://api.example.com/v1",
            "",
        ] {
            assert!(!host(address).is_some_and(is_of_a_cluster), "{address}");
        }
    }

    #[test]
    fn each_is_named_by_its_path_with_the_flag_that_replaces_it() {
        let spec = json!({
            "providers": {
                "inference": [{"provider": "openai"}, {"provider": "vllm", "endpoint": "http://vllm:8000"}],
                "vectorIo": {"id": "q", "provider": "qdrant", "endpoint": "http://qdrant.db.svc:6333"},
            },
            "resources": {"tools": ["websearch", {"name": "t", "mcpEndpoint": {"uri": "http://mcp/sse"}}]},
        });
        let mut findings = Findings::default();
        warn_of_cluster_addresses(spec.as_object().unwrap(), &mut findings);
        let paths: Vec<String> = findings.warnings.iter().map(|it| it.path.to_string()).collect();
        let expected = [
            "spec.providers.inference[1].endpoint",
            "spec.providers.vectorIo.endpoint",
            "spec.resources.tools[1].mcpEndpoint.uri",
        ];
        assert_eq!(paths, expected);
        assert!(findings.warnings[1].remedy.contains("--endpoint q=URL"));
    }
}
