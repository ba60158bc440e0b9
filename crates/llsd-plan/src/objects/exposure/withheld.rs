//! A way out of the cluster that the cluster does not offer now. The server runs without it, and it is
//! made as soon as the cluster serves its kind.

use super::decision::{Via, exposure};
use crate::facts::Served;
use crate::objects::blueprint::Blueprint;
use crate::objects::kind::ObjectKind;
use crate::problems::{FieldPath, Problem, Reason};

/// What is in the way of exposing the server; `None` where nothing is.
pub(in crate::objects) fn withheld(blueprint: &Blueprint) -> Option<Problem> {
    // Offline, what is not mentioned is assumed to exist.
    let exposure = exposure(blueprint).filter(|_| blueprint.facts.complete)?;
    let path = FieldPath::spec().key("networking").key("expose");
    let served = |kind: ObjectKind| blueprint.facts.serves(kind.api());
    match exposure.via {
        Via::HttpRoute(_) => match served(ObjectKind::HttpRoute) {
            Served::Yes => None,
            Served::No => Some(not_served(ObjectKind::HttpRoute, path.key("gateway"))),
            Served::Unknown => Some(unknown(ObjectKind::HttpRoute, path.key("gateway"))),
        },
        // Where Routes are served they go before an Ingress, unless there is one already.
        Via::Ingress if blueprint.facts.adopted.ingress => None,
        Via::Ingress => match served(ObjectKind::Route) {
            Served::Yes | Served::No => None,
            Served::Unknown => Some(unknown(ObjectKind::Route, path)),
        },
        Via::Route => None,
    }
}

fn not_served(kind: ObjectKind, path: FieldPath) -> Problem {
    Problem {
        path,
        reason: Reason::NotFound,
        message: format!("the cluster does not serve {} ({})", kind.name(), kind.api_version()),
        remedy: "install the Gateway API of that version, or remove gateway to be exposed by an \
                 Ingress"
            .to_owned(),
    }
}

fn unknown(kind: ObjectKind, path: FieldPath) -> Problem {
    Problem {
        path,
        reason: Reason::Unavailable,
        message: format!(
            "could not determine whether the cluster serves {} ({}); retrying",
            kind.name(),
            kind.api_version()
        ),
        remedy: "see that the API server behind it answers; it is asked again".to_owned(),
    }
}
