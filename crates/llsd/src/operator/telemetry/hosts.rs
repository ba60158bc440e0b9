//! Classes of registries. The name of a host is a tenant's and never a label; these few words are.

use std::net::IpAddr;

use super::results::HostClass;

/// Ends of host names: the whole name, or a part of it from a dot on.
const KNOWN: &[(&str, HostClass)] = &[
    ("docker.io", HostClass::DockerHub),
    ("ghcr.io", HostClass::GitHub),
    ("quay.io", HostClass::Quay),
    ("redhat.io", HostClass::RedHat),
    ("redhat.com", HostClass::RedHat),
    ("gcr.io", HostClass::Google),
    ("pkg.dev", HostClass::Google),
    ("amazonaws.com", HostClass::Aws),
    ("public.ecr.aws", HostClass::Aws),
    ("azurecr.io", HostClass::Azure),
    ("mcr.microsoft.com", HostClass::Azure),
    ("nvcr.io", HostClass::Nvidia),
    ("svc", HostClass::Internal),
    ("local", HostClass::Internal),
    ("internal", HostClass::Internal),
];

impl HostClass {
    /// Of a host with or without a port.
    pub(super) fn classify(host: &str) -> Self {
        let host = host.to_ascii_lowercase();
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => &host,
        };
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        if bare.parse::<IpAddr>().is_ok() || !bare.contains('.') {
            return Self::Internal;
        }
        let ends = |end: &str| {
            bare.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        KNOWN.iter().find(|(end, _)| ends(end)).map_or(Self::Other, |(_, class)| *class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_known_by_how_its_name_ends() {
        for (host, class) in [
            ("docker.io", HostClass::DockerHub),
            ("registry-1.docker.io", HostClass::DockerHub),
            ("ghcr.io", HostClass::GitHub),
            ("QUAY.io:443", HostClass::Quay),
            ("registry.access.redhat.com", HostClass::RedHat),
            ("europe-docker.pkg.dev", HostClass::Google),
            ("1234.dkr.ecr.eu-west-1.amazonaws.com", HostClass::Aws),
            ("team.azurecr.io", HostClass::Azure),
            ("nvcr.io", HostClass::Nvidia),
            ("10.0.0.1:5000", HostClass::Internal),
            ("[fd00::1]:5000", HostClass::Internal),
            ("localhost:5000", HostClass::Internal),
            ("registry.team.svc:5000", HostClass::Internal),
            ("registry.team.svc.cluster.local", HostClass::Internal),
            ("notquay.io", HostClass::Other),
            ("registry.example.com", HostClass::Other),
        ] {
            assert_eq!(HostClass::classify(host), class, "{host}");
        }
    }
}
