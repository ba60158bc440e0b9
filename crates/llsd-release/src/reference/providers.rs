//! What the operator knows of servers: provider types with their fields, and distributions with their images.

use std::fmt::Write;

use llsd_plan::releases::{Distribution, ListedField, ListedType, ReleaseRange, Releases};

use super::page::GENERATED;

pub fn providers() -> String {
    let listed = Releases::listed(&Releases::shipped().catalogues().collect::<Vec<_>>());
    let mut page = format!(
        "# Provider types\n\n{GENERATED}\n\nEvery provider type, by API, as `llsd providers` lists them; `llsd providers \
         TYPE --release RELEASE` shows one as a release of the server has it. Releases of OGX come after those of \
         llama-stack; what names none is in all of them.\n\nA field goes below `settings` of the provider, or from a Secret \
         to `secretRefs`, unless an arrow names the field of the resource that sets it. A provider must \
         have the fields in **bold**. The server drops any other key, unless the row says that it takes any.\n"
    );
    let mut api = "";
    for it in &listed {
        if it.api != api {
            api = &it.api;
            page.push_str(&heading(it));
        }
        let _ = writeln!(
            page,
            "| `{}` | `{}` | {} | {} |",
            it.provider,
            it.name,
            releases(it),
            fields(it)
        );
    }
    page
}

fn heading(it: &ListedType) -> String {
    let api = &it.api;
    let title = if it.is_in_resource {
        format!("\n## `spec.providers.{api}`\n")
    } else {
        format!(
            "\n## `{api}`\n\nThe resource has no field for it; it comes with the distribution.\n"
        )
    };
    format!("{title}\n| `provider` | type | releases | fields |\n|---|---|---|---|\n")
}

fn releases(it: &ListedType) -> String {
    let words = ReleaseRange::words(&it.releases);
    match it.successor {
        Some(successor) => format!("{words}; then `{successor}`"),
        None => words,
    }
}

fn fields(it: &ListedType) -> String {
    let mut words: Vec<String> = it.fields.iter().map(|field| spelled(field, it)).collect();
    if it.is_open {
        words.push("any other".to_owned());
    }
    if words.is_empty() { "–".to_owned() } else { words.join(", ") }
}

fn spelled(field: &ListedField, of: &ListedType) -> String {
    let name = format!("`{}`", field.name);
    let mut text = if field.is_required() { format!("**{name}**") } else { name };
    if !field.set_by.starts_with("settings.") {
        let _ = write!(text, " ← `{}`", field.set_by);
    }
    let mut notes = Vec::new();
    if field.releases != of.releases {
        notes.push(ReleaseRange::words(&field.releases));
    }
    if field.is_required() && field.required != field.releases {
        notes.push(format!("required {}", ReleaseRange::words(&field.required)));
    }
    if !notes.is_empty() {
        let _ = write!(text, " ({})", notes.join("; "));
    }
    text
}

pub fn distributions() -> String {
    let mut page = format!(
        "# Distributions\n\n{GENERATED}\n\nWhat `spec.distribution.name` may say, as `llsd distributions` lists it: these are \
         the images to mirror [where there is no internet](../tasks/air-gap.md). The operator has the configuration \
         of each itself.\n\n| name | image | release | succeeds |\n|---|---|---|---|\n"
    );
    for (name, known) in Distribution::all() {
        let Distribution { image, release, succeeds, .. } = known;
        let succeeds = succeeds.as_ref().map_or("–".to_owned(), |name| format!("`{name}`"));
        let _ = writeln!(page, "| `{name}` | `{image}` | {release} | {succeeds} |");
    }
    page
}
