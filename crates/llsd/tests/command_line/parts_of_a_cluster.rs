//! `llsd status` and `llsd logs` where a cluster answers in part, later no more, or not yet: a server of the test's own
//! says to each request what the case is about.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Files, Run, parse_documents};

const RESOURCE: &str = "/apis/llamastack.io/v1alpha2/namespaces/team/llamastackdistributions/llama";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/team/deployments/llama";
const REPLICA_SETS: &str = "/apis/apps/v1/namespaces/team/replicasets";
const PODS: &str = "/api/v1/namespaces/team/pods";

/// A status line and a body.
type Answer = (&'static str, String);

fn found(object: &Value) -> Answer {
    ("200 OK", object.to_string())
}

fn status(line: &'static str, reason: &str, message: &str) -> Answer {
    let code: u16 = line.split(' ').next().unwrap().parse().unwrap();
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "metadata": {},
        "message": message, "reason": reason, "code": code,
    });
    (line, status.to_string())
}

fn forbidden(what: &str) -> Answer {
    status("403 Forbidden", "Forbidden", &format!("{what} is forbidden: User \"ann\" cannot"))
}

fn not_there() -> Answer {
    status("404 Not Found", "NotFound", "not found")
}

fn failing() -> Answer {
    status("500 Internal Server Error", "InternalError", "etcdserver: request timed out")
}

/// The resource with its condition `Ready`, and a message about it.
fn resource(ready: &str, message: &str) -> Answer {
    found(&json!({
        "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
        "metadata": {"name": "llama", "namespace": "team", "generation": 1},
        "spec": {"distribution": {"name": "starter"}},
        "status": {
            "observedGeneration": 1, "phase": "Ready",
            "conditions": [{"type": "Ready", "status": ready, "reason": "So", "message": message}],
        },
    }))
}

fn deployment() -> Answer {
    found(&json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "llama", "uid": "1"},
        "status": {"availableReplicas": 1},
    }))
}

fn pods(names: &[&str]) -> Answer {
    let items: Vec<Value> =
        names.iter().map(|name| json!({"metadata": {"name": name, "namespace": "team"}})).collect();
    found(&json!({"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": items}))
}

/// A kubeconfig for an API server that answers as `answer` says, from the path of a request and the number of those
/// before it for the same path. Nothing else is there.
fn cluster(
    files: &Files,
    answer: impl Fn(&str, usize) -> Option<Answer> + Send + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let mut asked: HashMap<String, usize> = HashMap::new();
        for stream in listener.incoming() {
            // The program may have ended meanwhile.
            let _ = serve(stream.unwrap(), &mut asked, &answer);
        }
    });
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "dev",
        "contexts": [{"name": "dev", "context": {"cluster": "c", "user": "u", "namespace": "team"}}],
        "clusters": [{"name": "c", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "u", "user": {"token": "sk-token"}}],
    });
    files.add("kubeconfig", &config.to_string())
}

fn serve(
    stream: TcpStream,
    asked: &mut HashMap<String, usize>,
    answer: &impl Fn(&str, usize) -> Option<Answer>,
) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head)? > 0 {}
    let path = head.split([' ', '?']).nth(1).unwrap_or_default().to_owned();
    let before = asked.entry(path.clone()).or_default();
    let (line, body) = answer(&path, *before).unwrap_or_else(not_there);
    *before += 1;
    let length = body.len();
    let head = format!("HTTP/1.1 {line}\r\ncontent-type: application/json\r\nconnection: close");
    write!(reader.into_inner(), "{head}\r\ncontent-length: {length}\r\n\r\n{body}")
}

fn llsd(kubeconfig: &str, arguments: &[&str]) -> std::process::Command {
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("llsd"));
    command.args(arguments).env("KUBECONFIG", kubeconfig).env_remove("KUBERNETES_SERVICE_HOST");
    command
}

/// Runs the program, which ends by itself.
fn run(kubeconfig: &str, arguments: &[&str]) -> Run {
    let mut command = assert_cmd::Command::from_std(llsd(kubeconfig, arguments));
    let output = command.timeout(Duration::from_mins(1)).output().unwrap();
    Run {
        code: output.status.code().expect("it ends by itself"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn who_may_not_read_deployments_sees_the_rest_and_that_the_server_is_ready() {
    let files = Files::new();
    let kubeconfig = cluster(&files, |path, _| match path {
        RESOURCE => Some(resource("True", "so")),
        DEPLOYMENT => Some(forbidden("deployments.apps \"llama\"")),
        _ => None,
    });
    for flags in [&["--wait", "--timeout", "5s"][..], &[]] {
        let shown = run(&kubeconfig, &[&["status", "llama"], flags].concat());
        assert_eq!(shown.code, 0, "{flags:?}: {}", shown.stderr);
        let unknown = "runs     not known: deployments.apps \"llama\" is forbidden: ";
        assert!(shown.stdout.contains(unknown), "{}", shown.stdout);
        assert!(shown.stdout.starts_with("team/llama  Ready; so\n"), "{}", shown.stdout);
    }
    let shown = run(&kubeconfig, &["status", "llama", "-o", "json"]);
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!((&shown["ready"], &shown["pods"]), (&json!(true), &Value::Null));
    assert!(shown["unread"].as_str().unwrap().contains("is forbidden"), "{shown}");
}

#[test]
fn who_may_not_read_replica_sets_sees_the_pods() {
    let files = Files::new();
    let kubeconfig = cluster(&files, |path, _| match path {
        RESOURCE => Some(resource("True", "so")),
        DEPLOYMENT => Some(deployment()),
        REPLICA_SETS => Some(forbidden("replicasets.apps")),
        _ => None,
    });
    let shown = run(&kubeconfig, &["status", "llama"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    let lines = "runs     1 of 1 pods of an unknown image\n\
                 from     not known: replicasets.apps is forbidden: ";
    assert!(shown.stdout.contains(lines), "{}", shown.stdout);
}

#[test]
fn following_ends_where_the_resource_may_no_longer_be_read() {
    for (refusal, words) in [
        (
            status("401 Unauthorized", "Unauthorized", "Unauthorized"),
            "error: you must be logged in to the server (Unauthorized) (server http://",
        ),
        (
            forbidden("llamastackdistributions.llamastack.io"),
            "error: llamastackdistributions.llamastack.io is forbidden: User \"ann\" cannot (server http://",
        ),
    ] {
        for flag in ["--wait", "--watch"] {
            let files = Files::new();
            let refusal = refusal.clone();
            let kubeconfig = cluster(&files, move |path, before| match (path, before) {
                (RESOURCE, 0 | 1) => Some(resource("False", "so")),
                (RESOURCE, _) => Some(refusal.clone()),
                _ => None,
            });
            let ended = run(&kubeconfig, &["status", "llama", flag]);
            assert_eq!(ended.code, 3, "{flag}: {}", ended.stderr);
            assert!(ended.stderr.contains(words), "{flag}: {}", ended.stderr);
        }
    }
}

#[test]
fn following_ends_where_the_resource_was_deleted_and_not_where_it_was_replaced() {
    for flag in ["--wait", "--watch"] {
        let files = Files::new();
        let kubeconfig = cluster(&files, |path, before| match (path, before) {
            (RESOURCE, 0 | 1) => Some(resource("False", "so")),
            _ => None,
        });
        let ended = run(&kubeconfig, &["status", "llama", flag]);
        assert_eq!(ended.code, 3, "{flag}: {}", ended.stderr);
        let words = "error: there is no LlamaStackDistribution llama in namespace team any more: it was deleted (server";
        assert!(ended.stderr.contains(words), "{flag}: {}", ended.stderr);
    }
    let files = Files::new();
    let kubeconfig = cluster(&files, |path, before| match (path, before) {
        (RESOURCE, 0 | 1) => Some(resource("False", "so")),
        (RESOURCE, 3..) => Some(resource("True", "so")),
        _ => None,
    });
    let ended = run(&kubeconfig, &["status", "llama", "--wait"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
}

#[test]
fn the_last_error_is_named_where_the_time_is_over() {
    let files = Files::new();
    let kubeconfig = cluster(&files, |path, before| match (path, before) {
        (RESOURCE, 0) => Some(resource("False", "so")),
        (RESOURCE, _) => Some(failing()),
        _ => None,
    });
    let late = run(&kubeconfig, &["status", "llama", "--wait", "--timeout", "2s"]);
    assert_eq!(late.code, 1, "{}", late.stderr);
    let why = "error: not ready within 2 s; the last look failed: etcdserver: request timed out\n";
    assert!(late.stderr.ends_with(why), "{}", late.stderr);
}

#[test]
fn a_reader_that_leaves_does_not_make_a_server_ready() {
    let files = Files::new();
    // Each look is shown, because it differs.
    let kubeconfig = cluster(&files, |path, before| match path {
        RESOURCE => Some(resource("False", &format!("look {before}"))),
        _ => None,
    });
    let flags = ["status", "llama", "--watch", "--wait", "--timeout", "4s"];
    let mut child =
        llsd(&kubeconfig, &flags).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{stderr}");
    assert_eq!(stderr, "error: not ready within 4 s\n");
}

#[test]
fn what_is_followed_as_yaml_or_json_is_documents_alone() {
    for output in ["yaml", "json"] {
        let files = Files::new();
        let kubeconfig = cluster(&files, |path, before| match (path, before) {
            (RESOURCE, 0 | 1) => Some(resource("False", "so")),
            (RESOURCE, 2) => Some(failing()),
            (RESOURCE, _) => Some(resource("True", "so")),
            _ => None,
        });
        let shown = run(&kubeconfig, &["status", "llama", "--watch", "--wait", "-o", output]);
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        assert_eq!(shown.stderr, "(not up to date: etcdserver: request timed out)\n");
        let documents: Vec<Value> = if output == "yaml" {
            parse_documents(&shown.stdout)
        } else {
            let values = serde_json::Deserializer::from_str(&shown.stdout).into_iter::<Value>();
            values.map(Result::unwrap).collect()
        };
        let ready: Vec<&Value> = documents.iter().map(|document| &document["ready"]).collect();
        assert_eq!(ready, [&json!(false), &json!(true)], "{}", shown.stdout);
    }
}

#[test]
fn logs_that_cannot_be_read_are_no_logs() {
    let files = Files::new();
    let kubeconfig = cluster(&files, |path, _| match path {
        RESOURCE => Some(resource("True", "so")),
        PODS => Some(pods(&["a"])),
        _ => Some(forbidden("pods \"a\"")),
    });
    let none = run(&kubeconfig, &["logs", "llama"]);
    assert_eq!((none.code, none.stdout.as_str()), (3, ""), "{}", none.stderr);
    let words = "error: pod a: pods \"a\" is forbidden: User \"ann\" cannot\n    → ask who manages";
    assert!(none.stderr.starts_with(words), "{}", none.stderr);

    let kubeconfig = cluster(&files, |path, _| match path {
        RESOURCE => Some(resource("True", "so")),
        PODS => Some(pods(&["a", "b"])),
        _ if path.ends_with("/b/log") => Some(("200 OK", "hello\n".to_owned())),
        _ => Some(forbidden("pods \"a\"")),
    });
    let one = run(&kubeconfig, &["logs", "llama"]);
    assert_eq!((one.code, one.stdout.as_str()), (0, "==> b <==\nhello\n"), "{}", one.stderr);
    assert!(one.stderr.starts_with("error: pod a: pods \"a\" is forbidden"), "{}", one.stderr);
}
