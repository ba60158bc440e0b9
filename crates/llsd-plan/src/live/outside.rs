//! What an Ingress, a Route or an HTTPRoute says of the way into the cluster: its address, and whether
//! whoever is to serve it took it.

use serde_json::Value;

use crate::objects::ObjectKind;

/// Annotations by which an Ingress is served over TLS although it names no certificate; with the value
/// that says so, where not any does.
const ENCRYPTING: [(&str, Option<&str>); 6] = [
    ("route.openshift.io/termination", None),
    ("nginx.ingress.kubernetes.io/force-ssl-redirect", Some("true")),
    ("nginx.ingress.kubernetes.io/ssl-passthrough", Some("true")),
    ("alb.ingress.kubernetes.io/certificate-arn", None),
    ("networking.gke.io/managed-certificates", None),
    ("ingress.gcp.kubernetes.io/pre-shared-cert", None),
];

/// An address as the object's controller reports it, else the host name that was asked for.
pub(super) fn url(kind: ObjectKind, object: &Value) -> Option<Box<str>> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let balancer = &status["loadBalancer"]["ingress"][0];
    let host = match kind {
        ObjectKind::Ingress => [&spec["rules"][0]["host"], &balancer["hostname"], &balancer["ip"]],
        ObjectKind::Route => [&status["ingress"][0]["host"], &spec["host"], &Value::Null],
        _ => [&spec["hostnames"][0], &Value::Null, &Value::Null],
    };
    let host = host.into_iter().find_map(|value| value.as_str().filter(|text| !text.is_empty()))?;
    let scheme = if is_encrypted(kind, object) { "https" } else { "http" };
    Some(format!("{scheme}://{host}").into())
}

fn is_encrypted(kind: ObjectKind, object: &Value) -> bool {
    let spec = &object["spec"];
    match kind {
        ObjectKind::Ingress => {
            let annotations = &object["metadata"]["annotations"];
            let says = |(key, value): &(&str, Option<&str>)| {
                let said = annotations[*key].as_str().filter(|said| !said.is_empty());
                said.is_some_and(|said| value.is_none_or(|value| said == value))
            };
            spec["tls"].as_array().is_some_and(|tls| !tls.is_empty()) || ENCRYPTING.iter().any(says)
        }
        ObjectKind::Route => spec["tls"].is_object(),
        // Its listener decides, and that is in an object of somebody else. By custom its name tells.
        _ => {
            let listener = spec["parentRefs"][0]["sectionName"].as_str().unwrap_or_default();
            ["https", "tls"].iter().any(|word| listener.to_ascii_lowercase().contains(word))
        }
    }
}

/// Why a router or a gateway does not serve the object. One that nobody has looked at yet is not
/// refused.
pub(super) fn refused(kind: ObjectKind, object: &Value) -> Option<Box<str>> {
    let (answers, wanted): (&Value, &[&str]) = match kind {
        ObjectKind::Route => (&object["status"]["ingress"], &["Admitted"]),
        ObjectKind::HttpRoute => (&object["status"]["parents"], &["Accepted", "ResolvedRefs"]),
        _ => return None,
    };
    let answers = answers.as_array().filter(|answers| !answers.is_empty())?;
    let generation = object["metadata"]["generation"].as_i64();
    let refusals: Vec<&Value> =
        answers.iter().filter_map(|answer| refusal(answer, wanted, generation)).collect();
    // One router or gateway that serves it is enough.
    let condition = refusals.first().filter(|_| refusals.len() == answers.len())?;
    let text = |field: &str| condition[field].as_str().unwrap_or_default();
    Some(format!("{}: {}", text("reason"), text("message")).into())
}

/// The condition of an answer by which the object is refused as it is now.
fn refusal<'a>(answer: &'a Value, wanted: &[&str], generation: Option<i64>) -> Option<&'a Value> {
    let mut conditions = answer["conditions"].as_array().into_iter().flatten();
    conditions.find(|condition| {
        let seen = condition["observedGeneration"].as_i64();
        condition["status"] == "False"
            && condition["type"].as_str().is_some_and(|name| wanted.contains(&name))
            && seen.zip(generation).is_none_or(|(seen, now)| seen >= now)
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::no_certificate(json!({}), json!({}), "http://a.example")]
    #[case::a_certificate(json!({}), json!({"tls": [{"secretName": "s"}]}), "https://a.example")]
    #[case::openshift(json!({"route.openshift.io/termination": "edge"}), json!({}), "https://a.example")]
    #[case::nginx(json!({"nginx.ingress.kubernetes.io/force-ssl-redirect": "true"}), json!({}), "https://a.example")]
    #[case::not_nginx(json!({"nginx.ingress.kubernetes.io/force-ssl-redirect": "false"}), json!({}), "http://a.example")]
    fn tls_that_ends_at_an_ingress_is_in_its_url(
        #[case] annotations: Value,
        #[case] more: Value,
        #[case] expected: &str,
    ) {
        let mut object = json!({
            "metadata": {"annotations": annotations},
            "spec": {"rules": [{"host": "a.example"}]},
        });
        object["spec"]["tls"] = more["tls"].clone();
        assert_eq!(url(ObjectKind::Ingress, &object).as_deref(), Some(expected));
    }

    #[test]
    fn a_listener_s_name_tells_whether_it_encrypts() {
        let url = |section: &str| {
            let parent = json!({"name": "gate", "sectionName": section});
            let spec = json!({"hostnames": ["a.example"], "parentRefs": [parent]});
            url(ObjectKind::HttpRoute, &json!({"spec": spec})).unwrap()
        };
        assert_eq!((&*url("https-all"), &*url("web")), ("https://a.example", "http://a.example"));
    }

    #[test]
    fn a_route_is_refused_where_nobody_admits_it() {
        let answer = |kind: &str, status: &str| {
            json!({"conditions": [{
                "type": kind, "status": status, "reason": "HostAlreadyClaimed", "message": "by b",
            }]})
        };
        let route = |answers: &[Value]| {
            refused(ObjectKind::Route, &json!({"status": {"ingress": answers}}))
        };
        let (no, yes) = (answer("Admitted", "False"), answer("Admitted", "True"));
        assert_eq!(route(&[no.clone()]).as_deref(), Some("HostAlreadyClaimed: by b"));
        assert_eq!(route(&[no, yes]), None);
        assert_eq!(route(&[]), None, "nobody has looked yet");
        let unresolved = json!({"status": {"parents": [answer("ResolvedRefs", "False")]}});
        assert!(refused(ObjectKind::HttpRoute, &unresolved).is_some());
        let mut changed = unresolved.clone();
        changed["metadata"]["generation"] = json!(2);
        changed["status"]["parents"][0]["conditions"][0]["observedGeneration"] = json!(1);
        assert_eq!(refused(ObjectKind::HttpRoute, &changed), None, "of the object as it was");
        assert_eq!(refused(ObjectKind::Ingress, &unresolved), None);
    }
}
