//! The ServiceAccount that the operator itself runs as, which no resource may name.

use std::collections::BTreeSet;

use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::api::PostParams;
use kube::{Api, Client};
use llsd_install::names::OPERATOR;

/// What Kubernetes calls the user of a ServiceAccount, before its namespace and name.
const PREFIX: &str = "system:serviceaccount:";

/// The account that is installed with the operator, and the one that it has in this namespace.
pub async fn own_accounts(client: &Client, namespace: &str) -> BTreeSet<String> {
    let reviews: Api<SelfSubjectReview> = Api::all(client.clone());
    let answer = reviews.create(&PostParams::default(), &SelfSubjectReview::default()).await;
    let user = answer.ok().and_then(|answer| answer.status?.user_info?.username);
    let own = user.as_deref().and_then(|user| account(user, namespace));
    own.into_iter().chain([OPERATOR]).map(str::to_owned).collect()
}

fn account<'a>(user: &'a str, namespace: &str) -> Option<&'a str> {
    user.strip_prefix(PREFIX)?.strip_prefix(namespace)?.strip_prefix(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_named_within_its_namespace() {
        assert_eq!(account("system:serviceaccount:system:mine", "system"), Some("mine"));
        assert_eq!(account("system:serviceaccount:system-2:mine", "system"), None);
        assert_eq!(account("admin", "system"), None);
    }
}
