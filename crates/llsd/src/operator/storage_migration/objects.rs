//! The objects, page by page: each is written back as it was read.

use std::time::Duration;

use kube::api::{DynamicObject, ListParams, PostParams};
use kube::core::response::reason;
use kube::core::{ApiResource, GroupVersionKind, Status, TypeMeta};
use kube::{Api, Client, ResourceExt};
use llsd_api::{GROUP, KIND, PLURAL};
use llsd_plan::live::rbac_denial::Denial;

use super::error::{MigrationError, Refusal, explained};

/// Objects that are held in memory at once.
const PAGE: u32 = 100;
/// Every attempt but the last was overtaken by somebody else's write, which is rare.
const ATTEMPTS: usize = 20;
/// The API server forgets where a long list stands, or does not serve the resources while their definition is
/// replaced; the list is then begun again.
const LISTS: usize = 5;
/// Before resources are asked for again that are not served.
const NOT_SERVED: Duration = Duration::from_secs(3);

/// How far a migration is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MigrationProgress {
    /// These versions may be in storage; all objects are written as `storage`.
    Begun { stored: Vec<String>, storage: String },
    /// This many objects were written; about as many remain, where the API server says so.
    Written { objects: usize, remaining: Option<i64> },
    /// The API server refused to take an object back; the others go on.
    Refused(Refusal),
}

#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) objects: usize,
    pub(super) gone: usize,
    pub(super) refused: Vec<Refusal>,
}

enum Fate {
    Written,
    Gone,
    Refused(Refusal),
}

pub(super) async fn write_back(
    client: &Client,
    version: &str,
    dry_run: bool,
    progress: &impl Fn(MigrationProgress),
) -> Result<Written, MigrationError> {
    let mut lists = 1;
    loop {
        match all(client, version, dry_run, progress).await {
            Err(MigrationError::ListExpired) if lists < LISTS => lists += 1,
            Err(MigrationError::NotServed) if lists < LISTS => {
                lists += 1;
                tokio::time::sleep(NOT_SERVED).await;
            }
            other => return other,
        }
    }
}

async fn all(
    client: &Client,
    version: &str,
    dry_run: bool,
    progress: &impl Fn(MigrationProgress),
) -> Result<Written, MigrationError> {
    let resource = resource(version);
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let mut params = ListParams::default().limit(PAGE);
    let mut written = Written::default();
    loop {
        let page = match api.list(&params).await {
            Ok(page) => page,
            Err(kube::Error::Api(status)) if status.code == 410 => {
                return Err(MigrationError::ListExpired);
            }
            Err(kube::Error::Api(status)) if status.code == 404 => {
                return Err(MigrationError::NotServed);
            }
            Err(error) => return Err(explained(&error, "list", PLURAL)),
        };
        for object in page.items {
            let fate = one(client, &resource, object, dry_run).await?;
            if let Fate::Refused(refusal) = &fate {
                progress(MigrationProgress::Refused(refusal.clone()));
            }
            written.count(fate);
        }
        let remaining = page.metadata.remaining_item_count;
        progress(MigrationProgress::Written { objects: written.objects, remaining });
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(written),
        }
    }
}

fn resource(version: &str) -> ApiResource {
    let kind = GroupVersionKind::gvk(GROUP, version, KIND);
    ApiResource::from_gvk_with_plural(&kind, PLURAL)
}

/// Writes back those that were refused before.
pub(super) async fn write_back_refused(
    client: &Client,
    version: &str,
    refused: &[Refusal],
) -> Result<Written, MigrationError> {
    let resource = resource(version);
    let mut written = Written::default();
    for Refusal { namespace, name, .. } in refused {
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
        let fate = match found(&api, name).await? {
            Some(object) => one(client, &resource, object, false).await?,
            None => Fate::Gone,
        };
        written.count(fate);
    }
    Ok(written)
}

impl Written {
    fn count(&mut self, fate: Fate) {
        match fate {
            Fate::Written => self.objects += 1,
            Fate::Gone => self.gone += 1,
            Fate::Refused(refusal) => self.refused.push(refusal),
        }
    }
}

/// The object, unless it was deleted.
async fn found(
    api: &Api<DynamicObject>,
    name: &str,
) -> Result<Option<DynamicObject>, MigrationError> {
    match api.get(name).await {
        Ok(object) => Ok(Some(object)),
        Err(kube::Error::Api(status)) if status.code == 404 => {
            if is_deleted(&status, name) {
                Ok(None)
            } else {
                Err(MigrationError::NotServed)
            }
        }
        Err(error) => Err(explained(&error, "get", PLURAL)),
    }
}

/// Whether a 404 says that this object is not there, or its namespace. Where the cluster does not serve the
/// resources at all, as while their definition is replaced, it names neither.
fn is_deleted(status: &Status, name: &str) -> bool {
    let details = status.details.as_ref();
    let names_it = details.is_some_and(|it| it.name == name || it.kind == "namespaces");
    status.reason == reason::NOT_FOUND && names_it
}

/// Whether an answer tells of this one object: its content, or a webhook or quota that it meets. One
/// such object keeps no other from being written.
fn is_of_the_object(status: &Status) -> bool {
    let is_away = matches!(status.code, 401 | 429 | 503 | 504);
    let is_of_all = is_away
        || Denial::parse(&status.message).is_some()
        || status.message.contains("conversion webhook");
    !is_of_all
}

/// Writes one object; a conflict means that it has changed since, and it is read again.
async fn one(
    client: &Client,
    resource: &ApiResource,
    mut object: DynamicObject,
    dry_run: bool,
) -> Result<Fate, MigrationError> {
    let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, resource);
    let params = PostParams { dry_run, ..PostParams::default() };
    for _ in 0..ATTEMPTS {
        // Items of a list may come without them.
        object.types = Some(TypeMeta {
            api_version: resource.api_version.clone(),
            kind: resource.kind.clone(),
        });
        match api.replace(&name, &params, &object).await {
            Ok(_) => return Ok(Fate::Written),
            Err(kube::Error::Api(status)) if status.code == 404 => {
                return if is_deleted(&status, &name) {
                    Ok(Fate::Gone)
                } else {
                    Err(MigrationError::NotServed)
                };
            }
            Err(kube::Error::Api(status)) if status.code == 409 => {
                let Some(now) = found(&api, &name).await? else { return Ok(Fate::Gone) };
                object = now;
            }
            Err(kube::Error::Api(status)) if is_of_the_object(&status) => {
                let reason = status.message.clone();
                return Ok(Fate::Refused(Refusal { namespace, name, reason }));
            }
            Err(error) => return Err(explained(&error, "update", PLURAL)),
        }
    }
    let reason = "it changes all the time".to_owned();
    Ok(Fate::Refused(Refusal { namespace, name, reason }))
}
