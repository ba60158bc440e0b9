//! A resource whose server was llama-stack and will be OGX: what the new server does not see of what
//! the old one stored is said before the pods are replaced, and as long as the old one is the last
//! that answered. What is seen was found out on real servers, by the test `moved_to_ogx`.

use llsd_api::v1alpha2::LlamaStackDistributionSpec;
use serde_json::Value;

use crate::config::era::{Server, server_of};
use crate::problem::{FieldPath, Findings, Reason};

const PAGE: &str = "docs/from-llama-stack-to-ogx.md";

/// `resource` has the status of the server that ran last, where there was one.
pub(super) fn remark(
    resource: &Value,
    spec: &LlamaStackDistributionSpec,
    server: Server,
    findings: &mut Findings,
) {
    let Some(before) = llama_stack(resource).filter(|_| server == Server::Ogx) else { return };
    if spec.storage.is_some() {
        findings.warning(
            &FieldPath::spec().key("storage"),
            Reason::Conflict,
            format!(
                "{before} ran before: OGX changes the tables that it left in a database, and \
                 llama-stack cannot go on with them; prompts and batches are not seen"
            ),
            format!("save the database first, for the way back; {PAGE} has the steps"),
        );
    } else if spec.workload.as_ref().is_some_and(|workload| workload.storage.is_some()) {
        findings.warning(
            &FieldPath::spec().key("workload").key("storage"),
            Reason::Conflict,
            format!(
                "{before} ran before: what it left on the volume stays there, but OGX starts \
                 without it: files, conversations, responses, vector stores, prompts, batches"
            ),
            format!(
                "the distribution of before has all of it again; {PAGE} says what OGX can take over"
            ),
        );
    }
}

/// The llama-stack that answered last, or was the last to be planned.
fn llama_stack(resource: &Value) -> Option<String> {
    let status = resource.get("status")?;
    let answered = status["version"]["llamaStackServerVersion"].as_str();
    let planned =
        || status["resolvedDistribution"]["server"].as_str()?.strip_prefix("llama-stack ");
    let release = answered.filter(|said| !said.is_empty()).or_else(planned)?;
    (server_of(release) == Some(Server::LlamaStack)).then(|| format!("llama-stack {release}"))
}
