//! What is weak in an authentication: refused where another host could answer in the place of the identity
//! provider, and warned of where more callers are let in than it seems.

use std::collections::BTreeMap;

use llsd_api::expose::Expose;
use llsd_api::v1alpha2::{
    AllowedPods, Authentication, GatewayHeadersSpec, NetworkingSpec, OidcSpec,
};

use crate::config::draft::Draft;
use crate::problems::{FieldPath, Findings, Reason};
use crate::resource::callers;

/// Addresses that do not leave the pod.
const IN_POD: [&str; 3] = ["http://localhost", "http://127.0.0.1", "http://[::1]"];
/// What a gateway may need. In a cluster a node's pods alone have as many.
const MOST_ADDRESSES: u32 = 256;

pub(super) fn check(draft: &mut Draft<'_>, given: &Authentication, path: &FieldPath) {
    plain_http(given, path, &mut draft.findings);
    if let Some(given) = &given.oidc {
        oidc(draft, given, &path.key("oidc"));
    }
    if given.kubernetes.is_some() {
        draft.findings.warning(
            &path.key("kubernetes"),
            Reason::Conflict,
            "the server is handed tokens with which it could call the API server as its callers",
            "where its image is not trusted with that, use oidc with the cluster's issuer and an audience of \
             the server's own",
        );
    }
    if let Some(given) = &given.gateway {
        gateway(draft, given, &path.key("gateway"));
    }
}

fn plain_http(given: &Authentication, path: &FieldPath, findings: &mut Findings) {
    if given.allow_plain_http == Some(true) {
        return;
    }
    let mut asked = Vec::new();
    if let Some(oidc) = &given.oidc {
        let path = path.key("oidc");
        match (&oidc.introspection, &oidc.jwks_uri) {
            (Some(own), _) => asked.push((path.key("introspection").key("url"), &own.url)),
            (None, Some(uri)) => asked.push((path.key("jwksUri"), uri)),
            (None, None) => asked.push((path.key("issuer"), &oidc.issuer)),
        }
    }
    let url = given.github.as_ref().and_then(|github| github.api_url.as_ref());
    asked.extend(url.map(|url| (path.key("github").key("apiUrl"), url)));
    asked
        .extend(given.custom.as_ref().map(|it| (path.key("custom").key("endpoint"), &it.endpoint)));
    for (path, _) in asked.iter().filter(|(_, url)| is_in_clear(url)) {
        findings.problem(
            path,
            Reason::Invalid,
            "traffic over plain HTTP can be intercepted, and any user impersonated",
            "use https, or set access.authentication.allowPlainHttp",
        );
    }
}

fn is_in_clear(url: &str) -> bool {
    let rest = IN_POD.iter().find_map(|own| url.strip_prefix(own));
    let stays = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/', '?']));
    url.starts_with("http://") && !stays
}

fn oidc(draft: &mut Draft<'_>, given: &OidcSpec, path: &FieldPath) {
    let warning = match (&given.introspection, &given.audience) {
        (Some(_), None) => Some((
            path.key("introspection"),
            "tokens that the provider gave out for any other application are taken, too",
        )),
        (None, None) => Some((
            path.clone(),
            "tokens for the default audience are for every server that names none",
        )),
        (_, Some(_)) => None,
    };
    if let Some((path, message)) = warning {
        let remedy = "set audience to a name of this server's own";
        draft.findings.warning(&path, Reason::Conflict, message, remedy);
    }
    if given.introspection.is_none() && draft.profile.layout.keeps_signing_keys {
        draft.findings.warning(
            path,
            Reason::Conflict,
            format!(
                "{} takes a key that the provider has revoked until it is restarted",
                draft.profile.name()
            ),
            "run `llsd restart` after a key was revoked",
        );
    }
}

fn gateway(draft: &mut Draft<'_>, given: &GatewayHeadersSpec, path: &FieldPath) {
    let networking = draft.spec.networking.as_ref();
    if networking.and_then(|it| it.expose.as_ref()).is_some_and(leads_past_the_gateway) {
        draft.findings.warning(
            &FieldPath::spec().key("networking").key("expose"),
            Reason::Conflict,
            "leads to the server past the gateway, where any client can impersonate any user",
            "expose the gateway instead, or let what serves this address take away its headers",
        );
    }
    let has_policies = draft.facts.operator.network_policy != Some(false);
    let is_narrow = callers::admits_named_alone(draft.spec);
    if has_policies && is_narrow && !networking.is_some_and(names_everybody) {
        return;
    }
    let remedy = "let networking.allowedFrom.pods admit the gateway alone";
    match &given.trusted_cidrs {
        Some(cidrs) => {
            for (index, _) in cidrs.iter().enumerate().filter(|(_, cidr)| is_wide(cidr)) {
                draft.findings.warning(
                    &path.key("trustedCidrs").index(index),
                    Reason::Conflict,
                    "any other client with one of so many addresses can impersonate any user",
                    remedy,
                );
            }
        }
        None => draft.findings.warning(
            path,
            Reason::Conflict,
            "any client that reaches the server without the gateway can impersonate any user",
            remedy,
        ),
    }
}

/// An HTTPRoute leads through a gateway that the resource names.
fn leads_past_the_gateway(expose: &Expose) -> bool {
    let how = if let Expose::How(how) = expose { how.understood() } else { None };
    expose.is_on() && how.is_none_or(|how| how.gateway.is_none())
}

/// Whether those whom the resource names are all pods of the cluster.
fn names_everybody(networking: &NetworkingSpec) -> bool {
    networking.allowed_from.as_ref().is_some_and(|allowed| {
        let all = |namespace: Option<&String>| namespace.is_some_and(|name| name == "*");
        let unlabelled = |pods: &&AllowedPods| pods.labels.as_ref().is_none_or(BTreeMap::is_empty);
        let mut pods = allowed.pods.iter().flatten().filter(unlabelled);
        allowed.namespaces.iter().flatten().any(|name| all(Some(name)))
            || pods.any(|pods| all(pods.namespace.as_ref()))
    })
}

fn is_wide(cidr: &str) -> bool {
    let bits = if cidr.contains(':') { 128 } else { 32 };
    let fixed = cidr.split_once('/').map_or(Some(bits), |(_, fixed)| fixed.parse().ok());
    fixed.is_none_or(|fixed: u32| bits.saturating_sub(fixed) > MOST_ADDRESSES.ilog2())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("10.128.0.0/14", true)]
    #[case("10.0.0.0/23", true)]
    #[case("192.0.2.0/24", false)]
    #[case("192.0.2.7", false)]
    #[case("fd00::/64", true)]
    #[case("fd00::7/128", false)]
    fn a_network_is_wide_that_has_room_for_other_pods(#[case] cidr: &str, #[case] wide: bool) {
        assert_eq!(is_wide(cidr), wide);
    }

    #[rstest]
    #[case("http://auth.here.svc:8080/check", true)]
    #[case("https://auth.example.com", false)]
    #[case("http://127.0.0.1:8080/check", false)]
    #[case("http://localhost", false)]
    #[case("http://localhost.example.com", true)]
    #[case("http://[::1]:80", false)]
    fn what_leaves_the_pod_in_clear_is_told(#[case] url: &str, #[case] clear: bool) {
        assert_eq!(is_in_clear(url), clear);
    }
}
