//! Asking a real API server what a user may do, and waiting for it to take notice of changes.

use std::time::Duration;

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::time::Instant;

/// Whether the client's user may do it. `resource` may have a subresource behind a slash; an empty
/// `namespace` asks for all of them, an empty `name` for any object.
pub async fn may(
    client: &Client,
    verb: &str,
    (group, resource): (&str, &str),
    namespace: &str,
    name: &str,
) -> bool {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let attributes = ResourceAttributes {
        group: some(group),
        resource: some(resource),
        subresource: some(subresource),
        verb: some(verb),
        namespace: some(namespace),
        name: some(name),
        ..Default::default()
    };
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(attributes),
            ..Default::default()
        },
        ..Default::default()
    };
    let reviews: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let answer = reviews.create(&PostParams::default(), &review).await.unwrap();
    answer.status.unwrap().allowed
}

/// Waits until a condition holds; the API server needs a moment to take notice of new objects.
pub async fn eventually(what: &str, holds: impl AsyncFnMut() -> bool) {
    within(Duration::from_secs(90), what, holds).await;
}

/// The same with other patience; how long it took.
pub async fn within(
    patience: Duration,
    what: &str,
    mut holds: impl AsyncFnMut() -> bool,
) -> Duration {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < patience, "not within {patience:?}: {what}");
        tokio::time::sleep(pause(began)).await;
    }
    began.elapsed()
}

/// Between two looks at what a test has waited for since then: the longer it takes, the less often.
pub(crate) fn pause(since: Instant) -> Duration {
    (since.elapsed() / 10).clamp(Duration::from_millis(50), Duration::from_millis(300))
}

/// Whether the API server refused because of who asked.
pub fn is_forbidden(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 403)
}
