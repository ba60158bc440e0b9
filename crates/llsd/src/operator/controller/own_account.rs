//! The ServiceAccounts that belong to the operator itself, which no resource may name.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use llsd_install::names::OWN_ACCOUNTS;
use serde_json::Value;

/// Where Kubernetes puts the token of a pod's account.
const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// What Kubernetes calls the user of a ServiceAccount, before its namespace and name.
const PREFIX: &str = "system:serviceaccount:";

/// The accounts that are installed with the operator, and the one that it has in this namespace.
pub fn own_accounts(namespace: &str) -> BTreeSet<String> {
    let token = std::fs::read_to_string(TOKEN).unwrap_or_default();
    let own = account(&token, namespace);
    own.into_iter().chain(OWN_ACCOUNTS.map(str::to_owned)).collect()
}

/// The account that a token is for. Nobody is asked whether the token is genuine: it is our own.
fn account(token: &str, namespace: &str) -> Option<String> {
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let payload: Value = serde_json::from_slice(&payload).ok()?;
    let name = payload["sub"].as_str()?.strip_prefix(PREFIX)?.strip_prefix(namespace)?;
    name.strip_prefix(':').map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_token_names_its_account_within_its_namespace() {
        let token = |user: &str| {
            let payload = URL_SAFE_NO_PAD.encode(json!({"sub": user}).to_string());
            format!("head.{payload}.signature")
        };
        let named = |user: &str| account(&token(user), "system");
        assert_eq!(named("system:serviceaccount:system:mine").as_deref(), Some("mine"));
        assert_eq!(named("system:serviceaccount:system-2:mine"), None);
        assert_eq!(named("admin"), None);
        assert_eq!(account("no token", "system"), None);
    }

    #[test]
    fn the_accounts_of_the_installation_are_the_operators_own() {
        let own = own_accounts("system");
        assert!(OWN_ACCOUNTS.iter().all(|account| own.contains(*account)), "{own:?}");
    }
}
