//! The words of a status: conditions with the reasons that they can have, and events.

use std::fmt::Write;

use llsd_plan::status::{ConditionReason, ConditionType, EventKind, EventReason};

use super::page::{GENERATED, cell};

pub fn conditions() -> String {
    let mut page = format!(
        "# Conditions\n\n{GENERATED}\n\nThe conditions of a resource's status, in the order in which they are listed. \
         [Status and events](../status.md) says how to read them, and what to do.\n\n| type | says |\n|---|---|\n"
    );
    for one in ConditionType::ALL {
        let _ = writeln!(page, "| `{}` | {} |", one.as_str(), cell(one.about()));
    }
    page.push_str("\n## Reasons\n\n| reason | says |\n|---|---|\n");
    for one in ConditionReason::ALL {
        let _ = writeln!(page, "| `{}` | {} |", one.as_str(), cell(one.about()));
    }
    page
}

pub fn events() -> String {
    let mut page = format!(
        "# Events\n\n{GENERATED}\n\nEvents on a resource, as `kubectl describe llsd NAME` lists them. One is sent when something \
         changes, not at every reconcile.\n\n| reason | kind | while | says |\n|---|---|---|---|\n"
    );
    for one in EventReason::ALL {
        let kind = if one.kind() == EventKind::Normal { "normal" } else { "warning" };
        let _ = writeln!(
            page,
            "| `{}` | {kind} | {} | {} |",
            one.as_str(),
            one.action(),
            cell(one.about())
        );
    }
    page
}
