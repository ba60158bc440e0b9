//! A cluster with the operator at work in it, as a separate process, under exactly the roles that
//! are installed with it.

use llsd_install::names;
use llsd_testkit::{ControlPlane, Kubelet, PodState};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::cluster_pool::ClusterPool;
use crate::namespace::Namespace;
use crate::operator::Operator;

/// A control plane, pods that become ready, and the operator.
#[derive(Debug)]
pub struct TestOperator {
    pub process: Operator,
    pub kubelet: Kubelet,
    pub user: String,
    pub cluster: ClusterPool,
}

impl TestOperator {
    /// One of its own, with more arguments for the operator.
    pub async fn start(arguments: &[&str]) -> Option<Self> {
        Some(Self::on(ClusterPool::get_or_skip().await?, arguments).await)
    }

    /// The same in a cluster that is there, with a controller manager and what the operator should
    /// find when it starts.
    pub async fn within(cluster: ControlPlane, arguments: &[&str]) -> Self {
        Self::on(ClusterPool::from_cluster(cluster).await, arguments).await
    }

    async fn on(cluster: ClusterPool, arguments: &[&str]) -> Self {
        let user = cluster.user.clone();
        let kubelet = cluster.kubelet(|_| PodState::Ready).await.unwrap();
        let process = Operator::start(&cluster, &user, names::NAMESPACE, arguments);
        Self { process, kubelet, user, cluster }
    }

    /// The one that the tests of a program share.
    pub async fn shared() -> Option<&'static Self> {
        static SHARED: OnceCell<Option<TestOperator>> = OnceCell::const_new();
        SHARED.get_or_init(async || Self::start(&[]).await).await.as_ref()
    }

    /// A new namespace.
    pub async fn namespace(&self, prefix: &str) -> Namespace<'_> {
        let name = self.cluster.namespace(prefix).await.unwrap();
        Namespace { cluster: &self.cluster, name }
    }

    /// Ends the operator as a crash would, and starts it again.
    pub fn restart(&mut self, arguments: &[&str]) {
        self.process.kill();
        self.process = Operator::start(&self.cluster, &self.user, names::NAMESPACE, arguments);
    }

    /// Writes the operator's own ConfigMap.
    pub async fn configure(&self, data: Value) {
        self.operator_namespace().config_map(names::CONFIG_MAP, data).await;
    }

    /// The operator's own namespace.
    pub fn operator_namespace(&self) -> Namespace<'_> {
        Namespace { cluster: &self.cluster, name: names::NAMESPACE.to_owned() }
    }
}
