//! The `telemetry` section of a server that sends nothing until its file says so.

use super::draft::Draft;
use crate::problems::FieldPath;
use llsd_yaml::document::{Node, Origin};

/// Switches telemetry on where the resource says where it is sent.
pub(super) fn apply(draft: &mut Draft<'_>) {
    let monitoring = draft.spec.monitoring.as_ref();
    let is_sent = monitoring.is_some_and(|monitoring| monitoring.otlp.is_some());
    if is_sent && draft.profile.layout.has_telemetry_section {
        let origin = Origin::Field(FieldPath::spec().key("monitoring").key("otlp"));
        let section = draft.document.entry_map("telemetry", &origin);
        section.set("enabled", Node::scalar(true, origin));
    }
}
