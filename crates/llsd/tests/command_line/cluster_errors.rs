//! What a command that asks a cluster says where it gets no answer: the server, the context and what to do.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;

use assert_cmd::Command;
use rstest::rstest;
use serde_json::json;

use crate::support::{Files, Run, resource};

/// Runs the program with a home folder that has nothing in it.
fn run(arguments: &[&str], kubeconfig: Option<&str>) -> Run {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("llsd"));
    command.args(arguments).env("HOME", home.path()).env_remove("KUBECONFIG");
    command.env_remove("KUBERNETES_SERVICE_HOST");
    if let Some(kubeconfig) = kubeconfig {
        command.env("KUBECONFIG", kubeconfig);
    }
    let output = command.output().unwrap();
    let home = home.path().display().to_string();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(&home, "~");
    Run {
        code: output.status.code().unwrap(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// A kubeconfig with the context `dev`, in the namespace `team`.
fn kubeconfig(files: &Files, server: &str) -> String {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "dev",
        "contexts": [
            {"name": "dev", "context": {"cluster": "c", "user": "u", "namespace": "team"}},
            {"name": "broken", "context": {"cluster": "gone", "user": "u"}},
        ],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "sk-token"}}],
    });
    files.add("kubeconfig", &config.to_string())
}

/// A server that gives every request the same answer.
fn server(status: &'static str, kind: &'static str, body: String) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 8192]);
            let length = body.len();
            let head =
                format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}");
            let _ = write!(stream, "{head}\r\nconnection: close\r\n\r\n{body}");
        }
    });
    address
}

const NAME_ONE: &str = "\n    → name one with --kubeconfig or KUBECONFIG\n";

#[test]
fn a_kubeconfig_that_is_not_there_is_named() {
    let none = run(&["status", "my-stack"], None);
    let expected = format!(
        "error: there is no kubeconfig: KUBECONFIG is not set, and ~/.kube/config is not there{NAME_ONE}"
    );
    assert_eq!((none.code, none.stderr), (3, expected));

    let variable = run(&["top", "--once"], Some("/nowhere/config"));
    let expected =
        format!("error: there is no kubeconfig /nowhere/config, which KUBECONFIG names{NAME_ONE}");
    assert_eq!((variable.code, variable.stderr), (3, expected));

    let flag = run(&["logs", "my-stack", "--kubeconfig", "/nowhere/config"], None);
    let expected = format!("error: there is no kubeconfig /nowhere/config{NAME_ONE}");
    assert_eq!((flag.code, flag.stderr), (2, expected));
}

#[test]
fn a_context_that_is_not_there_is_named_with_those_that_are() {
    let files = Files::new();
    let path = kubeconfig(&files, "http://127.0.0.1:1");
    let unknown = run(&["history", "my-stack", "--context", "prod"], Some(&path));
    let expected = format!(
        "error: context \"prod\" is not in the kubeconfig {path}\n    → choose one with --context: dev, broken\n"
    );
    assert_eq!((unknown.code, unknown.stderr), (2, expected));

    let broken = run(&["history", "my-stack", "--context", "broken"], Some(&path));
    let expected = format!(
        "error: the kubeconfig {path} has no cluster \"gone\", which the context names\n    \
         → choose one with --context: dev, broken\n"
    );
    assert_eq!((broken.code, broken.stderr), (2, expected));
}

#[test]
fn a_text_that_is_no_kubeconfig_is_said_without_what_it_holds() {
    let files = Files::new();
    let path = files.add("kubeconfig", "users: [{token: sk-token\n");
    let wrong = run(&["status", "my-stack"], Some(&path));
    let expected = format!(
        "error: the kubeconfig {path} is no kubeconfig\n    → `kubectl config view` says why\n"
    );
    assert_eq!((wrong.code, wrong.stderr), (3, expected));
}

const ANOTHER: &str = "\n    → see that the cluster is up and can be reached from here; --context and --kubeconfig name \
                       another one\n";

/// Every command that asks a cluster.
#[rstest]
#[case(&["status", "my-stack"])]
#[case(&["top", "--once"])]
#[case(&["history", "my-stack"])]
#[case(&["rollback", "my-stack"])]
#[case(&["rollout", "approve", "my-stack"])]
#[case(&["rollout", "retry", "my-stack"])]
#[case(&["logs", "my-stack"])]
#[case(&["restart", "my-stack"])]
#[case(&["refresh", "my-stack"])]
#[case(&["report", "my-stack"])]
#[case(&["render", "my-stack"])]
#[case(&["explain", "my-stack"])]
#[case(&["validate", "my-stack"])]
#[case(&["access", "test", "my-stack", "--path", "/v1/models"])]
#[case(&["diff", "my-stack"])]
#[case(&["migrate", "--in-cluster"])]
fn a_refused_connection_is_said_with_server_and_context(#[case] command: &[&str]) {
    let files = Files::new();
    let path = kubeconfig(&files, "http://127.0.0.1:1");
    let flags = ["--kubeconfig", &path, "--context", "dev"];
    let refused = run(&[command, &flags].concat(), None);
    let expected = format!(
        "error: the connection to the server was refused (server http://127.0.0.1:1, context dev){ANOTHER}"
    );
    assert_eq!((refused.code, refused.stderr), (3, expected));
}

#[test]
fn diff_of_files_says_the_same() {
    let files = Files::new();
    let path = kubeconfig(&files, "http://127.0.0.1:1");
    let file = files.add("stack.yaml", &resource("team", "a"));
    let refused = run(&["diff", "-f", &file], Some(&path));
    assert_eq!(refused.code, 3);
    let words =
        "error: the connection to the server was refused (server http://127.0.0.1:1, context dev)";
    assert!(refused.stderr.starts_with(words), "{}", refused.stderr);
}

#[test]
fn a_definition_that_is_not_installed_is_said() {
    let files = Files::new();
    let address = server("404 Not Found", "text/plain", "404 page not found\n".to_owned());
    let path = kubeconfig(&files, &format!("http://{address}"));
    for command in [&["status", "my-stack"][..], &["top", "--once"], &["rollout", "retry", "--all"]]
    {
        let missing = run(command, Some(&path));
        let expected = format!(
            "error: the server does not know LlamaStackDistribution in the version v1alpha2 (server \
             http://{address}, context dev)\n    → install the operator there with `llsd manifests`, or name \
             another cluster with --context or --kubeconfig\n"
        );
        assert_eq!((missing.code, missing.stderr), (3, expected), "{command:?}");
    }
}

fn status(code: u16, reason: &str, message: &str) -> String {
    json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "metadata": {},
        "message": message, "reason": reason, "code": code,
    })
    .to_string()
}

#[test]
fn a_refusal_of_the_server_is_its_own_words_with_what_to_do() {
    let files = Files::new();
    for (head, body, expected) in [
        (
            "403 Forbidden",
            status(
                403,
                "Forbidden",
                "llamastackdistributions.llamastack.io is forbidden: User \"ann\" cannot",
            ),
            "error: llamastackdistributions.llamastack.io is forbidden: User \"ann\" cannot (SERVER)\n    → ask who \
             manages the cluster for this right; `kubectl auth can-i --list` shows those that you have\n",
        ),
        (
            "401 Unauthorized",
            status(401, "Unauthorized", "Unauthorized"),
            "error: you must be logged in to the server (Unauthorized) (SERVER)\n    → log in again, or renew the \
             credentials of the kubeconfig's user\n",
        ),
        (
            "404 Not Found",
            status(404, "NotFound", "llamastackdistributions.llamastack.io \"my-stack\" not found"),
            "error: there is no LlamaStackDistribution my-stack in namespace team (SERVER)\n    → `llsd top -A` lists \
             those of all namespaces; -n names another\n",
        ),
    ] {
        let address = server(head, "application/json", body);
        let path = kubeconfig(&files, &format!("http://{address}"));
        let refused = run(&["status", "my-stack"], Some(&path));
        let server = format!("server http://{address}, context dev");
        assert_eq!(
            (refused.code, refused.stderr),
            (3, expected.replace("SERVER", &server)),
            "{head}"
        );
    }
}

#[test]
fn files_are_read_without_a_cluster() {
    let files = Files::new();
    let file = files.add("stack.yaml", &resource("team", "a"));
    let named = run(&["validate", "-f", &file, "--context", "dev"], None);
    assert_eq!(named.code, 2, "{}", named.stderr);
    assert!(named.stderr.contains("files are read without a cluster"), "{}", named.stderr);
}
