//! `llsd doctor`: whether everything that a resource depends on is there and fits.

mod api;
mod definition;
mod deployment;
mod finding;
mod kubernetes;
mod policies;
mod rights;
mod webhooks;

use clap::Args;
use llsd_install::names::{DEFINITION, LEASE, NAMESPACE, OPERATOR, WEBHOOK_SECRET};
use serde_json::Value;

use self::api::get;
use self::deployment::InstalledOperator;
use self::finding::{Finding, has_problem};
use super::cluster::{self, Cluster, ClusterFlags};
use super::cluster_error::ClusterError;
use super::colours::{self, Colour};
use super::format::OutputFormat;
use super::{Exit, Printout};

/// Check the installation: definition, operator, webhooks, policies, rights and versions
///
/// Writes nothing; what would be written is sent as a dry run. Ends with 1 where something is a problem. What you
/// may not look at is a warning.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    place: ClusterFlags,

    /// The operator's namespace
    #[arg(long, env = "OPERATOR_NAMESPACE", default_value = NAMESPACE, value_name = "NAMESPACE",
          hide_env = true)]
    operator_namespace: String,

    /// How to print it
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: OutputFormat,
}

pub(super) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    cluster::run(&arguments.place, async |cluster| {
        let findings = examined(&cluster, &arguments.operator_namespace).await?;
        let exit = if has_problem(&findings) { Exit::Problems } else { Exit::Fine };
        let lines = || colours::for_stdout(finding::lines(&findings), colour);
        let stdout = arguments.output.print(&finding::json(&findings), lines);
        Ok(Printout { stdout, stderr: String::new(), exit })
    })
}

/// Everything, in the order in which one depends on the other.
async fn examined(
    cluster: &Cluster,
    operator_namespace: &str,
) -> Result<Vec<Finding>, ClusterError> {
    let client = &cluster.client;
    let version = client.apiserver_version().await?;
    let mut findings = vec![kubernetes::check(&version)];
    let definition_path =
        format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{DEFINITION}");
    let definition = get(client, &definition_path).await;
    match &definition {
        Ok(definition) => findings.extend(definition::check(definition.as_ref())),
        Err(error) => findings.push(Finding::unasked("definition", error)),
    }
    let operator = operator(cluster, operator_namespace, &mut findings).await;
    findings.push(rights::of_operator(client, &operator).await);
    // Users who may not read the definition may still write resources, which is enough to try them.
    match &definition {
        Ok(None) => {}
        Ok(Some(definition)) => webhooks(cluster, Some(definition), &operator, &mut findings).await,
        Err(_) => webhooks(cluster, None, &operator, &mut findings).await,
    }
    findings.push(policies::check(client).await);
    findings.extend(rights::of_caller(client, &cluster.namespace).await);
    Ok(findings)
}

/// The operator as it is found, or as the install files have it.
async fn operator(
    cluster: &Cluster,
    namespace: &str,
    findings: &mut Vec<Finding>,
) -> InstalledOperator {
    let deployment = format!("/apis/apps/v1/namespaces/{namespace}/deployments/{OPERATOR}");
    let lease = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{LEASE}");
    let deployment = match get(&cluster.client, &deployment).await {
        Ok(found) => found,
        Err(error) => {
            findings.push(Finding::unasked("operator", &error));
            return InstalledOperator::by_default(namespace);
        }
    };
    let lease = get(&cluster.client, &lease).await;
    let now = cluster.clock.now();
    findings.extend(deployment::check(deployment.as_ref(), namespace, &lease, now));
    let found = deployment.as_ref().map(InstalledOperator::parse);
    found.unwrap_or_else(|| InstalledOperator::by_default(namespace))
}

/// The webhooks; without the definition, as far as they show otherwise.
async fn webhooks(
    cluster: &Cluster,
    definition: Option<&Value>,
    operator: &InstalledOperator,
    findings: &mut Vec<Finding>,
) {
    let (client, now, home) = (&cluster.client, cluster.clock.now(), &operator.setup.namespace);
    findings.extend(definition.map(|it| webhooks::conversion(it, home, now)));
    findings.push(webhooks::admission(client, home, now).await);
    // A Secret that is left over says nothing if the operator does not make the certificates.
    if let Some(definition) = definition.filter(|_| operator.setup.makes_certificates) {
        // Not everyone may read Secrets, and the answers below show as much.
        let secret = format!("/api/v1/namespaces/{home}/secrets/{WEBHOOK_SECRET}");
        if let Ok(Some(secret)) = get(client, &secret).await {
            findings.extend(webhooks::certificate(definition, &secret, now));
        }
    }
    findings.push(webhooks::converts(client, &cluster.namespace).await);
    findings.push(webhooks::judges(client, &cluster.namespace).await);
}

fn colour(line: &str) -> Option<Colour> {
    match line.split_whitespace().next() {
        Some("ok") => Some(Colour::Green),
        Some("warning") => Some(Colour::Yellow),
        Some("problem") => Some(Colour::Red),
        _ => None,
    }
}
