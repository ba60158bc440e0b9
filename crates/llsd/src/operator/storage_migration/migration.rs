//! One attempt: everything written back, then the older versions taken off the list.

use kube::Client;
use serde::Serialize;

use super::definition::StoredDefinition;
use super::error::MigrationError;
use super::objects::{self, MigrationProgress};

/// What a migration came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Migrated {
    /// Objects that were written back.
    pub written: usize,
    /// Objects that were deleted before their turn.
    pub gone: usize,
    /// Versions that were taken off the list; none if there was nothing to do.
    pub retired: Vec<String>,
}

/// Migrates what the cluster stores. Without an older version in the list of stored versions
/// nothing is read or written.
pub async fn migrate_storage(
    client: &Client,
    progress: impl Fn(MigrationProgress),
) -> Result<Migrated, MigrationError> {
    migrate(client, false, &progress).await
}

/// Asks for everything and changes nothing: every write is a dry run.
pub async fn rehearse(
    client: &Client,
    progress: impl Fn(MigrationProgress),
) -> Result<Migrated, MigrationError> {
    migrate(client, true, &progress).await
}

async fn migrate(
    client: &Client,
    dry_run: bool,
    progress: &impl Fn(MigrationProgress),
) -> Result<Migrated, MigrationError> {
    let definition = StoredDefinition::fetch(client).await?;
    let retired = definition.older();
    if retired.is_empty() {
        return Ok(Migrated::default());
    }
    let storage = definition.storage.clone();
    progress(MigrationProgress::Begun { stored: definition.stored.clone(), storage });
    let written = objects::write_back(client, &definition.storage, dry_run, progress).await?;
    if !written.refused.is_empty() {
        return Err(MigrationError::Refused { objects: written.refused, written: written.objects });
    }
    definition.retire(client, &retired, dry_run).await?;
    Ok(Migrated { written: written.objects, gone: written.gone, retired })
}

#[cfg(test)]
mod tests {
    use kube::client::Body;
    use llsd_api::PLURAL;
    use llsd_install::names::DEFINITION;
    use serde_json::{Value, json};

    use super::*;

    const BOTH: &[&str] = &["v1alpha1", "v1alpha2"];

    /// Migrates objects that are named after what comes of them. Patches of the definition are
    /// answered by `codes`; from the first one on it lists `later`.
    async fn migrated(
        objects: &'static [&'static str],
        later: &'static [&'static str],
        codes: &'static [u16],
    ) -> Result<Migrated, MigrationError> {
        let (mut codes, mut stored) = (codes.iter(), BOTH);
        let mut is_served = false;
        let object = |name: &str| json!({"metadata": {"namespace": "team", "name": name}});
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let last = request.uri().path().rsplit('/').next().unwrap_or_default();
            let (code, mut body) = match (request.method().as_str(), last) {
                ("GET", DEFINITION) => {
                    let spec = json!({"versions": [{"name": "v1alpha2", "storage": true}]});
                    (200, json!({"spec": spec, "status": {"storedVersions": stored}}))
                }
                ("PATCH", "status") => {
                    stored = later;
                    (*codes.next().expect("no more attempts"), json!({}))
                }
                ("GET", PLURAL) => {
                    let items: Vec<Value> = objects.iter().map(|name| object(name)).collect();
                    (200, json!({"apiVersion": "v1", "kind": "List", "items": items}))
                }
                ("PUT", "written") | ("GET", "busy") => (200, object(last)),
                ("PUT", "refused") => (422, json!({"message": "frozen"})),
                ("PUT", "overtaken" | "busy") => (409, json!({})),
                ("PUT", "unserved") if is_served => (200, object(last)),
                ("PUT", "unserved") => {
                    is_served = true;
                    (404, Value::Null)
                }
                ("PUT", "never-served") => (404, Value::Null),
                _ => (404, json!({"reason": "NotFound", "details": {"name": last}})),
            };
            // The answer to a path that is not served is no Status.
            let text = if body.is_null() {
                "404 page not found".to_owned()
            } else {
                body["code"] = json!(code);
                body.to_string()
            };
            let body = Body::from(text.into_bytes());
            std::future::ready(http::Response::builder().status(code).body(body))
        });
        migrate_storage(&Client::new(service, "default"), |_| ()).await
    }

    #[tokio::test]
    async fn what_others_do_meanwhile_is_looked_at() {
        let end = migrated(&["refused", "busy", "written"], BOTH, &[]).await.unwrap_err();
        let MigrationError::Refused { objects, written: 1 } = end else { panic!("{end}") };
        let told = objects.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(told, ["team/refused: frozen", "team/busy: it changes all the time"]);
        let done = Migrated { written: 1, gone: 2, retired: vec!["v1alpha1".to_owned()] };
        let objects = &["deleted", "written", "overtaken"];
        assert_eq!(migrated(objects, BOTH, &[409, 200]).await, Ok(done.clone()));
        assert_eq!(migrated(objects, &["v1alpha2"], &[409]).await, Ok(done));
        assert_eq!(migrated(objects, &["v1"], &[409]).await, Err(MigrationError::Changed));
        assert_eq!(migrated(objects, BOTH, &[409; 10]).await, Err(MigrationError::Changed));
        let refused = migrated(objects, BOTH, &[403]).await;
        assert!(matches!(refused, Err(MigrationError::Forbidden { verb: "patch", .. })));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_served_for_a_moment_is_not_taken_for_deleted() {
        let done = Migrated { written: 2, gone: 1, retired: vec!["v1alpha1".to_owned()] };
        let objects = &["written", "unserved", "deleted"];
        assert_eq!(migrated(objects, BOTH, &[200]).await, Ok(done));
        // Nothing is retired while an object may still be stored in an older version.
        let never = migrated(&["never-served"], BOTH, &[]).await;
        assert_eq!(never, Err(MigrationError::NotServed));
    }
}
