//! Workers and TLS of a server that runs the configuration inside its image. The start program passes
//! them, so that no file is generated for them and no registry need be asked, except for releases that
//! read them from their file alone.

use llsd_api::v1alpha2::LlamaStackDistributionSpec;

use super::server::KnownServer;
use crate::problems::{FieldPath, Findings, Reason};
use crate::releases::{Release, Releases, ServerFamily};

/// Whether a configuration is generated only so that the server listens as the resource asks.
pub(super) fn needs_file(spec: &LlamaStackDistributionSpec, layout: Option<&Release>) -> bool {
    serves_tls(spec) && layout.is_some_and(|layout| layout.reads_tls_from_its_file)
}

/// Remarks on what has no effect, or may have none.
pub(super) fn remark(
    spec: &LlamaStackDistributionSpec,
    server: &KnownServer<'_>,
    findings: &mut Findings,
) {
    let workers = FieldPath::spec().key("workload").key("workers");
    match server.layout {
        Some(layout) if runs_several(spec) && !layout.has_workers => findings.warning(
            &workers,
            Reason::Ignored,
            format!("{} runs in one process only", layout.layout),
            format!("use replicas, or an image of {} or later", with_workers(server.releases)),
        ),
        Some(_) => {}
        None if server.family == ServerFamily::Ogx => {}
        None => {
            let tls = FieldPath::spec().key("networking").key("tls");
            for (asked, path) in [(runs_several(spec), &workers), (serves_tls(spec), &tls)] {
                if asked {
                    findings.warning(
                        path,
                        Reason::Unavailable,
                        format!(
                            "the release of the image is not known: it has no effect where the image \
                             is of one before {}, or its configuration is not where its kind has it",
                            with_workers(server.releases)
                        ),
                        "the pod's log says what has none; a version label on the image settles it",
                    );
                }
            }
        }
    }
}

fn with_workers(releases: &'static Releases) -> &'static str {
    releases.first_with(|release| release.has_workers)
}

fn serves_tls(spec: &LlamaStackDistributionSpec) -> bool {
    let tls = spec.networking.as_ref().and_then(|networking| networking.tls.as_ref());
    tls.is_some_and(|tls| tls.enabled == Some(true))
}

fn runs_several(spec: &LlamaStackDistributionSpec) -> bool {
    spec.workload.as_ref().and_then(|workload| workload.workers).is_some_and(|workers| workers > 1)
}
