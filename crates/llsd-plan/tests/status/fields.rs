//! The fields beside the conditions: versions, image, configuration, providers, addresses.

use llsd_plan::rollout::KeepCause;
use llsd_plan::status::{Answers, ProviderState, ServerAnswer};
use llsd_plan::values::sha256;
use rstest::rstest;
use serde_json::json;

use crate::scene::{Scene, answering, keeping, running, unreachable_registry, without_the_secret};

const DIGEST: &str = "sha256:1111111111111111111111111111111111111111111111111111111111111111";

#[test]
fn the_generated_configuration_is_told_with_its_numbers() {
    let scene = Scene::vllm();
    let plan = scene.plan();
    let told = scene.status().config_generation.unwrap();
    assert_eq!(told.config_map_name, plan.objects.config_map.unwrap().metadata.name);
    let counts = plan.generated.unwrap().counts;
    assert_eq!(told.provider_count, i32::try_from(counts.providers).ok());
    assert_eq!(told.resource_count, i32::try_from(counts.resources).ok());
    assert_eq!(told.config_version, Some(2));
    assert_eq!(told.generated_at.unwrap().0, scene.now);
}

#[test]
fn the_time_of_generation_changes_with_the_file_alone() {
    let first = Scene::vllm();
    let told = |scene: &Scene| scene.status().config_generation.unwrap().generated_at.unwrap().0;
    let restarted = first.clone().next().with(|scene| scene.live.deployment = Some(running(3)));
    assert_eq!(told(&restarted), first.now);
    let changed = first.next().with(|scene| {
        scene.resource["spec"]["resources"]["models"] = json!(["llama", "mistral"]);
    });
    assert_eq!(told(&changed), changed.now);
}

#[rstest]
#[case::embedded(Scene::vllm(), "Embedded", true)]
#[case::image(Scene::default_config(), "Default", false)]
#[case::own(
    Scene::with_spec(json!({
        "distribution": { "name": "starter" },
        "overrideConfig": { "configMapName": "mine" },
    })),
    "Override", false
)]
fn the_source_of_the_configuration_is_told(
    #[case] scene: Scene,
    #[case] source: &str,
    #[case] hashed: bool,
) {
    let resolved = scene.status().resolved_distribution.unwrap();
    assert_eq!(resolved.config_source.as_deref(), Some(source));
    assert_eq!(resolved.config_hash.is_some(), hashed);
    assert_eq!(resolved.digest, None);
    assert_eq!(resolved.image, Some(scene.plan().image.image));
}

#[rstest]
#[case("Labels")]
#[case("Layer")]
fn an_image_is_told_with_its_digest_and_the_hash_of_its_configuration(#[case] source: &str) {
    let base = llsd_plan::releases::Distribution::all()["starter"].base();
    let scene = Scene::vllm()
        .with_facts(json!({ "image": {
            "digest": DIGEST, "release": "0.7.3", "base": { "text": base, "source": source },
        } }))
        .with(|scene| scene.resource["spec"]["distribution"] = json!({ "image": "own/stack:1" }));
    let status = scene.status();
    let resolved = status.resolved_distribution.unwrap();
    assert_eq!(resolved.image.as_deref(), Some("own/stack:1"));
    assert_eq!(resolved.digest.as_deref(), Some(DIGEST));
    assert_eq!(resolved.config_source.as_deref(), Some(source));
    assert_eq!(resolved.config_hash, Some(sha256::hex(base)));
    let distribution = status.distribution_config.unwrap();
    assert_eq!(distribution.active_distribution.as_deref(), Some("custom"));
    let known = distribution.available_distributions.unwrap();
    assert_eq!(known["starter"], "starter:0.7.3");
}

#[test]
fn an_adopted_deployment_is_told_by_the_image_that_it_runs() {
    let scene = Scene::vllm().with(|scene| {
        scene.applying = keeping(KeepCause::Adopted, &["spec.template"]);
        scene.live.deployment.as_mut().unwrap().image = Some("llamastack/old:0.2.12".into());
    });
    let resolved = scene.status().resolved_distribution.unwrap();
    assert_eq!(resolved.image.as_deref(), Some("llamastack/old:0.2.12"));
    assert_eq!((resolved.config_source, resolved.config_hash), (None, None));
}

#[rstest]
#[case(Scene::vllm().next().with_facts(without_the_secret()))]
#[case(unreachable_registry(Scene::vllm().next()))]
fn what_runs_is_still_told_when_a_change_cannot_be_planned(#[case] failing: Scene) {
    let before = Scene::vllm().status();
    let now = failing.status();
    assert_ne!(now.conditions, before.conditions);
    assert_eq!(now.resolved_distribution, before.resolved_distribution);
    assert_eq!(now.config_generation, before.config_generation);
    assert_eq!(now.service_url, before.service_url);
    let active = |status: llsd_api::v1alpha2::LlamaStackDistributionStatus| {
        status.distribution_config.unwrap().active_distribution
    };
    assert_eq!(active(now).as_deref(), Some("starter"));
    assert!(before.config_generation.is_some());
}

#[test]
fn addresses_follow_the_port_the_scheme_and_the_clusters_domain() {
    let url = |scene: &Scene| scene.status().service_url.unwrap();
    assert_eq!(url(&Scene::vllm()), "http://my-llama-service.ai.svc.cluster.local:8321");
    let tls = Scene::vllm().with(|scene| {
        scene.resource["spec"]["networking"] =
            json!({ "port": 9000, "tls": { "enabled": true, "secretName": "serving" } });
    });
    assert_eq!(url(&tls), "https://my-llama-service.ai.svc.cluster.local:9000");
    let elsewhere = Scene::vllm().with(|scene| {
        scene.facts.operator.cluster_domain = Some("cluster.internal".to_owned());
    });
    assert_eq!(url(&elsewhere), "http://my-llama-service.ai.svc.cluster.internal:8321");
    for outside in [None, Some(String::new()), Some("https://llama.example.org".to_owned())] {
        let scene = Scene::vllm().with(|scene| scene.live.outside_url.clone_from(&outside));
        assert_eq!(scene.status().route_url, outside);
    }
}

#[test]
fn providers_are_the_servers_and_their_configuration_is_the_planned_one() {
    let scene = Scene::vllm().with(|scene| {
        scene.server = answering(&[("tool_runtime", "unheard-of"), ("inference", "vllm")]);
    });
    let status = serde_json::to_value(scene.status()).unwrap();
    let providers = &status["distributionConfig"]["providers"];
    assert_eq!(providers[0]["provider_id"], "vllm");
    assert_eq!(providers[0]["config"]["base_url"], "http://vllm:8000/v1");
    assert_eq!(providers[0]["config"]["api_token"], "${env.LLSD_VLLM_API_KEY}");
    assert_eq!(providers[0]["health"], json!({ "status": "OK", "message": "" }));
    assert_eq!(providers[1]["api"], "tool_runtime");
    assert_eq!(providers[1]["config"], json!({}));
}

#[test]
fn a_provider_of_the_base_is_found_by_the_id_that_it_runs_under() {
    let scene = Scene::vllm().with(|scene| scene.server = answering(&[("inference", "ollama")]));
    let providers = scene.status().distribution_config.unwrap().providers.unwrap();
    assert_eq!(providers[0].config["base_url"], "${env.OLLAMA_URL:=http://localhost:11434/v1}");
}

#[test]
fn without_a_generated_file_no_configuration_is_told() {
    let scene =
        Scene::default_config().with(|scene| scene.server = answering(&[("inference", "vllm")]));
    let providers = scene.status().distribution_config.unwrap().providers.unwrap();
    assert_eq!(providers[0].config, json!({}));
}

#[rstest]
#[case("OK", "OK", "")]
#[case(
    "error",
    "Error",
    "Provider vllm is unhealthy; the server's answer to GET /v1/providers/vllm and its log say why"
)]
#[case("Not Implemented", "Not Implemented", "The provider has no health check")]
#[case("no route to sk-1234", "Unknown", "")]
fn of_a_providers_health_nothing_is_repeated_but_three_words(
    #[case] word: &str,
    #[case] status: &str,
    #[case] message: &str,
) {
    let mut server = answering(&[("inference", "vllm")]);
    let ServerAnswer::Answered(Answers { providers: Some(providers), .. }) = &mut server else {
        panic!()
    };
    providers[0].health = ProviderState::parse(word);
    let scene = Scene::vllm().with(|scene| scene.server = server);
    let told = |scene: &Scene| {
        scene.status().distribution_config.unwrap().providers.unwrap()[0].health.clone()
    };
    assert_eq!((told(&scene).status.as_str(), told(&scene).message.as_str()), (status, message));
    // What an earlier operator had copied goes, also while the server is not reached.
    let mut later = scene.next().with(|scene| scene.server = ServerAnswer::Awaited);
    let copied = &mut later.resource["status"]["distributionConfig"]["providers"][0];
    copied["health"]["message"] = json!("401 for sk-1234");
    assert_eq!(told(&later).message, message);
}

#[rstest]
#[case::not_reached(ServerAnswer::Unreachable("timed out".into()), 1, true)]
#[case::awaited(ServerAnswer::Awaited, 1, true)]
#[case::half_an_answer(
    ServerAnswer::Answered(Answers { health: Ok(()), version: None, providers: None }), 1, true
)]
#[case::nobody_left(ServerAnswer::NotAsked, 0, false)]
fn what_the_server_said_stands_while_its_pods_do(
    #[case] server: ServerAnswer,
    #[case] pods: i32,
    #[case] kept: bool,
) {
    let first = Scene::vllm().with(|scene| scene.server = answering(&[("inference", "vllm")]));
    let before = first.status();
    let now = first
        .next()
        .with(|scene| scene.server = server)
        .with_deployment(|deployment| (deployment.ready, deployment.available) = (pods, pods))
        .status();
    assert_eq!(now.version, before.version);
    let providers = now.distribution_config.unwrap().providers;
    assert_eq!(providers.is_some(), kept);
    assert!(providers.is_none() || providers == before.distribution_config.unwrap().providers);
}

#[test]
fn the_time_of_the_versions_changes_with_one_of_them() {
    let first = Scene::vllm();
    let stamp = |scene: &Scene| scene.status().version.unwrap().last_updated.unwrap().0;
    assert_eq!(stamp(&first.clone().next()), first.now);
    let operator = first.clone().next().with(|scene| scene.operator_version = "1.2.4");
    assert_eq!(stamp(&operator), operator.now);
    let server = first.next().with(|scene| {
        let ServerAnswer::Answered(answers) = &mut scene.server else { panic!("it answers") };
        answers.version = Some("0.7.4".into());
    });
    assert_eq!(stamp(&server), server.now);
    let told = server.status().version.unwrap();
    assert_eq!(told.operator_version.as_deref(), Some("1.2.3"));
    assert_eq!(told.llama_stack_server_version.as_deref(), Some("0.7.4"));
}
