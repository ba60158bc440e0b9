//! The credentials with which a resource's pods would pull: the pull secrets of pod and
//! ServiceAccount, then the kubelet's plugins. Each resource's are its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::{Api, Client};
use llsd_plan::live::{Detail, LiveObject};
use llsd_plan::objects::{ObjectKind, names};
use llsd_plan::plan::references::References;
use llsd_plan::resource::Key;
use llsd_registry::Credential;
use llsd_registry::credentials::{OfferedSecrets, ProviderPlugins, PullSecret};
use tokio::time::Instant;

use crate::operator::controller::state::Denials;

/// How long a keyring serves before its Secrets are read again.
const FRESH: Duration = Duration::from_secs(45);

/// Keyrings by namespace and the Secrets that they were made of, in order.
type Keyrings = HashMap<(Arc<str>, Vec<String>), (Instant, Arc<OfferedSecrets>)>;

/// Makes keyrings, and asks plugins.
#[derive(Default)]
pub struct PullCredentials {
    plugins: Plugins,
    keyrings: Mutex<Keyrings>,
}

#[derive(Default)]
struct Plugins(Arc<ProviderPlugins>);

impl PullCredentials {
    pub fn new(plugins: Arc<ProviderPlugins>) -> Self {
        Self { plugins: Plugins(plugins), keyrings: Mutex::default() }
    }

    /// The pull secrets of a resource.
    pub async fn secrets(
        &self,
        client: &Client,
        key: &Key,
        references: &References,
        live: &[LiveObject],
        denials: &Denials<'_>,
    ) -> Result<Arc<OfferedSecrets>, kube::Error> {
        let mut secrets = references.pull_secrets.clone();
        secrets.extend(of_account(client, key, references, live, denials).await?);
        if secrets.is_empty() {
            return Ok(Arc::default());
        }
        let place = (key.namespace.clone(), secrets);
        if let Some((made, offered)) = self.lock().get(&place)
            && made.elapsed() < FRESH
        {
            return Ok(Arc::clone(offered));
        }
        let mut offered = OfferedSecrets::default();
        let api: Api<Secret> = Api::namespaced(client.clone(), &key.namespace);
        for name in &place.1 {
            // As the kubelet has it: one that is missing is passed over. What may not be read is told as that.
            let Some(found) = denials.tolerate(api.get_opt(name).await)? else { continue };
            let read = found.map(|secret| {
                let data = secret.data.unwrap_or_default();
                let kind = secret.type_.as_deref().unwrap_or_default();
                PullSecret::from_secret(name, kind, |field| Some(&data.get(field)?.0))
            });
            offered.add(name, read.as_ref());
        }
        let offered = Arc::new(offered);
        let mut keyrings = self.lock();
        keyrings.retain(|_, (made, _)| made.elapsed() < FRESH);
        keyrings.insert(place, (Instant::now(), Arc::clone(&offered)));
        Ok(offered)
    }

    /// The Secrets of a namespace are read again the next time.
    pub fn forget(&self, namespace: &str) {
        self.lock().retain(|(known, _), _| **known != *namespace);
    }

    /// Everything that may be shown to the registry of `host[:port]/repository`, in order.
    pub async fn for_repository(
        &self,
        secrets: &OfferedSecrets,
        repository: &str,
    ) -> Vec<Credential> {
        let mut credentials = secrets.candidates(repository);
        let lookup = self.plugins.0.candidates(repository).await;
        for error in &lookup.errors {
            tracing::warn!(%error, repository, "a credential plugin failed");
        }
        credentials.extend(lookup.credentials);
        credentials
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Keyrings> {
        self.keyrings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The pull secrets of the pods' ServiceAccount. Our own account is watched; another is asked for.
async fn of_account(
    client: &Client,
    key: &Key,
    references: &References,
    live: &[LiveObject],
    denials: &Denials<'_>,
) -> Result<Vec<String>, kube::Error> {
    let Some(named) = &references.service_account else {
        let own = names::service_account(&key.name);
        let own = live.iter().find(|live| live.is_named(ObjectKind::ServiceAccount, &own));
        return Ok(match own.map(|own| &own.detail) {
            Some(Detail::Account { pull_secrets }) => {
                pull_secrets.iter().map(ToString::to_string).collect()
            }
            _ => Vec::new(),
        });
    };
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), &key.namespace);
    let account = denials.tolerate(accounts.get_opt(named).await)?.flatten();
    let secrets = account.and_then(|account| account.image_pull_secrets).unwrap_or_default();
    Ok(secrets.into_iter().map(|secret| secret.name).collect())
}
