//! The acceptance scenarios of user stories 1 to 6, each as it is written, with the
//! real operator under its real roles. The tests bear the numbers of `docs/requirements.md`.

use llsd_testkit::{InUse, RegistryServer, WhileUsed, test_name};
use serde_json::{Value, json};

use llsd_testbed::namespace::{Namespace, condition};
use llsd_testbed::registry::allowed;
use llsd_testbed::story::{config, container, entry, percent_decoded, vllm, vllm_with_key};
use llsd_testbed::test_operator::TestOperator;

pub struct World {
    operator: TestOperator,
    pub registry: RegistryServer,
}

/// A cluster whose operator knows a domain and a registry.
pub async fn world() -> Option<InUse<World>> {
    static WORLD: WhileUsed<World> = WhileUsed::new();
    let start = async || {
        let operator = TestOperator::start(&[]).await?;
        let registry = RegistryServer::builder().start().await.unwrap();
        let registries = allowed(&[&registry]);
        operator
            .configure(json!({"ingressDomain": "apps.example.com", "registries": registries}))
            .await;
        Some(World { operator, registry })
    };
    WORLD.get(start).await
}

impl World {
    /// One of its own for each test, named after its requirement.
    pub async fn namespace(&self) -> Namespace<'_> {
        self.operator.namespace(&test_name()[..5].replace('_', "-")).await
    }
}

/// A resource named `demo` with this spec that became ready, and its generated file.
pub async fn generated(namespace: &Namespace<'_>, spec: Value) -> Value {
    namespace.distribution("demo", spec).await;
    let ready = namespace.until_ready("demo").await;
    let config = config(namespace, &ready).await;
    let deployment = namespace.get("Deployment", "demo").await.unwrap();
    let volumes = &deployment["spec"]["template"]["spec"]["volumes"];
    assert_eq!(
        entry(volumes, "name", "user-config")["configMap"]["name"],
        ready["status"]["configGeneration"]["configMapName"],
        "the pods run with the file of the status"
    );
    config
}

#[tokio::test]
async fn us1_1_one_vllm_provider_becomes_a_config_yaml() {
    let Some(world) = world().await else { return };
    let namespace = world.namespace().await;
    let config = generated(&namespace, vllm()).await;
    let provider = entry(&config["providers"]["inference"], "provider_id", "vllm");
    assert_eq!(provider["provider_type"], "remote::vllm");
    assert_eq!(provider["config"]["base_url"], "http://vllm:8000/v1");
    let ready = namespace.until_ready("demo").await;
    let said = condition(&ready, "ConfigGenerated");
    assert_eq!(said["reason"], "ConfigGenerationSucceeded");
    assert!(said["message"].as_str().unwrap().starts_with("Generated config.yaml with "));
}

#[tokio::test]
async fn us1_2_an_api_key_reaches_the_provider_through_a_variable() {
    let Some(world) = world().await else { return };
    let namespace = world.namespace().await;
    namespace.secret("vllm-creds", json!({"token": "sk-a-key-of-us1-2"})).await;
    let config = generated(&namespace, vllm_with_key()).await;
    let provider = entry(&config["providers"]["inference"], "provider_id", "vllm");
    assert_eq!(provider["config"]["api_token"], "${env.LLSD_VLLM_API_KEY}");
    let deployment = namespace.get("Deployment", "demo").await.unwrap();
    let variable = entry(&container(&deployment)["env"], "name", "LLSD_VLLM_API_KEY");
    assert_eq!(
        variable["valueFrom"]["secretKeyRef"],
        json!({"name": "vllm-creds", "key": "token"})
    );
    let ready = namespace.until_ready("demo").await;
    assert_eq!(condition(&ready, "SecretsResolved")["reason"], "AllSecretsFound");
    assert_eq!(condition(&ready, "SecretsResolved")["message"], "Resolved 1 secret reference");
    for kind in ["LlamaStackDistribution", "ConfigMap", "Deployment", "Pod", "Event"] {
        let all = json!(namespace.list(kind).await).to_string();
        assert!(!all.contains("sk-a-key-of-us1-2"), "the key stands in a {kind}");
    }
}

#[tokio::test]
async fn us1_3_a_name_alone_runs_the_distributions_own_configuration() {
    let Some(world) = world().await else { return };
    let namespace = world.namespace().await;
    namespace.distribution("demo", json!({"distribution": {"name": "starter"}})).await;
    let ready = namespace.until_ready("demo").await;
    assert_eq!(condition(&ready, "ConfigGenerated")["reason"], "DefaultConfigUsed");
    assert_eq!(ready["status"]["resolvedDistribution"]["configSource"], "Default");
    assert_eq!(ready["status"].get("configGeneration"), None);
    let config_maps = namespace.list("ConfigMap").await;
    let ours = config_maps.iter().filter(|map| map["metadata"]["name"] != "kube-root-ca.crt");
    assert_eq!(ours.count(), 0, "{config_maps:#?}");
    let deployment = namespace.get("Deployment", "demo").await.unwrap();
    let container = container(&deployment);
    assert_eq!((container.get("command"), container.get("args")), (None, None));
    let volumes = &deployment["spec"]["template"]["spec"]["volumes"];
    assert!(entry(volumes, "name", "user-config").is_null());
    let image = container["image"].as_str().unwrap();
    assert!(image.contains("distribution-starter"), "{image}");
}

#[tokio::test]
async fn us2_1_two_providers_with_ids_are_both_configured() {
    let Some(world) = world().await else { return };
    let namespace = world.namespace().await;
    namespace.secret("openai-creds", json!({"key": "sk-openai"})).await;
    let spec = json!({
        "distribution": {"name": "starter"},
        "providers": {"inference": [
            {"id": "vllm-primary", "provider": "vllm", "endpoint": "http://primary:8000"},
            {"id": "openai-fallback", "provider": "openai",
             "apiKey": {"secretKeyRef": {"name": "openai-creds", "key": "key"}}},
        ]},
    });
    let config = generated(&namespace, spec).await;
    let inference = &config["providers"]["inference"];
    let primary = entry(inference, "provider_id", "vllm-primary");
    assert_eq!(primary["config"]["base_url"], "http://primary:8000/v1");
    let fallback = entry(inference, "provider_id", "openai-fallback");
    assert_eq!(fallback["provider_type"], "remote::openai");
    assert_eq!(fallback["config"]["api_key"], "${env.LLSD_OPENAI_FALLBACK_API_KEY}");
}

#[tokio::test]
async fn us2_2_several_providers_without_ids_are_refused() {
    let Some(world) = world().await else { return };
    let namespace = world.namespace().await;
    let said = namespace
        .refusal(&json!({
            "distribution": {"name": "starter"},
            "providers": {"inference": [
                {"provider": "vllm", "endpoint": "http://a:8000"}, {"provider": "openai"},
            ]},
        }))
        .await;
    assert!(said.contains("each of several providers of one API needs an id"), "{said}");
    assert!(namespace.list("LlamaStackDistribution").await.is_empty());
}

#[tokio::test]
async fn us2_3_duplicate_ids_are_refused_and_listed() {
    let Some(world) = world().await else { return };
    let namespace = world.namespace().await;
    let said = namespace
        .refusal(&json!({
            "distribution": {"name": "starter"},
            "providers": {
                "inference": {"id": "main", "provider": "vllm", "endpoint": "http://a:8000"},
                "safety": {"id": "main", "provider": "llama-guard"},
            },
        }))
        .await;
    assert!(said.contains("provider ids must be unique over all APIs"), "{said}");
    assert!(said.contains("inference/main") && said.contains("safety/main"), "{said}");
}

/// Two providers, and these models.
pub fn with_models(models: &Value) -> Value {
    json!({
        "distribution": {"name": "starter"},
        "providers": {"inference": [
            {"id": "primary", "provider": "vllm", "endpoint": "http://vllm:8000"},
            {"id": "fallback", "provider": "ollama", "endpoint": "http://ollama:11434"},
        ]},
        "resources": {"models": models},
    })
}

#[tokio::test]
async fn us3_1_a_bare_model_goes_to_the_first_provider() {
    let Some(world) = world().await else { return };
    let namespace = world.namespace().await;
    let config = generated(&namespace, with_models(&json!(["llama3.2-8b"]))).await;
    let models = &config["registered_resources"]["models"];
    assert_eq!(entry(models, "model_id", "llama3.2-8b")["provider_id"], "primary");
    let ready = namespace.until_ready("demo").await;
    assert_eq!(ready["status"]["configGeneration"]["resourceCount"], 1);
}

#[tokio::test]
async fn us3_2_a_model_goes_to_the_provider_that_it_names() {
    let Some(world) = world().await else { return };
    let namespace = world.namespace().await;
    let models = json!([{"name": "llama3.2:3b", "provider": "fallback"}]);
    let config = generated(&namespace, with_models(&models)).await;
    let models = &config["registered_resources"]["models"];
    assert_eq!(entry(models, "model_id", "llama3.2:3b")["provider_id"], "fallback");
}

/// The release of `starter` has no tool groups: a tool is there when a provider serves it.
#[tokio::test]
async fn us3_3_websearch_and_rag_are_available() {
    let Some(world) = world().await else { return };
    let namespace = world.namespace().await;
    namespace.secret("tavily", json!({"key": "tvly-key"})).await;
    let spec = json!({
        "distribution": {"name": "starter"},
        "providers": {"toolRuntime": {
            "provider": "tavily-search",
            "apiKey": {"secretKeyRef": {"name": "tavily", "key": "key"}},
        }},
        "resources": {"tools": ["websearch", "rag"]},
    });
    let config = generated(&namespace, spec).await;
    let tools = &config["providers"]["tool_runtime"];
    assert_eq!(tools[0]["provider_id"], "tavily-search", "the search with a key comes first");
    assert_eq!(tools[0]["config"]["api_key"], "${env.LLSD_TAVILY_SEARCH_API_KEY}");
    assert!(!entry(tools, "provider_type", "inline::file-search").is_null());
}

#[tokio::test]
async fn us4_1_postgres_from_a_connection_string() {
    let Some(world) = world().await else { return };
    let namespace = world.namespace().await;
    let url = "postgresql://llama:p%40ss-w0rd@pg.data.svc:5433/stack?sslmode=require";
    namespace.secret("pg-creds", json!({"url": url})).await;
    let spec = json!({
        "distribution": {"name": "starter"},
        "storage": {"sql": {
            "type": "postgres",
            "connectionString": {"secretKeyRef": {"name": "pg-creds", "key": "url"}},
        }},
    });
    let config = generated(&namespace, spec).await;
    let backend = &config["storage"]["backends"]["sql_default"];
    assert_eq!(backend["type"], "sql_postgres");
    assert_eq!(backend["host"], "${env.LLSD_STORAGE_SQL_HOST}");
    let secret = namespace.find("Secret", "demo-storage-").await.expect("a Secret of the operator");
    let part = |key: &str| percent_decoded(&secret["data"][key]);
    assert_eq!(["host", "port", "user"].map(part), ["pg.data.svc", "5433", "llama"]);
    assert_eq!(part("db"), "stack?ssl=require", "the server pastes it into a URL");
    assert_eq!(part("password"), "p@ss-w0rd");
    assert_eq!(secret["metadata"]["ownerReferences"][0]["name"], "demo");
    let deployment = namespace.get("Deployment", "demo").await.unwrap();
    let password = entry(&container(&deployment)["env"], "name", "LLSD_STORAGE_SQL_PASSWORD");
    assert_eq!(
        password["valueFrom"]["secretKeyRef"],
        json!({"name": secret["metadata"]["name"], "key": "password"})
    );
}

#[tokio::test]
async fn us4_2_redis_for_keys_and_values() {
    let Some(world) = world().await else { return };
    let namespace = world.namespace().await;
    let spec = json!({
        "distribution": {"name": "starter"},
        "storage": {"kv": {"type": "redis", "endpoint": "redis://redis.data.svc:6379"}},
    });
    let config = generated(&namespace, spec).await;
    let backends = &config["storage"]["backends"];
    let expected = json!({"type": "kv_redis", "host": "redis.data.svc", "port": 6379});
    assert_eq!(backends["kv_default"], expected);
    assert_eq!(backends["sql_default"]["type"], "sql_sqlite", "the tables stay where they were");
}

#[tokio::test]
async fn us4_3_without_storage_sqlite_stays() {
    let Some(world) = world().await else { return };
    let namespace = world.namespace().await;
    let config = generated(&namespace, vllm()).await;
    let backends = &config["storage"]["backends"];
    assert_eq!(backends["kv_default"]["type"], "kv_sqlite");
    assert_eq!(backends["sql_default"]["type"], "sql_sqlite");
}

pub fn exposed(expose: &Value) -> Value {
    json!({"distribution": {"name": "starter"}, "networking": {"expose": expose}})
}

/// The resource `demo` is exposed under this host by an Ingress.
pub async fn is_exposed(namespace: &Namespace<'_>, host: &str) {
    let ready = namespace.until_ready("demo").await;
    assert_eq!(ready["status"]["routeURL"], format!("http://{host}"));
    let ingress = namespace.get("Ingress", "demo-ingress").await.expect("an Ingress");
    let rule = &ingress["spec"]["rules"][0];
    assert_eq!(rule["host"], host);
    let backend = json!({"name": "demo-service", "port": {"number": 8321}});
    assert_eq!(rule["http"]["paths"][0]["backend"]["service"], backend);
}

#[tokio::test]
async fn us5_1_an_exposed_server_gets_an_ingress_with_a_generated_host() {
    let Some(world) = world().await else { return };
    let namespace = world.namespace().await;
    namespace.distribution("demo", exposed(&json!(true))).await;
    is_exposed(&namespace, &format!("demo-{}.apps.example.com", namespace.name)).await;
}

#[tokio::test]
async fn us5_2_an_exposed_server_gets_the_host_that_it_names() {
    let Some(world) = world().await else { return };
    let namespace = world.namespace().await;
    namespace.distribution("demo", exposed(&json!({"hostname": "llama.example.com"}))).await;
    is_exposed(&namespace, "llama.example.com").await;
}

#[tokio::test]
async fn us5_3_the_server_serves_the_certificate_of_the_secret() {
    let Some(world) = world().await else { return };
    let namespace = world.namespace().await;
    let made = rcgen::generate_simple_self_signed(["llama.example.com".to_owned()]).unwrap();
    let data = json!({"tls.crt": made.cert.pem(), "tls.key": made.signing_key.serialize_pem()});
    namespace.secret("llama-tls", data).await;
    let spec = json!({
        "distribution": {"name": "starter"},
        "networking": {"tls": {"enabled": true, "secretName": "llama-tls"}},
    });
    namespace.distribution("demo", spec).await;
    namespace.until_ready("demo").await;
    let deployment = namespace.get("Deployment", "demo").await.unwrap();
    // The start program passes them to the server, with the image's own configuration.
    let variables = &container(&deployment)["env"];
    let (certificate, key) = ("LLS_TLS_CERT_FILE", "LLS_TLS_KEY_FILE");
    let value = |name: &str| entry(variables, "name", name)["value"].clone();
    assert_eq!(value(certificate), "/etc/llama-stack-tls/tls.crt");
    assert_eq!(value(key), "/etc/llama-stack-tls/tls.key");
    assert_eq!(container(&deployment)["command"][0], "python3");
    let pod = &deployment["spec"]["template"]["spec"];
    let volume = entry(&pod["volumes"], "name", "server-tls");
    assert_eq!(volume["secret"]["secretName"], "llama-tls");
    let container = container(&deployment);
    let mount = entry(&container["volumeMounts"], "name", "server-tls");
    assert_eq!(mount["mountPath"], "/etc/llama-stack-tls");
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
        assert_eq!(container[probe]["httpGet"]["scheme"], "HTTPS", "{probe}");
    }
    let service = namespace.get("Service", "demo-service").await.unwrap();
    assert_eq!(service["spec"]["ports"][0]["appProtocol"], "https");
    let ready = namespace.until_ready("demo").await;
    let url = ready["status"]["serviceURL"].as_str().unwrap();
    assert!(url.starts_with("https://demo-service."), "{url}");
}

#[tokio::test]
async fn us6_1_the_server_runs_the_users_own_config_map() {
    let Some(world) = world().await else { return };
    let namespace = world.namespace().await;
    namespace.config_map("my-config", json!({"config.yaml": "version: 2\nproviders: {}\n"})).await;
    let spec = json!({
        "distribution": {"name": "starter"}, "overrideConfig": {"configMapName": "my-config"},
    });
    namespace.distribution("demo", spec).await;
    let ready = namespace.until_ready("demo").await;
    assert_eq!(condition(&ready, "ConfigGenerated")["reason"], "ConfigOverridden");
    assert_eq!(ready["status"]["resolvedDistribution"]["configSource"], "Override");
    let deployment = namespace.get("Deployment", "demo").await.unwrap();
    let volumes = &deployment["spec"]["template"]["spec"]["volumes"];
    let name = entry(volumes, "name", "user-config")["configMap"]["name"].as_str().unwrap();
    let copy = namespace.get("ConfigMap", name).await.unwrap();
    let own = namespace.get("ConfigMap", "my-config").await.unwrap();
    assert_eq!((&copy["data"], &copy["immutable"]), (&own["data"], &json!(true)), "{name}");
    let container = container(&deployment);
    let mount = entry(&container["volumeMounts"], "name", "user-config");
    assert_eq!(mount["mountPath"], "/etc/llama-stack/");
    let file = entry(&container["env"], "name", "LLAMA_STACK_CONFIG");
    assert_eq!(file["value"], "/etc/llama-stack/config.yaml");
}

#[tokio::test]
async fn us6_2_own_configuration_beside_providers_is_refused() {
    let Some(world) = world().await else { return };
    let namespace = world.namespace().await;
    let mut spec = vllm();
    spec["overrideConfig"] = json!({"configMapName": "my-config"});
    let said = namespace.refusal(&spec).await;
    assert!(said.contains("providers and overrideConfig are mutually exclusive"), "{said}");
}

#[tokio::test]
async fn us6_3_a_config_map_that_does_not_exist_is_named_in_the_status() {
    let Some(world) = world().await else { return };
    let namespace = world.namespace().await;
    let spec = json!({
        "distribution": {"name": "starter"}, "overrideConfig": {"configMapName": "my-config"},
    });
    namespace.distribution("demo", spec).await;
    let stopped =
        namespace.until_condition("demo", "ConfigGenerated", "False", "ConfigMapNotFound").await;
    let said = "spec.overrideConfig.configMapName: ConfigMap not found: my-config \
                (create the ConfigMap, or name one that exists)";
    assert_eq!(condition(&stopped, "ConfigGenerated")["message"], said);
    assert_eq!(condition(&stopped, "Ready")["message"], said);
    assert_eq!(stopped["status"]["phase"], "Failed");
    assert!(namespace.get("Deployment", "demo").await.is_none());
    namespace.until_event("demo", "ConfigGenerationFailed", "ConfigMap not found: my-config").await;
}
