//! `llsd logs` prints what the pods of a server wrote, as a kubelet gives it to the API server.

use std::io;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::PostParams;
use llsd_plan::objects::labels;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use llsd_testbed::namespace::{Namespace, PATIENCE};
use llsd_testbed::test_operator::TestOperator;

const REFUSAL: &str = "previous terminated container not found";

fn logs(namespace: &Namespace<'_>, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_llsd"));
    command.arg("logs").args(arguments).args(["-n", &namespace.name]);
    command.env("KUBECONFIG", namespace.cluster.kubeconfig_path()).kill_on_drop(true);
    command
}

async fn printed(namespace: &Namespace<'_>, arguments: &[&str]) -> String {
    let done = logs(namespace, arguments).output().await.unwrap();
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{arguments:?}: {stderr}");
    String::from_utf8(done.stdout).unwrap()
}

/// Stands where the API server asks the kubelet of a node for logs; gives its port.
async fn kubelet(goes_on: Arc<Notify>) -> u16 {
    llsd_testkit::install_crypto_provider();
    let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let certificates = vec![own.cert.der().clone()];
    let config = ServerConfig::builder().with_no_client_auth();
    let config = config.with_single_cert(certificates, own.signing_key.into()).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            // The command says what the API server could not get.
            let _ = answer(&acceptor, connection, &goes_on).await;
        }
    });
    port
}

/// A log is what was asked for. The newer pod had no container before the one that runs, and a log
/// that is followed has a second line as soon as it goes on.
async fn answer(acceptor: &TlsAcceptor, connection: TcpStream, goes_on: &Notify) -> io::Result<()> {
    let mut stream = BufReader::new(acceptor.accept(connection).await?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && stream.read_line(&mut head).await? > 0 {}
    // Some releases of Kubernetes name the default.
    let asked = head.split(' ').nth(1).unwrap_or_default().replace("stream=All&", "");
    let refused = asked.contains("/newer/") && asked.contains("previous=true");
    let (status, body) = if refused { ("400 Bad Request", REFUSAL) } else { ("200 OK", &*asked) };
    let text = format!("HTTP/1.1 {status}\r\nConnection: close\r\n\r\n{body}\n");
    stream.write_all(text.as_bytes()).await?;
    stream.flush().await?;
    if asked.contains("follow=true") {
        goes_on.notified().await;
        stream.write_all(b"and the end\n").await?;
    }
    stream.shutdown().await
}

/// A pod of the server `mine`.
async fn pod(namespace: &Namespace<'_>, name: &str) {
    let pod = json!({
        "metadata": {"name": name, "labels": labels::selector("mine")},
        "spec": {
            "nodeName": namespace.name,
            "containers": [{"name": "server", "image": "a"}, {"name": "beside", "image": "b"}],
        },
    });
    let pods: Api<Pod> = Api::namespaced(namespace.cluster.client(), &namespace.name);
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
}

#[tokio::test]
async fn the_logs_of_all_pods_of_a_server_are_printed_and_that_of_the_newest_is_followed() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("logs").await;
    let goes_on = Arc::new(Notify::new());
    let port = kubelet(Arc::clone(&goes_on)).await;
    let node = json!({
        "metadata": {"name": namespace.name},
        "status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        },
    });
    let nodes: Api<Node> = Api::all(namespace.cluster.client());
    nodes.create(&PostParams::default(), &serde_json::from_value(node).unwrap()).await.unwrap();

    let nobody = logs(&namespace, &["mine"]).output().await.unwrap();
    let why = String::from_utf8_lossy(&nobody.stderr);
    assert_eq!(nobody.status.code(), Some(3), "{why}");
    assert!(why.contains("there is no LlamaStackDistribution mine in namespace"), "{why}");

    // All pods are the test's own.
    let spec = json!({"distribution": {"name": "starter"}, "workload": {"replicas": 0}});
    namespace.distribution("mine", spec).await;
    assert_eq!(printed(&namespace, &["mine"]).await, "no pod of the server is there\n");

    let below = format!("/containerLogs/{}", namespace.name);
    let log = |pod: &str, how: &str| format!("{below}/{pod}/server?{how}\n");
    pod(&namespace, "before").await;
    assert_eq!(printed(&namespace, &["mine"]).await, log("before", "tailLines=200"));

    // The time of creation has no fractions of a second.
    sleep(Duration::from_secs(1)).await;
    pod(&namespace, "newer").await;
    let (newer, older) = (log("newer", "tailLines=2"), log("before", "tailLines=2"));
    let both = format!("==> newer <==\n{newer}==> before <==\n{older}");
    assert_eq!(printed(&namespace, &["mine", "--tail", "2"]).await, both);

    let previous = logs(&namespace, &["mine", "--previous"]).output().await.unwrap();
    let refused = String::from_utf8_lossy(&previous.stderr);
    assert_eq!(previous.status.code(), Some(0), "the other log is there: {refused}");
    assert!(refused.starts_with("error: pod newer: "), "{refused}");
    assert!(refused.contains(REFUSAL) && !refused.contains("pod before"), "{refused}");
    let older = format!("==> before <==\n{}", log("before", "previous=true&tailLines=200"));
    assert_eq!(String::from_utf8_lossy(&previous.stdout), older);

    let mut follow = logs(&namespace, &["mine", "--follow", "--tail", "1"]);
    let mut follow = follow.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines();
    let followed = async {
        let first = lines.next_line().await.unwrap().unwrap();
        assert_eq!(first + "\n", log("newer", "follow=true&tailLines=1"));
        goes_on.notify_one();
        assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("and the end"));
        assert_eq!(lines.next_line().await.unwrap(), None);
        assert_eq!(follow.wait().await.unwrap().code(), Some(0));
    };
    timeout(PATIENCE, followed).await.expect("the command ends with the stream");
}
