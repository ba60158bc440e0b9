//! A resource becomes a running server, and then nothing more is written.

use serde_json::json;

use llsd_testbed::test_operator::TestOperator;

#[tokio::test]
async fn a_resource_becomes_ready_with_its_objects_and_then_nothing_is_written() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("settles").await;
    namespace
        .distribution(
            "simple",
            json!({
                "distribution": {"name": "starter"},
                "providers": {"inference": {"provider": "vllm", "endpoint": "http://vllm:8000"}},
            }),
        )
        .await;
    let ready = namespace.until_ready("simple").await;
    assert_eq!(ready["status"]["phase"], "Ready");
    let config = ready["status"]["configGeneration"]["configMapName"].as_str().unwrap();
    let config = namespace.get("ConfigMap", config).await.unwrap();
    assert!(config["data"]["config.yaml"].as_str().unwrap().contains("http://vllm:8000/v1"));
}
