//! `llsd providers`: the types by API, or one type with its fields.

use std::fmt::Write;

use clap::Args;
use llsd_plan::releases::{Catalogue, ListedField, ListedType, ReleaseRange, Releases, row_of};
use serde_json::json;

use crate::command::Printout;
use crate::command::columns::{aligned, row};
use crate::command::facts_flags::release;
use crate::command::format::OutputFormat;

/// List the provider types by API, or the fields of one
///
/// A type is found by its short name (vllm) or its full one (remote::vllm). Fields that have one of the resource's
/// own say so; the others go to settings, or from a Secret to secretRefs. What is filled in need not be set.
#[derive(Debug, Args)]
pub(in crate::command) struct Arguments {
    /// Show this type with its fields
    #[arg(value_name = "TYPE")]
    name: Option<String>,

    /// As this release of the server has them: 0.7.3 is llama-stack's, ogx-1.5.0 is OGX's
    #[arg(long, value_name = "RELEASE", value_parser = release)]
    release: Option<String>,

    /// Of this API alone, as the resource or config.yaml spells it
    #[arg(long, value_name = "API")]
    api: Option<String>,

    /// How to print it
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: OutputFormat,
}

pub(in crate::command) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    let releases = Releases::shipped();
    let only = arguments.release.as_deref().and_then(|name| row_of(releases, name));
    let catalogues: Vec<Catalogue> = match only {
        Some(release) => vec![releases.catalogue_of(release)],
        None => releases.catalogues().collect(),
    };
    let mut listed = Releases::listed(&catalogues);
    if let Some(api) = &arguments.api {
        let wanted = spelled_alike(api);
        listed.retain(|it| spelled_alike(&it.api) == wanted);
        if listed.is_empty() {
            return Err(unknown_api(api, &catalogues));
        }
    }
    if let Some(name) = &arguments.name {
        listed.retain(|it| is_called(it, name, &catalogues));
        if listed.is_empty() {
            return Err(unknown_type(name, arguments, &catalogues));
        }
    }
    let found = json!(listed);
    let lines = || match arguments.name {
        Some(_) => listed.iter().map(one).collect::<Vec<_>>().join("\n"),
        None => table(&listed),
    };
    Ok(Printout::fine(arguments.output.print(&found, lines)))
}

/// `vectorIo` and `vector_io` are the same.
fn spelled_alike(api: &str) -> String {
    api.replace('_', "").to_lowercase()
}

/// Whether a resource that writes this name may mean the type.
fn is_called(it: &ListedType, written: &str, catalogues: &[Catalogue]) -> bool {
    let api = |of: &Catalogue| of.apis().find(|api| spelled_alike(api) == spelled_alike(&it.api));
    let means =
        |of: &Catalogue| api(of).is_some_and(|api| of.full_type(api, written) == Some(it.name));
    let short = it.name.rsplit("::").next() == Some(written);
    it.name == written || short || catalogues.iter().any(means)
}

fn unknown_api(api: &str, catalogues: &[Catalogue]) -> Printout {
    let listed = Releases::listed(catalogues);
    let mut apis: Vec<&str> = listed.iter().map(|it| it.api.as_str()).collect();
    apis.dedup();
    Printout::usage(&format!("there is no API {api:?}; there are {}", apis.join(", ")))
}

fn unknown_type(name: &str, arguments: &Arguments, catalogues: &[Catalogue]) -> Printout {
    let releases = Releases::shipped();
    let all = Releases::listed(&releases.catalogues().collect::<Vec<_>>());
    if let Some(elsewhere) =
        all.iter().find(|it| it.name == name || it.name.ends_with(&format!("::{name}")))
    {
        let since = ReleaseRange::words(&elsewhere.releases);
        let instead = elsewhere.successor.map(|it| format!("; its successor is {it}"));
        return Printout::usage(&format!(
            "{} of {} is in other releases ({since}), and not in what was asked for{}",
            elsewhere.name,
            elsewhere.api,
            instead.unwrap_or_default()
        ));
    }
    let of_api = |api: &&str| {
        arguments.api.as_ref().is_none_or(|wanted| spelled_alike(wanted) == spelled_alike(api))
    };
    let mut apis = catalogues.iter().flat_map(|it| it.apis()).filter(of_api);
    let remedy = match apis.find_map(|api| releases.meant(api, name)) {
        Some(meant) => format!("did you mean {meant}?"),
        None => "`llsd providers` lists them".to_owned(),
    };
    Printout::usage(&format!("no provider type is called {name:?}; {remedy}"))
}

fn table(listed: &[ListedType]) -> String {
    let mut rows = vec![row(["API", "PROVIDER", "TYPE", "RELEASES", "REQUIRED"])];
    rows.extend(listed.iter().map(|it| {
        let required = it.fields.iter().filter(|field| field.is_required());
        let required: Vec<String> =
            required.map(|field| within(field.name, &field.required, &it.releases)).collect();
        let releases = ReleaseRange::words(&it.releases);
        let provider = if it.is_in_resource { it.provider } else { "–" };
        row([&it.api, provider, it.name, &releases, &required.join(", ")])
    }));
    aligned(&rows)
}

/// A word, with the releases where these are not all that the type is in.
fn within(word: &str, ranges: &[ReleaseRange], of_type: &[ReleaseRange]) -> String {
    if ranges == of_type {
        word.to_owned()
    } else {
        format!("{word} ({})", ReleaseRange::words(ranges))
    }
}

fn one(it: &ListedType) -> String {
    let place = if it.is_in_resource {
        format!("in a resource `provider: {}`", it.provider)
    } else {
        "which comes with the distribution alone".to_owned()
    };
    let releases = ReleaseRange::words(&it.releases);
    let mut text = format!("{} of {}, {place}\nreleases: {releases}\n", it.name, it.api);
    if let Some(successor) = it.successor {
        let _ = writeln!(text, "successor: {successor}");
    }
    if it.fields.is_empty() {
        text.push_str("it has no fields\n");
    } else {
        let mut rows = vec![row(["FIELD", "SET BY", "REQUIRED", "RELEASES"])];
        rows.extend(it.fields.iter().map(|field| cells(field, it)));
        text.push_str(&aligned(&rows));
    }
    if it.is_open {
        text.push_str("it takes any other field, too, below settings\n");
    }
    text
}

fn cells(field: &ListedField, of: &ListedType) -> Vec<String> {
    let required = match field.required.as_slice() {
        [] => String::new(),
        _ if field.is_filled_in => "filled in".to_owned(),
        ranges if ranges == field.releases => "yes".to_owned(),
        ranges => ReleaseRange::words(ranges),
    };
    let releases = if field.releases == of.releases {
        String::new()
    } else {
        ReleaseRange::words(&field.releases)
    };
    row([field.name, &field.set_by, &required, &releases])
}
