//! Labels and annotations: those that a person sets, those on every object, and those that tell.

use std::fmt::Write;

use llsd_api::conversion::{V1ALPHA1_EXTRAS, V1ALPHA2_EXTRAS};
use llsd_plan::objects::{REQUEST_TIMEOUT, labels};
use llsd_plan::resource::{APPROVE, PAUSED, PREFLIGHT, REFRESH, RETRY, ROLLBACK_TO};

use super::page::GENERATED;

/// Annotations that a person sets, and their effect.
const SET: [(&str, &str); 7] = [
    (
        REFRESH,
        "another value: tags are looked up again, and what waits is applied; `llsd refresh NAME` sets it",
    ),
    (
        APPROVE,
        "another value: what an upgrade of the operator holds back, or what waits for its turn, is applied; `llsd \
         rollout approve NAME`",
    ),
    (RETRY, "another value: what was rolled back is tried again; `llsd rollout retry NAME`"),
    (
        ROLLBACK_TO,
        "the hash of an earlier state, which then runs until the spec changes; `llsd rollback NAME`",
    ),
    (
        PREFLIGHT,
        "`skip`: changes are rolled out without a preflight, also one that waits for its turn or failed it",
    ),
    (PAUSED, "`true`: nothing is written for the resource but its status"),
    (REQUEST_TIMEOUT, "under `networking.expose.annotations`: the time that an HTTPRoute allows"),
];

/// Labels that not every object has.
const SOME: [(&str, &str); 1] = [(labels::COMPONENT, "on some objects: what it is for")];

/// Annotations of the operator's own: on what, and what they say.
const TELLING: [(&str, &str, &str); 22] = [
    (labels::CONFIG_HASH, "pods, ConfigMap", "which configuration they run or hold"),
    (labels::USER_CONFIG_HASH, "pods", "which configuration of yours they run, as v0.9 calls it"),
    (labels::CA_BUNDLE_HASH, "pods", "which certificate authorities they trust, as v0.9 calls it"),
    (labels::SECRET_HASH, "pods", "which values of secrets, as a keyed hash"),
    (labels::VARIABLES_HASH, "pods", "which values of variables of yours"),
    (labels::PLANNED_FOR, "Deployment", "the state of the resource that it was planned for"),
    (labels::INPUTS, "Deployment", "what of the resource its template was made from"),
    (labels::TEMPLATE_HASH, "Deployment", "which template was planned when it was last applied"),
    (labels::LAST_GOOD, "Deployment", "the last template that was available"),
    (labels::LAST_GOOD_INPUTS, "Deployment", "the inputs that it was made from"),
    (
        labels::TAKEN_OVER,
        "Deployment",
        "from which other installation of the operator, by its key, it was taken over, and when",
    ),
    (
        labels::WAVE,
        "Deployment",
        "which change of inputs that several servers share has reached it last",
    ),
    (labels::SERVES, "Deployment", "how the pods of the template before listen, while they serve"),
    (labels::UNPROVEN, "Deployment", "that no pod of its template was available yet"),
    (labels::ROLLED_BACK, "Deployment", "that it runs an earlier template, which, and why"),
    (labels::STORAGE_SECRETS, "Deployment", "the Secrets with connection strings of its pods"),
    (labels::ADOPTED, "Deployment", "that its template is still that of operator v0.9"),
    (
        labels::ADOPTED_OVERRIDE,
        "Deployment",
        "the image by which v0.9's ConfigMap replaced that of its distribution",
    ),
    (labels::IMAGES_HASH, "ConfigMap", "that the record of images is the operator's own"),
    (
        labels::CA_BUNDLE_GRANT,
        "ConfigMap",
        "proof that the server may have certificate authorities of another namespace",
    ),
    (V1ALPHA1_EXTRAS, "resource", "what v1alpha2 [has no field for](../api-conversion.md)"),
    (V1ALPHA2_EXTRAS, "resource", "what v1alpha1 [has no field for](../api-conversion.md)"),
];

pub fn labels() -> String {
    let mut page = format!(
        "# Labels and annotations\n\n{GENERATED}\n\n## That you set\n\nOn a resource; each is an annotation.\n\n\
         | annotation | effect |\n|---|---|\n"
    );
    for (name, effect) in SET {
        let _ = writeln!(page, "| `{name}` | {effect} |");
    }
    page.push_str("\n## On everything that is made\n\n| label | value |\n|---|---|\n");
    for (name, value) in labels::of_objects("NAME") {
        let value =
            if value == "NAME" { "the resource's name".into() } else { format!("`{value}`") };
        let _ = writeln!(page, "| `{name}` | {value} |");
    }
    for (name, value) in SOME {
        let _ = writeln!(page, "| `{name}` | {value} |");
    }
    page.push_str(
        "\nSo `kubectl get all -l app.kubernetes.io/instance=demo` shows one server. Pods get yours beside them, from \
         `workload.overrides.podLabels` and `podAnnotations`. Labels and annotations that others put on an object \
         stay.\n\n## That tell\n\n| annotation | on | says |\n|---|---|---|\n",
    );
    for (name, on, says) in TELLING {
        let _ = writeln!(page, "| `{name}` | {on} | {says} |");
    }
    page.push_str(
        "\nThese are the operator's own. Changing them by hand is put right, or makes it look twice.\n",
    );
    page
}
