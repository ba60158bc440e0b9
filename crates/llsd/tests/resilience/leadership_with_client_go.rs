//! An operator of release 0.9 elects its leader with client-go. So does kube-controller-manager,
//! which here stands for election on the operator's Lease.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use llsd::operator::leadership::LEASE_NAME;
use llsd_testkit::{Binary, ControlPlane, locate, skip};

use llsd_testbed::access::within;

use crate::election::{Candidate, hasty, holder, lease};

const SOON: Duration = Duration::from_secs(15);

#[tokio::test(flavor = "multi_thread")]
async fn client_go_and_the_operator_respect_each_other() {
    let Some(cluster) = ControlPlane::start_or_skip().await else { return };
    let program = match locate(Binary::ControllerManager, cluster.kubernetes()) {
        Ok(program) => program,
        Err(why) => return skip(&why.to_string()),
    };
    let namespace = cluster.namespace("election").await.unwrap();
    let client = cluster.client();
    let mut ours = Candidate::start(client.clone(), hasty(&namespace, "ours"));
    ours.acquired_within(SOON).await;

    let mut theirs = Elector::start(&program, &cluster, &namespace);
    within(SOON, "client-go has read our lease for a while", async || {
        let reads = cluster.audit().requests_of("client-go").await.unwrap().reads();
        reads.only(|request| request.resource == "leases").len() >= 12
    })
    .await;
    assert!(ours.leads());
    assert_eq!(ours.terms().len(), 1);
    assert_eq!(holder(&client, &namespace).await, "ours");

    ours.stop().await;
    let given_back = within(SOON, "client-go takes what we gave back", async || {
        !holder(&client, &namespace).await.is_empty()
    })
    .await;
    assert!(given_back < Duration::from_secs(3), "{given_back:?}");

    let mut ours = Candidate::start(client.clone(), hasty(&namespace, "ours again"));
    for _ in 0..8 {
        let before = lease(&client, &namespace).await.unwrap().renew_time;
        within(SOON, "client-go renews", async || {
            lease(&client, &namespace).await.unwrap().renew_time != before
        })
        .await;
    }
    assert!(ours.terms().is_empty());

    theirs.kill();
    ours.acquired_within(SOON).await;
    let taken = lease(&client, &namespace).await.unwrap();
    assert_eq!(taken.holder_identity.as_deref(), Some("ours again"));
    assert_eq!(taken.lease_transitions, Some(2));
}

/// A kube-controller-manager that does nothing before it leads.
struct Elector(Child);

impl Elector {
    fn start(program: &std::path::Path, cluster: &ControlPlane, namespace: &str) -> Self {
        let kubeconfig = cluster.kubeconfig_for("client-go", &["system:masters"]);
        let kubeconfig = kubeconfig.display();
        let child = Command::new(program)
            .args([
                format!("--kubeconfig={kubeconfig}"),
                format!("--authentication-kubeconfig={kubeconfig}"),
                format!("--authorization-kubeconfig={kubeconfig}"),
                "--controllers=ttl-controller".to_owned(),
                "--bind-address=127.0.0.1".to_owned(),
                "--secure-port=0".to_owned(),
                "--leader-elect=true".to_owned(),
                "--leader-elect-lease-duration=4s".to_owned(),
                "--leader-elect-renew-deadline=2600ms".to_owned(),
                "--leader-elect-retry-period=500ms".to_owned(),
                format!("--leader-elect-resource-name={LEASE_NAME}"),
                format!("--leader-elect-resource-namespace={namespace}"),
            ])
            .current_dir(cluster.dir())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(cluster.dir().join("elector.log")).unwrap())
            .spawn()
            .unwrap();
        Self(child)
    }

    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Elector {
    fn drop(&mut self) {
        self.kill();
    }
}
