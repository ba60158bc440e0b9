//! What Argo CD and Flux make of a resource: the script and the expressions of docs/gitops.md, run on statuses
//! that a real operator wrote, one of every phase.

use std::fmt::Write as _;
use std::process::Command;

use cel::{Context, Program};
use llsd_cases::files::repository;
use llsd_testbed::namespace::{DISTRIBUTION, Namespace};
use llsd_testbed::test_operator::TestOperator;
use llsd_testkit::{PodState, debian_program, skip};
use serde_json::{Value, json};

/// The block of the page behind a line that begins it.
fn block(begin: &str) -> String {
    let page = std::fs::read_to_string(repository("docs/gitops.md")).unwrap();
    let (_, rest) = page.split_once(&format!("{begin}\n")).unwrap_or_else(|| panic!("no {begin}"));
    rest.split("```").next().unwrap().to_owned()
}

/// Argo CD's word for an object. It runs Lua 5.1.
fn argo_cd(script: &str, object: &Value) -> Option<(String, String)> {
    let program = match debian_program("lua5.1", "lua5.1") {
        Ok(program) => program,
        Err(why) => {
            skip(&why.to_string());
            return None;
        }
    };
    let whole = format!(
        "obj = {}\nlocal function health()\n{script}\nend\nlocal hs = health()\nprint(hs.status)\nprint(hs.message)\n",
        lua(object)
    );
    let done = Command::new(program).args(["-e", &whole]).output().unwrap();
    let said = String::from_utf8(done.stdout).unwrap();
    let (status, message) = said.split_once('\n').unwrap_or_else(|| {
        panic!("{}", String::from_utf8_lossy(&done.stderr));
    });
    Some((status.to_owned(), message.trim().to_owned()))
}

/// JSON as a value of Lua.
fn lua(value: &Value) -> String {
    match value {
        Value::Null => "nil".to_owned(),
        Value::Array(items) => {
            format!("{{{}}}", items.iter().map(lua).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) => {
            let mut text = String::from("{");
            for (name, value) in fields {
                let _ = write!(text, "[{}] = {}, ", quoted(name), lua(value));
            }
            text + "}"
        }
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

fn quoted(text: &str) -> String {
    text.bytes().fold(String::from("\""), |text, byte| format!("{text}\\{byte:03}")) + "\""
}

/// Flux' word for an object: the first of its three expressions that holds.
fn flux(expressions: &Value, object: &Value) -> &'static str {
    let mut context = Context::default();
    for field in ["metadata", "spec", "status"] {
        let value = object.get(field).cloned().unwrap_or_else(|| json!({}));
        context.add_variable(field, value).unwrap();
    }
    for name in ["inProgress", "failed", "current"] {
        let text = expressions[name].as_str().unwrap_or_else(|| panic!("no {name}"));
        let answer = Program::compile(text).unwrap().execute(&context);
        match answer.unwrap_or_else(|error| panic!("{name}: {error}\n{object:#}")) {
            cel::Value::Bool(true) => return name,
            cel::Value::Bool(false) => {}
            other => panic!("{name} is {other:?}"),
        }
    }
    "unknown"
}

async fn in_phase(namespace: &Namespace<'_>, name: &str, phase: &str) -> Value {
    let has = |found: &Value| {
        found["status"]["phase"] == phase
            && found["status"]["observedGeneration"] == found["metadata"]["generation"]
    };
    namespace.until(DISTRIBUTION, name, &format!("is {phase}"), has).await
}

/// One resource of every phase, and one that is paused.
async fn resources(operator: &TestOperator) -> Vec<(&'static str, Value)> {
    operator.kubelet.decide(|pod| {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        if name.starts_with("starting") { PodState::Pending } else { PodState::Ready }
    });
    let namespace = operator.namespace("phases").await;
    let starter = || json!({"distribution": {"name": "starter"}});
    let unreachable = json!({
        "distribution": {"image": "registry.invalid/nobody/server:1"},
        "disabled": ["eval"],
    });
    let mistaken = json!({
        "distribution": {"name": "starter"},
        "resources": {"models": [{"name": "m", "provider": "nobody"}]},
    });
    for (name, spec) in [
        ("pending", unreachable),
        ("starting", starter()),
        ("ready", starter()),
        ("failed", mistaken),
        ("paused", starter()),
        ("ending", starter()),
    ] {
        namespace.distribution(name, spec).await;
    }
    let mut found = vec![
        ("Pending", in_phase(&namespace, "pending", "Pending").await),
        ("Initializing", in_phase(&namespace, "starting", "Initializing").await),
        ("Ready", in_phase(&namespace, "ready", "Ready").await),
        ("Failed", in_phase(&namespace, "failed", "Failed").await),
    ];
    in_phase(&namespace, "paused", "Ready").await;
    let pause = json!({"metadata": {"annotations": {"llamastack.io/paused": "true"}}});
    namespace.patch(DISTRIBUTION, "paused", &pause).await;
    found.push(("paused", namespace.until_condition("paused", "Paused", "True", "Paused").await));
    in_phase(&namespace, "ending", "Ready").await;
    let held = |held: Value| json!({"metadata": {"finalizers": held}});
    namespace.patch(DISTRIBUTION, "ending", &held(json!(["example.com/held"]))).await;
    namespace.delete(DISTRIBUTION, "ending").await;
    let ends = |found: &Value| found["status"]["phase"] == "Terminating";
    found.push((
        "Terminating",
        namespace.until(DISTRIBUTION, "ending", "is Terminating", ends).await,
    ));
    namespace.patch(DISTRIBUTION, "ending", &held(json!(null))).await;
    found
}

#[tokio::test]
async fn argo_cd_and_flux_read_the_status_of_every_phase() {
    let Some(operator) = TestOperator::start(&[]).await else { return };
    let script = block("```lua");
    let expressions = format!("healthCheckExprs:\n{}", block("healthCheckExprs:"));
    let expressions: Value = serde_saphyr::from_str(&expressions).unwrap();
    let expressions = &expressions["healthCheckExprs"][0];
    let mut found = resources(&operator).await;
    let mut changed = found[2].1.clone();
    changed["metadata"]["generation"] = json!(99);
    found.push(("changed", changed));
    let mut new = found[2].1.clone();
    new.as_object_mut().unwrap().remove("status");
    found.push(("new", new));
    for (what, object) in &found {
        let (in_argo_cd, in_flux) = match *what {
            "Ready" => ("Healthy", "current"),
            "Failed" => ("Degraded", "failed"),
            "paused" => ("Suspended", "current"),
            "Pending" | "Initializing" | "Terminating" | "changed" | "new" => {
                ("Progressing", "inProgress")
            }
            other => panic!("{other}"),
        };
        assert_eq!(flux(expressions, object), in_flux, "{what}: {object:#}");
        let Some((status, message)) = argo_cd(&script, object) else { return };
        assert_eq!(status, in_argo_cd, "{what}: {message}\n{object:#}");
        assert!(!message.is_empty() && message != "nil", "{what}: {object:#}");
    }
    let failed = &found[3].1;
    let (_, message) = argo_cd(&script, failed).unwrap();
    assert!(message.contains("spec.resources.models[0].provider"), "{message}");
}
