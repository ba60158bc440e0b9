//! The `server` section: port, TLS and workers, where the release's server reads them. The start
//! program passes them on as flags too, because not every way of starting looks into the file.

use super::draft::Draft;
use crate::problems::{FieldPath, Reason};
use crate::server::paths::{TLS_CERT_FILE, TLS_KEY_FILE};
use llsd_yaml::document::{Node, Origin};

/// Where TLS ends before the server, or nowhere.
fn plain_http(draft: &mut Draft<'_>, rule: &Origin) {
    let own = draft.document.get("server");
    let has =
        |field: &str| own.and_then(|server| server.get(field)).is_some_and(|node| !node.is_null());
    if draft.profile.layout.must_allow_plain_http && !has("tls_certfile") && !has("insecure") {
        let origin = Origin::Rule("the server's own command would refuse to serve plain HTTP");
        draft.document.entry_map("server", rule).set("insecure", Node::scalar(true, origin));
    }
}

/// The lowest port that the server's own schema takes.
const LOWEST_PORT: i32 = 1024;

pub(super) fn apply(draft: &mut Draft<'_>) {
    let rule = Origin::Rule("how the server listens");
    let networking = FieldPath::spec().key("networking");
    if let Some(given) = &draft.spec.networking {
        if let Some(port) = given.port.filter(|port| *port >= LOWEST_PORT) {
            let origin = Origin::Field(networking.key("port"));
            draft.document.entry_map("server", &rule).set("port", Node::scalar(port, origin));
        }
        if given.tls.as_ref().is_some_and(|tls| tls.enabled == Some(true)) {
            let origin = Origin::Field(networking.key("tls"));
            let server = draft.document.entry_map("server", &rule);
            server.set("tls_certfile", Node::scalar(TLS_CERT_FILE, origin.clone()));
            server.set("tls_keyfile", Node::scalar(TLS_KEY_FILE, origin));
        }
    }
    plain_http(draft, &rule);
    let workers = draft.spec.workload.as_ref().and_then(|workload| workload.workers);
    let Some(workers) = workers.filter(|workers| *workers > 1) else { return };
    let path = FieldPath::spec().key("workload").key("workers");
    if draft.profile.layout.has_workers {
        let server = draft.document.entry_map("server", &rule);
        server.set("workers", Node::scalar(workers, Origin::Field(path)));
    } else {
        let first = draft.profile.releases.first_with(|release| release.has_workers);
        draft.findings.warning(
            &path,
            Reason::Ignored,
            format!("{} runs in one process only", draft.profile.name()),
            format!("use replicas, or an image of {first} or later"),
        );
    }
}
