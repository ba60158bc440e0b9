//! A resource whose server was llama-stack and will be OGX: what the new server does not see of what
//! the old one stored is said before the pods are replaced, and as long as the old one is the last
//! that answered. What is seen was found out on real servers, by the test `moved_to_ogx`.

use llsd_api::v1alpha2::{KvType, LlamaStackDistributionSpec, SqlType};
use serde_json::Value;

use crate::facts::OperatorFacts;
use crate::problems::{FieldPath, Findings, Problem, Reason};
use crate::releases::{ServerFamily, server_of};
use crate::resource::image;

const PAGE: &str = "docs/from-llama-stack-to-ogx.md";

/// Remarks on a resource with the status of the server that ran last, as far as the spec alone says
/// which server comes now.
pub fn moved(spec: &LlamaStackDistributionSpec, status: &Value) -> Vec<Problem> {
    let mut findings = Findings::default();
    if let Some(image) =
        image::resolve(&spec.distribution, &OperatorFacts::default(), &mut findings)
        && let Some(server) = image.release(None).as_deref().and_then(server_of)
    {
        remark(status, spec, server, &mut findings);
    }
    findings.warnings
}

/// `status` is of the server that ran last, where there was one.
pub(super) fn remark(
    status: &Value,
    spec: &LlamaStackDistributionSpec,
    server: ServerFamily,
    findings: &mut Findings,
) {
    let Some(before) = llama_stack(status).filter(|_| server == ServerFamily::Ogx) else { return };
    let (kv, sql) = spec.storage.as_ref().map_or((None, None), |storage| {
        let kv = storage.kv.as_ref().and_then(|kv| kv.kind.as_ref());
        (kv, storage.sql.as_ref().and_then(|sql| sql.kind.as_ref()))
    });
    let (in_redis, in_postgres) = (kv == Some(&KvType::Redis), sql == Some(&SqlType::Postgres));
    let has_volume = spec.workload.as_ref().is_some_and(|workload| workload.storage.is_some());
    let storage = FieldPath::spec().key("storage");
    let back = format!(
        "the previous distribution has all of it again; {PAGE} says what OGX can take over"
    );
    if in_postgres {
        let seen = if in_redis {
            "files, conversations, responses and vector stores are kept, prompts and batches"
        } else {
            "files, conversations and responses are kept, vector stores, prompts and batches"
        };
        findings.warning(
            &storage.key("sql"),
            Reason::Conflict,
            format!(
                "{before} ran before: OGX changes its tables in Postgres, and llama-stack cannot \
                 continue conversations after that; {seen} are not seen"
            ),
            format!("save the database first, for the way back; {PAGE} has the steps"),
        );
    } else if in_redis {
        findings.warning(
            &storage.key("kv"),
            Reason::Conflict,
            format!(
                "{before} ran before: its vector stores in Redis are kept, but OGX starts without \
                 its files, conversations, responses, prompts and batches"
            ),
            back,
        );
    } else if has_volume {
        findings.warning(
            &FieldPath::spec().key("workload").key("storage"),
            Reason::Conflict,
            format!(
                "{before} ran before: what it left on the volume stays there, but OGX starts \
                 without it: files, conversations, responses, vector stores, prompts, batches"
            ),
            back,
        );
    }
}

/// The llama-stack that answered last, or was the last to be planned.
fn llama_stack(status: &Value) -> Option<String> {
    let answered = status["version"]["llamaStackServerVersion"].as_str();
    let planned =
        || status["resolvedDistribution"]["server"].as_str()?.strip_prefix("llama-stack ");
    let release = answered.filter(|said| !said.is_empty()).or_else(planned)?;
    (server_of(release) == Some(ServerFamily::LlamaStack)).then(|| format!("llama-stack {release}"))
}
