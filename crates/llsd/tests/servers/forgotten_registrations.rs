//! What the start program of a server's pod forgets before the server starts: what an earlier
//! configuration registered, and nothing else. `persisted_registry.rs` has the real servers.

use std::{
    net::TcpListener,
    time::{Duration, Instant},
};

use super::image::{Image, stderr};

#[test]
fn only_what_came_from_configuration_is_forgotten() {
    let Some(image) = Image::installed("0.7.3") else { return };
    image.store(&[
        ["model", "vllm/served", "vllm", "via_register_api"],
        ["model", "vllm/alias", "vllm", "via_register_api"],
        ["model", "vllm/listed", "vllm", "listed_from_provider"],
        ["model", "gone/listed", "gone", "listed_from_provider"],
        ["shield", "configured", "guard", "via_register_api"],
        ["shield", "skipped", "guard", "via_register_api"],
        ["vector_store", "vs_1", "faiss", "via_register_api"],
        ["vector_store", "configured", "faiss", "via_register_api"],
    ]);
    let config = image.config(
        "  models: [{model_id: alias, provider_model_id: served, provider_id: vllm}]\n  \
           shields: [{shield_id: configured, provider_id: guard}, {shield_id: skipped}]\n  \
           vector_stores: [{vector_store_id: configured, provider_id: faiss}]",
    );
    image.call(&config, &[]);
    // The id of a model is made of the provider's name for it. A shield without a provider is
    // skipped by the server, so this one is a user's.
    let left = ["model:vllm/alias", "model:vllm/listed", "shield:skipped", "vector_store:vs_1"];
    assert_eq!(image.left(), left);
}

#[test]
fn what_was_taken_out_of_the_file_is_forgotten_once() {
    let Some(image) = Image::installed("0.7.3") else { return };
    let shield = ["shield", "s", "guard", "via_register_api"];
    let vector_store = ["vector_store", "vs", "faiss", "via_register_api"];
    let configured = image.config(
        "  shields: [{shield_id: s, provider_id: guard}]\n  \
           vector_stores: [{vector_store_id: vs, provider_id: faiss}]",
    );
    let removed = image.config("  models: []");
    image.call(&configured, &[]);
    image.store(&[shield, vector_store]); // by the server
    image.call(&removed, &[]);
    assert_eq!(image.left(), ["vector_store:vs"], "users keep what they stored in it");
    image.store(&[shield]); // by a user
    image.call(&removed, &[]);
    assert_eq!(image.left(), ["shield:s", "vector_store:vs"]);
}

/// The server stops when it knows shields but not the default one of its file.
#[test]
fn shields_that_would_stop_the_first_start_are_forgotten() {
    let Some(image) = Image::installed("0.7.3") else { return };
    let unregistered =
        format!("{}safety: {{default_shield_id: d}}\n", image.config("  models: []"));
    let shield = ["shield", "s", "guard", "via_register_api"];
    image.store(&[shield]); // by whom is not known
    image.call(&unregistered, &[]);
    assert!(image.left().is_empty());
    image.store(&[shield]); // by a user
    let said = stderr(&image.start(&unregistered, &[]));
    assert!(said.contains("no shield is called d"), "{said}");
    assert_eq!(image.left(), ["shield:s"]);
}

/// Another prefix than llama-stack's, which has none in this kind of store, and other ids.
#[test]
fn what_configuration_registered_with_ogx_is_forgotten() {
    let Some(image) = Image::installed("ogx 1.5.0") else { return };
    let record = |kind: &str, id: &str| {
        let key = format!("registry:distributions:registry:v10::{kind}:{id}");
        image.on_store(&format!(
            "db.execute('REPLACE INTO kvstore (key, value) VALUES (?, ?)', ('{key}', '{{}}'))"
        ));
    };
    for id in ["vllm/alias", "vllm/served", "vllm/own", "bare"] {
        record("model", id);
    }
    record("vector_store", "vs_1");
    // A llama-stack server kept this one in the same file.
    image.store(&[["model", "vllm/alias", "vllm", "via_register_api"]]);
    let config = image.config(
        "  models:\n  \
           - {model_id: alias, provider_model_id: served, provider_id: vllm}\n  \
           - {model_id: vllm/own, provider_id: vllm}\n  \
           - {model_id: bare, provider_id: all}",
    );
    image.call(&config, &[]);
    let left = image.on_store(
        "for row in db.execute(\"SELECT key FROM kvstore WHERE key LIKE '%v10%' ORDER BY key\"): print(row[0])",
    );
    assert_eq!(
        left.lines().collect::<Vec<_>>(),
        [
            "distributions:registry:v10::model:vllm/alias",
            "registry:distributions:registry:v10::model:vllm/served",
            "registry:distributions:registry:v10::vector_store:vs_1",
        ]
    );
}

#[test]
fn a_store_that_does_not_answer_delays_the_start_and_no_more() {
    let Some(image) = Image::installed("0.7.3") else { return };
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let store = |settings: String| {
        format!("storage: {{backends: {{kv_default: {{host: 127.0.0.1, {settings}}}}}}}")
    };
    let cases = [
        (format!("type: kv_redis, port: {port}"), "no answer from the metadata store in 10 s"),
        ("type: kv_redis, port: 9".to_owned(), "ConnectionError from the metadata store"),
        (
            "type: kv_postgres, port: 9, user: u, password: s3cr3t".to_owned(),
            "OperationalError from the metadata store",
        ),
        ("type: kv_mongodb".to_owned(), "in a store of type mongodb"),
    ];
    for (settings, expected) in cases {
        let started = Instant::now();
        let done = image.start(&store(settings), &[]);
        let said = stderr(&done);
        assert!(done.status.success() && said.contains(expected), "{said}");
        assert!(!said.contains("s3cr3t"), "{said}");
        assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    }
}
