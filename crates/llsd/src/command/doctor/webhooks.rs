//! The webhooks: registered with an authority that fits, and answering. Whether they answer is asked of the API
//! server, which calls them for requests that change nothing.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use kube::Client;
use kube::core::Status;
use llsd_api::{GROUP, KIND, PLURAL};
use llsd_install::names::{OPERATOR, VALIDATING_WEBHOOK, WEBHOOK_NAME, WEBHOOK_SECRET};
use serde_json::{Value, json};

use super::api::{get, post, words};
use super::finding::{DEFINE, Finding, INSTALL};
use crate::operator::webhook::certificates::{all_trusted, signed_by};

const CONVERSION: &str = "conversion webhook";
const ADMISSION: &str = "validating webhook";
const CERTIFICATE: &str = "certificate";
const CONFIGURATIONS: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/// That conversion is registered, of an operator in this namespace, with authorities that are valid.
pub(super) fn conversion(definition: &Value, namespace: &str, now: Timestamp) -> Finding {
    let conversion = &definition["spec"]["conversion"];
    if conversion["strategy"] != "Webhook" {
        let says =
            "the definition does not convert by webhook: one version loses what it cannot hold";
        return Finding::problem(CONVERSION, says, DEFINE);
    }
    let config = &conversion["webhook"]["clientConfig"];
    if let Some(other) = config["service"]["namespace"].as_str().filter(|other| *other != namespace)
    {
        return Finding::warning(
            CONVERSION,
            format!("the operator in namespace {other} serves it, not the one in {namespace}"),
            format!("if there is none, apply the definition of the install files of {namespace}"),
        );
    }
    registered(CONVERSION, config, namespace, now)
}

/// The same of the validating webhook, which an installation may leave out. OLM makes up a name for its
/// configuration.
pub(super) async fn admission(client: &Client, namespace: &str, now: Timestamp) -> Finding {
    match registrations(client).await {
        Ok(configurations) => validates(&configurations, namespace, now),
        Err(error) => Finding::unasked(ADMISSION, &error),
    }
}

/// The configuration of our name; all that there are where it is missing, or is without our webhook.
async fn registrations(client: &Client) -> kube::Result<Vec<Value>> {
    let ours = get(client, &format!("{CONFIGURATIONS}/{VALIDATING_WEBHOOK}")).await?;
    if let Some(ours) = ours.filter(|ours| webhooks(ours).next().is_some()) {
        return Ok(vec![ours]);
    }
    let listed = get(client, CONFIGURATIONS).await?;
    Ok(listed.and_then(|list| list["items"].as_array().cloned()).unwrap_or_default())
}

/// Those of a configuration that have the name of ours.
fn webhooks(configuration: &Value) -> impl Iterator<Item = &Value> {
    let all = configuration["webhooks"].as_array().into_iter().flatten();
    all.filter(|webhook| webhook["name"] == WEBHOOK_NAME)
}

/// Of several, the one that calls the operator in this namespace counts.
fn validates(configurations: &[Value], namespace: &str, now: Timestamp) -> Finding {
    let calls_it = |webhook: &&Value| webhook["clientConfig"]["service"]["namespace"] == namespace;
    let mut found = configurations.iter().flat_map(webhooks);
    let first = found.next();
    let webhook = first.into_iter().chain(found).find(calls_it).or(first);
    match webhook {
        Some(webhook) => registered(ADMISSION, &webhook["clientConfig"], namespace, now),
        None => Finding::warning(
            ADMISSION,
            format!("{VALIDATING_WEBHOOK} is not registered: mistakes show in the status alone"),
            INSTALL,
        ),
    }
}

fn registered(check: &'static str, config: &Value, namespace: &str, now: Timestamp) -> Finding {
    let Some(bundle) = bundle(config) else {
        return Finding::problem(
            check,
            "it is registered without an authority, so the API server trusts no answer",
            format!("the operator writes it: kubectl logs -n {namespace} deployment/{OPERATOR}"),
        );
    };
    match all_trusted(&bundle) {
        Ok(authorities) if authorities.iter().all(|authority| authority.until <= now) => {
            Finding::problem(
                check,
                "all its authorities have expired",
                format!(
                    "restart the operator: kubectl rollout restart -n {namespace} deployment/{OPERATOR}"
                ),
            )
        }
        Ok(authorities) => {
            let last = authorities.iter().map(|authority| authority.until).max().unwrap_or(now);
            let date = last.strftime("%Y-%m-%d");
            Finding::ok(check, format!("it is registered, with an authority until {date}"))
        }
        // Somebody else's authority may be anything that TLS takes; whether it fits is asked below.
        Err(why) => Finding::ok(
            check,
            format!("it is registered, with a caBundle of another maker ({why})"),
        ),
    }
}

fn bundle(config: &Value) -> Option<String> {
    let bytes = BASE64_STANDARD.decode(config["caBundle"].as_str()?).ok()?;
    String::from_utf8(bytes).ok().filter(|text| !text.trim().is_empty())
}

/// Whether the certificate that is served is of an authority that the API server trusts; nothing where the
/// operator does not make it itself.
pub(super) fn certificate(definition: &Value, secret: &Value, now: Timestamp) -> Option<Finding> {
    let config = &definition["spec"]["conversion"]["webhook"]["clientConfig"];
    let authorities = all_trusted(&bundle(config)?).ok()?;
    let served = BASE64_STANDARD.decode(secret["data"]["tls.crt"].as_str()?).ok()?;
    let served = String::from_utf8(served).ok()?;
    let remedy = format!(
        "kubectl delete secret -n {} {WEBHOOK_SECRET}; the operator makes another",
        secret["metadata"]["namespace"].as_str().unwrap_or_default()
    );
    Some(match signed_by(&authorities, &served) {
        Ok((true, until)) if until > now => {
            let date = until.strftime("%Y-%m-%d");
            Finding::ok(CERTIFICATE, format!("it fits the authority, and is valid until {date}"))
        }
        Ok((true, _)) => Finding::problem(CERTIFICATE, "it has expired", remedy),
        Ok((false, _)) => Finding::problem(
            CERTIFICATE,
            "it is of another authority than the registered one",
            remedy,
        ),
        Err(why) => Finding::problem(CERTIFICATE, format!("it cannot be read: {why}"), remedy),
    })
}

/// Has the API server convert a resource that is not stored.
pub(super) async fn converts(client: &Client, namespace: &str) -> Finding {
    let spec = json!({"server": {"distribution": {"name": "starter"}}});
    let check = "conversion answers";
    match dry_run(client, namespace, "v1alpha1", &spec).await {
        Ok(_) => Finding::ok(check, "a resource of v1alpha1 was converted"),
        Err(kube::Error::Api(status)) if status.message.contains("conversion webhook") => {
            Finding::problem(
                check,
                status.message.clone(),
                "until it answers no resource of v1alpha1 can be read or written; see docs/webhooks.md",
            )
        }
        Err(error) => refused(check, &error),
    }
}

/// Has the API server admit a mistake that only the webhook finds.
pub(super) async fn judges(client: &Client, namespace: &str) -> Finding {
    let mistake = json!({
        "distribution": {"name": "starter"},
        "providers": {"inference": {"provider": "vllm", "endpoint": "http://vllm:80000"}},
    });
    judged(&dry_run(client, namespace, "v1alpha2", &mistake).await)
}

/// That the webhook denied it, by the API server's words: its name stands in other answers, too.
fn judged(answer: &kube::Result<Value>) -> Finding {
    let check = "admission answers";
    let says = |status: &Status, words: &str| {
        status.message.contains(&words.replace("NAME", WEBHOOK_NAME))
    };
    match answer {
        Err(kube::Error::Api(status))
            if says(status, "admission webhook \"NAME\" denied the request") =>
        {
            Finding::ok(check, "a mistake was refused with its field")
        }
        Err(kube::Error::Api(status)) if says(status, "failed calling webhook \"NAME\"") => {
            Finding::problem(
                check,
                status.message.clone(),
                "until it answers no resource can be written; see docs/webhooks.md",
            )
        }
        Ok(_) => Finding::warning(
            check,
            "a mistake passed: the API server does not reach the webhook, and goes on without it",
            "see docs/webhooks.md; a NetworkPolicy or a firewall between API server and operator is the usual cause",
        ),
        Err(error) => refused(check, error),
    }
}

async fn dry_run(
    client: &Client,
    namespace: &str,
    version: &str,
    spec: &Value,
) -> kube::Result<Value> {
    let path = format!("/apis/{GROUP}/{version}/namespaces/{namespace}/{PLURAL}?dryRun=All");
    let object = json!({
        "apiVersion": format!("{GROUP}/{version}"),
        "kind": KIND,
        "metadata": {"name": format!("llsd-doctor-{:08x}", fastrand::u32(..))},
        "spec": spec,
    });
    post(client, &path, &object).await
}

/// Something else answered: rights, a quota, a policy of somebody.
fn refused(check: &'static str, error: &kube::Error) -> Finding {
    let may_not = matches!(error, kube::Error::Api(status) if status.code == 403);
    if may_not {
        return Finding::unasked(check, error);
    }
    Finding::warning(
        check,
        format!("was not tried: {}", words(error)),
        "name a namespace where a resource may be created, with --namespace",
    )
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    fn definition(config: &Value) -> Value {
        json!({"spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": config}}}})
    }

    #[test]
    fn a_registration_without_an_authority_or_of_another_operator_is_told() {
        let now = Timestamp::now();
        let level = |definition: Value| conversion(&definition, "home", now).level;
        assert_eq!(level(json!({"spec": {"conversion": {"strategy": "None"}}})), Level::Problem);
        assert_eq!(level(definition(&json!({"service": {"namespace": "home"}}))), Level::Problem);
        assert_eq!(level(definition(&json!({"service": {"namespace": "away"}}))), Level::Warning);
    }

    #[test]
    fn the_validating_webhook_is_known_by_its_own_name() {
        let of = |webhook: &str, namespace: &str, bundle: &str| {
            let service = json!({"namespace": namespace});
            let config = json!({"service": service, "caBundle": BASE64_STANDARD.encode(bundle)});
            json!({"webhooks": [{"name": webhook, "clientConfig": config}]})
        };
        let level = |all: &[Value]| validates(all, "home", Timestamp::now()).level;
        let foreign = of("quota.example.com", "home", "x");
        let by_olm = of(WEBHOOK_NAME, "home", "x");
        assert_eq!(level(&[]), Level::Warning);
        assert_eq!(level(std::slice::from_ref(&foreign)), Level::Warning);
        assert_eq!(level(&[foreign, by_olm.clone()]), Level::Ok);
        // What another operator left behind does not hide it.
        let leftover = of(WEBHOOK_NAME, "away", "");
        assert_eq!(level(&[leftover.clone(), by_olm]), Level::Ok);
        assert_eq!(level(&[leftover]), Level::Problem);
    }

    #[test]
    fn only_a_denial_shows_that_the_webhook_answers() {
        let level = |code: u16, message: &str| {
            let status = Status { code, message: message.to_owned(), ..Status::default() };
            judged(&Err(kube::Error::Api(status.boxed()))).level
        };
        let denied =
            "admission webhook \"llamastackdistributions.llamastack.io\" denied the request: …";
        assert_eq!(level(403, denied), Level::Ok);
        let failed = "Internal error occurred: failed calling webhook \
                      \"llamastackdistributions.llamastack.io\": connection refused";
        assert_eq!(level(500, failed), Level::Problem);
        // The definition is called like the webhook.
        let forbidden = "llamastackdistributions.llamastack.io is forbidden: User \"viewer\" cannot \
                         create resource \"llamastackdistributions\"";
        assert_eq!(level(403, forbidden), Level::Warning);
        let of_others = "admission webhook \"quota.example.com\" denied the request: too many";
        assert_eq!(level(403, of_others), Level::Warning);
        assert_eq!(judged(&Ok(json!({}))).level, Level::Warning);
    }
}
