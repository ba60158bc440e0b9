//! Taking over an object from the operator v0.9: its field managers' shares of the object become
//! ours, so that the next apply removes what we do not apply. Pure; who patches the object must
//! see to it that nobody wrote to it in between.

use serde_json::{Map, Value};

use crate::fingerprint::FIELD_MANAGER;

/// The name of v0.9's program, under which it creates and replaces objects. Other programs are
/// called so too.
const OLD_PROGRAM: &str = "manager";

/// The `managedFields` in which we own what v0.9 owned of an object that it made for the resource
/// of this name; `None` where it owns nothing. Shares in subresources, and everybody else's, stay.
///
/// v0.9 applies under the resource's name, which nobody else does. What was written as `manager`
/// counts only where we have not applied yet but for a mark in the metadata, or v0.9 has since:
/// later it is another program's, and to take that over would be to remove it, again and again.
pub fn taken_over(managed_fields: &Value, resource_name: &str) -> Option<Value> {
    let entries = managed_fields.as_array()?;
    let is_ours = |entry: &&Value| is_by(entry, FIELD_MANAGER, "Apply");
    let old_applied = |entry: &&Value| is_by(entry, resource_name, "Apply") && !is_ours(entry);
    let ours = entries.iter().find(is_ours);
    let old_applied_any = || entries.iter().any(|entry| old_applied(&entry));
    let program_counts = !ours.is_some_and(has_content) || old_applied_any();
    let is_old = |entry: &&Value| {
        old_applied(entry) || program_counts && is_by(entry, OLD_PROGRAM, "Update")
    };
    // Times have a resolution of seconds, within which v0.9 creates first and applies then.
    let latest = |entry: &&Value| (time_of(entry).to_owned(), old_applied(entry));
    let newest = entries.iter().filter(is_old).max_by_key(latest)?;
    let mut merged = ours.unwrap_or(newest).clone();
    merged["manager"] = FIELD_MANAGER.into();
    merged["operation"] = "Apply".into();
    // Also over versions of the API: a path that the entry's version does not know names nothing
    // in the object, and does no harm.
    let shares = entries.iter().filter(|entry| is_ours(entry) || is_old(entry));
    let shares = shares.filter_map(|entry| entry.get("fieldsV1")?.as_object());
    merged["fieldsV1"] = Value::Object(shares.fold(Map::new(), union));
    let others = entries.iter().filter(|entry| !is_ours(entry) && !is_old(entry));
    Some([merged].into_iter().chain(others.cloned()).collect())
}

/// Whether an entry is a manager's share in the object itself.
fn is_by(entry: &Value, manager: &str, operation: &str) -> bool {
    entry["manager"] == manager
        && entry["operation"] == operation
        && entry["subresource"].as_str().is_none_or(str::is_empty)
}

/// Whether an entry is about more than metadata, as every object's is once it is applied whole.
fn has_content(entry: &Value) -> bool {
    let fields = entry["fieldsV1"].as_object();
    fields.is_some_and(|fields| fields.keys().any(|field| field != "f:metadata"))
}

/// The API server writes all times in one zone and width, so that they sort as texts.
fn time_of(entry: &Value) -> &str {
    entry["time"].as_str().unwrap_or_default()
}

/// What either owns. Nothing below a path says that the path itself is owned, which a `.` says once
/// there is something below.
fn union(mut one: Map<String, Value>, other: &Map<String, Value>) -> Map<String, Value> {
    for (path, theirs) in other {
        match (one.get_mut(path), theirs) {
            (Some(Value::Object(ours)), Value::Object(theirs)) => {
                let owned_itself = ours.is_empty() || theirs.is_empty();
                *ours = union(std::mem::take(ours), theirs);
                if owned_itself && !ours.is_empty() {
                    ours.insert(".".to_owned(), Value::Object(Map::new()));
                }
            }
            _ => _ = one.insert(path.clone(), theirs.clone()),
        }
    }
    one
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
        json!({
            "manager": manager, "operation": operation, "apiVersion": "apps/v1",
            "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields,
        })
    }

    fn with(mut entry: Value, field: &str, value: &str) -> Value {
        entry[field] = value.into();
        entry
    }

    #[test]
    fn the_shares_of_both_old_managers_become_ours() {
        let before = json!([
            entry(
                "manager",
                "Update",
                &json!({"f:spec": {"f:a": {}, "f:l": {".": {}, "f:x": {}}}})
            ),
            entry("llama", "Apply", &json!({"f:spec": {"f:b": {}, "f:l": {"f:y": {}}}})),
            entry("kubectl-edit", "Update", &json!({"f:spec": {"f:c": {}}})),
        ]);
        let fields =
            json!({"f:spec": {"f:a": {}, "f:b": {}, "f:l": {".": {}, "f:x": {}, "f:y": {}}}});
        let after = json!([entry(FIELD_MANAGER, "Apply", &fields), before[2]]);
        assert_eq!(taken_over(&before, "llama"), Some(after));
    }

    #[test]
    fn what_we_already_own_stays_ours() {
        let before = json!([
            entry("llama", "Apply", &json!({"f:a": {}})),
            with(
                entry(FIELD_MANAGER, "Apply", &json!({"f:a": {}, "f:b": {}})),
                "apiVersion",
                "apps/v2"
            ),
        ]);
        let after = json!([with(
            entry(FIELD_MANAGER, "Apply", &json!({"f:a": {}, "f:b": {}})),
            "apiVersion",
            "apps/v2"
        )]);
        assert_eq!(taken_over(&before, "llama"), Some(after));
    }

    #[test]
    fn the_newest_of_the_old_entries_gives_version_and_time() {
        let newer = with(entry("llama", "Apply", &json!({"f:b": {}})), "apiVersion", "apps/v2");
        let newer = with(newer, "time", "2026-02-01T00:00:00Z");
        let before = json!([newer, entry("manager", "Update", &json!({"f:a": {}}))]);
        let after = taken_over(&before, "llama").unwrap();
        assert_eq!(after[0]["apiVersion"], "apps/v2");
        assert_eq!(after[0]["time"], "2026-02-01T00:00:00Z");
        assert_eq!(after[0]["fieldsV1"], json!({"f:a": {}, "f:b": {}}));
    }

    #[test]
    fn within_one_second_the_apply_is_the_newer_one() {
        let applied = with(entry("llama", "Apply", &json!({"f:b": {}})), "apiVersion", "apps/v2");
        let created = entry("manager", "Update", &json!({"f:a": {}}));
        for before in [json!([applied, created]), json!([created, applied])] {
            assert_eq!(taken_over(&before, "llama").unwrap()[0]["apiVersion"], "apps/v2");
        }
    }

    #[test]
    fn shares_in_subresources_stay_where_they_are() {
        let status =
            with(entry("manager", "Update", &json!({"f:status": {}})), "subresource", "status");
        let before = json!([entry("manager", "Update", &json!({"f:a": {}})), status]);
        let after = json!([entry(FIELD_MANAGER, "Apply", &json!({"f:a": {}})), status]);
        assert_eq!(taken_over(&before, "llama"), Some(after));
        assert_eq!(taken_over(&json!([status]), "llama"), None);
    }

    #[test]
    fn there_is_nothing_to_take_over_from_others() {
        let ours = entry(FIELD_MANAGER, "Apply", &json!({"f:a": {}}));
        let other = entry("other", "Apply", &json!({"f:a": {}}));
        assert_eq!(taken_over(&json!([ours, other]), "llama"), None);
        assert_eq!(taken_over(&json!([ours, other]), FIELD_MANAGER), None);
        assert_eq!(taken_over(&json!([]), "llama"), None);
        assert_eq!(taken_over(&Value::Null, "llama"), None);
    }

    #[test]
    fn another_program_of_the_same_name_keeps_what_it_adds_to_our_object() {
        let ours = entry(FIELD_MANAGER, "Apply", &json!({"f:a": {}}));
        let other = entry("manager", "Update", &json!({"f:b": {}}));
        assert_eq!(taken_over(&json!([ours, other]), "llama"), None);
    }

    #[test]
    fn a_mark_in_the_metadata_does_not_make_the_content_ours() {
        let mark = entry(FIELD_MANAGER, "Apply", &json!({"f:metadata": {"f:labels": {}}}));
        let old = entry("manager", "Update", &json!({"f:spec": {"f:a": {}}}));
        let fields = json!({"f:metadata": {"f:labels": {}}, "f:spec": {"f:a": {}}});
        let after = json!([entry(FIELD_MANAGER, "Apply", &fields)]);
        assert_eq!(taken_over(&json!([mark, old]), "llama"), Some(after));
    }

    #[test]
    fn an_object_that_v0_9_had_again_for_a_while_is_taken_over_again() {
        let ours = entry(FIELD_MANAGER, "Apply", &json!({"f:a": {}}));
        let applied = entry("llama", "Apply", &json!({"f:b": {}}));
        let replaced = entry("manager", "Update", &json!({"f:c": {}}));
        let after = taken_over(&json!([ours, applied, replaced]), "llama").unwrap();
        let all = entry(FIELD_MANAGER, "Apply", &json!({"f:a": {}, "f:b": {}, "f:c": {}}));
        assert_eq!(after, json!([all]));
    }

    #[test]
    fn a_path_owned_by_itself_and_in_parts_is_owned_in_both_ways() {
        let before = json!([
            entry("manager", "Update", &json!({"f:emptyDir": {}})),
            entry("llama", "Apply", &json!({"f:emptyDir": {"f:medium": {}}})),
        ]);
        let after = taken_over(&before, "llama").unwrap();
        assert_eq!(after[0]["fieldsV1"], json!({"f:emptyDir": {"f:medium": {}, ".": {}}}));
    }
}
