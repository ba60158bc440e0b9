//! What an installation brings of Secrets and accounts is the operator's own, and no resource may name it.

use std::collections::BTreeSet;

use llsd_install::names::{OPERATOR, OWN_ACCOUNTS, OWN_SECRETS};
use llsd_install::{File, files};
use serde_json::Value;

fn installed() -> Vec<Value> {
    let texts: Vec<String> = files().iter().map(File::text).collect();
    serde_saphyr::from_multiple(&texts.join("---\n")).unwrap()
}

/// The names of all objects of a kind.
fn named(kind: &str) -> BTreeSet<String> {
    let objects = installed().into_iter().filter(|object| object["kind"] == kind);
    objects.map(|object| object["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

/// Every Secret that a field `secretName` or a rule of a role names.
fn mentioned(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("secretName").and_then(Value::as_str).map(str::to_owned));
            if value["resources"][0] == "secrets" {
                let names = value["resourceNames"].as_array().into_iter().flatten();
                found.extend(names.filter_map(Value::as_str).map(str::to_owned));
            }
            fields.values().for_each(|field| mentioned(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| mentioned(item, found)),
        _ => {}
    }
}

#[test]
fn every_secret_of_an_installation_is_the_operators_own() {
    let mut found = named("Secret");
    // The schema of the resource has a field of that name, and values of it are not the operator's.
    let objects = installed().into_iter().filter(|it| it["kind"] != "CustomResourceDefinition");
    objects.for_each(|object| mentioned(&object, &mut found));
    assert!(found.len() > 4, "{found:?}");
    for name in &found {
        assert!(OWN_SECRETS.contains(&name.as_str()), "{name}");
    }
    // OLM makes one Secret more, and names it after the Deployment.
    let of_olm = format!("{OPERATOR}-service-cert");
    assert!(OWN_SECRETS.contains(&of_olm.as_str()), "{of_olm}");
}

#[test]
fn every_account_of_an_installation_is_the_operators_own() {
    let own: BTreeSet<String> = OWN_ACCOUNTS.map(str::to_owned).into();
    assert_eq!(named("ServiceAccount"), own);
}
