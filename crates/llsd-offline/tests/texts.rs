//! The engine on texts alone, as a page in a browser uses it.

use llsd_offline::explain::explain;
use llsd_offline::migrate::migrate;
use llsd_offline::render::{folders, stream};
use llsd_offline::{Input, Plans, Report, Source, validate};
use llsd_plan::facts::Facts;

const STACK: &str = "\
apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata: {name: demo}
spec:
  distribution: {name: starter}
  providers:
    inference: {provider: vllm, endpoint: 'http://vllm:8000'}
";

fn input(text: &str) -> Input {
    let mut input = Input { facts: Some(Facts::default()), ..Input::default() };
    input.add(&Source::new("stack.yaml", text.into()));
    input
}

#[test]
fn a_resource_becomes_its_objects_its_environment_and_an_explained_configuration() {
    let plans = Plans::new(input(STACK)).unwrap();
    let configurations = plans.configurations();
    assert!(stream(&plans).contains("\nkind: Deployment\n"));
    let folders = folders(&plans, &configurations);
    let names: Vec<&str> = folders[0].files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["config.yaml", "env.yaml"]);
    let is_deployment = |(name, _): &(String, String)| name == "deployment-demo.yaml";
    assert!(folders[0].objects.iter().any(is_deployment));
    let explained = explain(&plans, &configurations);
    assert!(explained.contains("# spec.providers.inference.endpoint\n"), "{explained}");
}

#[test]
fn a_mistake_is_reported_at_its_line_with_a_remedy() {
    let report: Report = validate(input(&STACK.replace("starter", "starta")));
    let finding = &report.resources[0].problems[0];
    assert_eq!((finding.at.line, finding.at.column), (5, 24));
    assert!(!finding.problem.remedy.is_empty());
    assert!(Plans::new(input(&STACK.replace("starter", "starta"))).is_err());
}

#[test]
fn the_older_version_is_migrated_with_its_comments() {
    let old = "\
apiVersion: llamastack.io/v1alpha1
kind: LlamaStackDistribution
metadata: {name: demo}
spec:
  replicas: 2 # one for each zone
  server:
    distribution: {name: starter}
";
    let migrated = migrate(&[Source::new("stack.yaml", old.into())], Input::default(), None);
    let text = migrated.text.unwrap();
    assert!(text.starts_with("apiVersion: llamastack.io/v1alpha2\n"), "{text}");
    assert!(text.contains("replicas: 2 # one for each zone\n"), "{text}");
}
