//! What a resource says of its network, its volume, its certificates and its pods becomes objects,
//! changes with the resource, and goes when it is no longer said.

mod certificates;
mod configurations;
mod exposure;
mod flags;
mod routes;
mod volumes;

use llsd_testkit::{ControlPlane, InUse, WhileUsed};
use serde_json::{Value, json};

use llsd_testbed::definitions;
use llsd_testbed::namespace::Namespace;
use llsd_testbed::test_operator::TestOperator;

/// Asks for a server with more than its distribution, and waits until it is Ready.
async fn ask(namespace: &Namespace<'_>, more: &Value) -> Value {
    asked(namespace, more).await;
    namespace.until_ready("llama").await
}

/// Asks for it alone.
async fn asked(namespace: &Namespace<'_>, more: &Value) {
    let mut spec = json!({"distribution": {"name": "starter"}});
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    namespace.distribution("llama", spec).await;
}

fn condition_message(resource: &Value, condition: &str) -> String {
    let said = &llsd_testbed::namespace::condition(resource, condition)["message"];
    said.as_str().unwrap_or_default().to_owned()
}

/// A cluster that serves Routes and HTTPRoutes, and whose operator is configured anew meanwhile.
struct Apart {
    operator: TestOperator,
    /// Why it serves neither, if so.
    routes: Result<(), String>,
}

impl Apart {
    async fn shared() -> Option<InUse<Self>> {
        static SHARED: WhileUsed<Apart> = WhileUsed::new();
        SHARED.get(Self::start).await
    }

    async fn start() -> Option<Self> {
        let builder = ControlPlane::builder().with_controller_manager();
        let cluster = builder.start_or_skip().await?;
        // Before the operator, which asks only once what is served.
        let routes = definitions::both(&cluster.client()).await;
        Some(Self { operator: TestOperator::within(cluster, &[]).await, routes })
    }
}
