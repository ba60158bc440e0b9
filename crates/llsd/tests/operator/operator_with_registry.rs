//! An operator with a registry, and a way to it that a test can cut.

use llsd_testkit::RegistryServer;
use serde_json::json;

use llsd_testbed::registry::allowed_hosts;
use llsd_testbed::relay::Relay;
use llsd_testbed::test_operator::TestOperator;

pub struct OperatorWithRegistry {
    pub operator: TestOperator,
    pub registry: RegistryServer,
    pub way: Relay,
}

impl OperatorWithRegistry {
    /// With more arguments for the operator.
    pub async fn start(arguments: &[&str]) -> Option<Self> {
        let operator = TestOperator::start(arguments).await?;
        let registry = RegistryServer::builder().start().await.unwrap();
        let way = Relay::to(registry.host());
        let hosts = [way.host(), registry.host().to_owned()];
        operator.configure(json!({"registries": allowed_hosts(&hosts)})).await;
        Some(Self { operator, registry, way })
    }
}
