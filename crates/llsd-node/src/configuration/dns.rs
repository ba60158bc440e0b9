//! CoreDNS, which runs in the first machine, and the Service under which pods find it.

use std::path::Path;

use serde_json::{Value, json};

use super::registries::hosts;
use crate::addresses::{DNS_SERVICE, DOMAIN, MachineNumber};

/// The names of Services and of the registries; no other name exists here.
pub(crate) fn corefile(kubeconfig: &Path) -> String {
    let (kubeconfig, hosts) = (kubeconfig.display(), hosts());
    // By zones: within one, the plugin that answers everything would come before the others.
    format!(
        "{DOMAIN}:53 in-addr.arpa:53 {{
  errors
  ready 127.0.0.1:8181
  kubernetes {DOMAIN} in-addr.arpa {{
    kubeconfig {kubeconfig} node
  }}
  cache 5
}}
llsd.test:53 {{
  errors
  hosts {{
    {hosts}
  }}
}}
.:53 {{
  errors
  template ANY ANY {{
    rcode NXDOMAIN
  }}
}}
"
    )
}

/// The Service, and its endpoint: CoreDNS is not a pod, so no controller would write one.
pub(crate) fn dns_objects() -> [Value; 2] {
    let port = |name: &str, protocol: &str| json!({"name": name, "port": 53, "protocol": protocol});
    let ports = [port("dns", "UDP"), port("dns-tcp", "TCP")];
    [
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "kube-dns", "namespace": "kube-system"},
            "spec": {"clusterIP": DNS_SERVICE, "ports": ports},
        }),
        json!({
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": "kube-dns-node",
                "namespace": "kube-system",
                "labels": {"kubernetes.io/service-name": "kube-dns"},
            },
            "addressType": "IPv4",
            "endpoints": [{
                "addresses": [MachineNumber::FIRST.address()],
                "conditions": {"ready": true},
            }],
            "ports": ports,
        }),
    ]
}
