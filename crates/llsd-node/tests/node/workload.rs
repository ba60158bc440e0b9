//! Pods of busybox, and what they answer.

use std::time::{Duration, Instant};

use llsd_node::Node;
use serde_json::{Value, json};

/// Pushes the image that the pods of a test run, and gives its name.
pub async fn image(node: &Node) -> String {
    let image = llsd_node::busybox().unwrap();
    node.push("tests/busybox", "1", &image).await.unwrap()
}

/// A pod that serves its own name over HTTP, on a machine of choice.
pub fn server(name: &str, image: &str, machine: &str) -> Value {
    let serve =
        format!("cd /tmp && echo {name} >index.html && exec /bin/busybox httpd -f -p 8080 -h /tmp");
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "nodeSelector": {"kubernetes.io/hostname": machine},
            "terminationGracePeriodSeconds": 1,
            "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{
                "name": "server",
                "image": image,
                "args": ["sh", "-c", serve],
                "volumeMounts": [{"name": "files", "mountPath": "/tmp"}],
                "readinessProbe": {"httpGet": {"port": 8080, "path": "/"}, "periodSeconds": 1},
            }],
            "volumes": [{"name": "files", "emptyDir": {}}],
        },
    })
}

/// Creates objects with kubectl.
pub async fn create(node: &Node, object: &Value) {
    let input = object.to_string();
    node.kubectl(&["create", "--filename=-"], Some(&input)).await.unwrap().expect_success();
}

/// Waits for a condition of an object with kubectl.
pub async fn wait_for(node: &Node, object: &str, condition: &str) {
    let args = ["wait", object, &format!("--for={condition}"), "--timeout=120s"];
    let waited = node.kubectl(&args, None).await.unwrap();
    if !waited.success() {
        let described = node.kubectl(&["describe", object], None).await.unwrap().stdout;
        panic!("{object} is not {condition}: {}\n{described}", waited.stderr.trim());
    }
}

/// What a command in a pod prints, asked again until it succeeds: names and routes take a moment.
pub async fn in_pod(node: &Node, pod: &str, command: &[&str]) -> String {
    let asked = Instant::now();
    loop {
        let args = [&["exec", pod, "--", "/bin/busybox"], command].concat();
        let answer = node.kubectl(&args, None).await.unwrap();
        if answer.success() {
            return answer.stdout.trim().to_owned();
        }
        assert!(asked.elapsed() < Duration::from_secs(30), "{command:?}: {}", answer.stderr);
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

/// Whether tests that start a real node are to run. They take minutes and a good part of the machine, so they are no
/// part of `make test`.
pub fn is_asked_for() -> bool {
    std::env::var_os("LLSD_TEST_NODE").is_some()
}
