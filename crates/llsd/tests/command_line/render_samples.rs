//! Every sample can be rendered without a cluster, the same way every time.

use crate::support::{object, parse_documents, run, samples};

fn render(arguments: &[String], more: &[&str]) -> crate::support::Run {
    let arguments = arguments.iter().map(String::as_str);
    let all: Vec<&str> =
        std::iter::once("render").chain(arguments).chain(more.iter().copied()).collect();
    run(&all, "")
}

#[test]
fn every_sample_renders_into_objects_that_read_back() {
    let samples = samples();
    assert!(samples.len() >= 30, "{} samples", samples.len());
    for (name, arguments) in &samples {
        let rendered = render(arguments, &[]);
        assert_eq!(rendered.code, 0, "{name}: {}", rendered.stderr);
        let objects = parse_documents(&rendered.stdout);
        for kind in ["Service", "Deployment"] {
            assert_eq!(
                object(&objects, kind)["apiVersion"].as_str().map(str::is_empty),
                Some(false)
            );
        }
        let container =
            &object(&objects, "Deployment")["spec"]["template"]["spec"]["containers"][0];
        assert!(container["image"].is_string(), "{name}");
    }
}

/// What the ConfigMap holds is what `-o config` prints, byte for byte, although it is indented.
#[test]
fn the_config_map_of_every_sample_holds_the_printed_configuration() {
    let mut generated = 0;
    for (name, arguments) in &samples() {
        let config = render(arguments, &["-o", "config"]);
        assert_eq!(config.code, 0, "{name}: {}", config.stderr);
        assert!(config.stdout.contains("version:"), "{name}: {}", config.stdout);
        let objects = parse_documents(&render(arguments, &[]).stdout);
        let texts = objects.iter().filter_map(|object| object["data"]["config.yaml"].as_str());
        for text in texts {
            assert_eq!(text, config.stdout, "{name}");
            generated += 1;
        }
    }
    assert!(generated >= 15, "only {generated} samples have a generated configuration");
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    for (name, arguments) in &samples() {
        assert_eq!(render(arguments, &[]).stdout, render(arguments, &[]).stdout, "{name}");
    }
}

/// The references stay references: nothing offline knows a value.
#[test]
fn a_secret_is_rendered_as_a_reference_or_as_a_placeholder() {
    let (_, arguments) =
        samples().into_iter().find(|(name, _)| name == "v1alpha2-postgres").unwrap();
    let objects = parse_documents(&render(&arguments, &[]).stdout);
    let secret = object(&objects, "Secret");
    assert!(secret.get("data").is_none(), "{secret}");
    for part in secret["stringData"].as_object().unwrap().values() {
        assert_eq!(part, "(from the connection string, which only the cluster knows)");
    }
    let env = &object(&objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]["env"];
    let password =
        env.as_array().unwrap().iter().find(|v| v["name"] == "LLSD_STORAGE_SQL_PASSWORD");
    let reference = &password.unwrap()["valueFrom"]["secretKeyRef"];
    assert_eq!(
        (&reference["name"], &reference["key"]),
        (&"llama-postgres-storage".into(), &"password".into())
    );
}
