//! From the provider that a user names to the type that the server knows: `vllm` is
//! `remote::vllm`, and a name that the release does not have is answered with the one it has.

use llsd_api::provider_id::short_name;

use super::catalogue::{Catalogue, ProviderType};
use super::era::Era;
use crate::problem::{FieldPath, Findings, Reason};
use crate::suggest::nearest;

/// Types that a release calls by another name, by API and short name.
const RENAMED: [(&str, &str, &str); 12] = [
    ("agents", "builtin", "meta-reference"),
    ("responses", "meta-reference", "builtin"),
    ("eval", "meta-reference", "builtin"),
    ("eval", "builtin", "meta-reference"),
    ("tool_runtime", "rag-runtime", "file-search"),
    ("tool_runtime", "rag", "file-search"),
    ("tool_runtime", "rag", "rag-runtime"),
    ("tool_runtime", "file-search", "rag-runtime"),
    ("vector_io", "meta-reference", "faiss"),
    ("vector_io", "builtin", "faiss"),
    ("post_training", "huggingface", "huggingface-gpu"),
    ("post_training", "torchtune", "torchtune-gpu"),
];

/// A provider type and what the release's catalogue knows of it.
#[derive(Clone, Debug)]
pub(super) struct Resolved {
    pub(super) name: String,
    pub(super) known: Option<&'static ProviderType>,
}

/// The type behind `written`, or nothing where the release has no such type, which is then a
/// problem at `path`. Of a type that no release has, the base itself may know.
pub(super) fn resolve(
    era: &Era,
    api: &str,
    written: &str,
    in_base: impl Fn(&str) -> bool,
    path: &FieldPath,
    findings: &mut Findings,
) -> Option<Resolved> {
    let full = |catalogue: &'static Catalogue| -> Option<String> {
        if written.contains("::") {
            catalogue.get(api, written).map(|_| written.to_owned())
        } else {
            catalogue.full_type(api, written).map(str::to_owned)
        }
    };
    if let Some((catalogue, name)) =
        era.candidates().find_map(|catalogue| full(catalogue).map(|name| (catalogue, name)))
    {
        let known = catalogue.get(api, &name);
        if let Some(without) = era.candidates().find(|other| other.get(api, &name).is_none()) {
            findings.warning(
                path,
                Reason::NotFound,
                format!("`{name}` exists in {} but not in {}", catalogue.name, without.name),
                "make sure that the image has it; a version label on the image settles it",
            );
        }
        if let Some(instead) = known.and_then(|known| known.instead.as_deref()) {
            findings.warning(
                path,
                Reason::Deprecated,
                format!("`{name}` is deprecated in {}", catalogue.name),
                format!("use {instead}"),
            );
        }
        return Some(Resolved { name, known });
    }
    if let Some(new) = replacement(era, api, short_name(written)) {
        findings.problem(
            path,
            Reason::NotFound,
            format!("{} has no {api} provider `{written}`; there it is called `{new}`", era.name()),
            format!("use {new}"),
        );
        return None;
    }
    let elsewhere: Vec<&str> = Catalogue::all()
        .filter(|catalogue| full(catalogue).is_some())
        .map(|catalogue| catalogue.name.as_str())
        .collect();
    if let (Some(first), Some(last)) = (elsewhere.first(), elsewhere.last()) {
        findings.problem(
            path,
            Reason::NotFound,
            format!(
                "{} has no {api} provider `{written}`; releases {first} to {last} have it",
                era.name()
            ),
            format!("use one of {}", known_names(era, api)),
        );
        return None;
    }
    let name =
        if written.contains("::") { written.to_owned() } else { format!("remote::{written}") };
    if in_base(&name) {
        return Some(Resolved { name, known: None });
    }
    let shorts = era.catalogue.types(api).map(|(name, _)| short_name(name));
    findings.warning(
        path,
        Reason::NotFound,
        format!("no {api} provider `{written}` is known in {}; `{name}` is passed on", era.name()),
        match nearest(short_name(written), shorts) {
            Some(meant) => format!("did you mean {meant}?"),
            None => format!("make sure that the image has it; known are {}", known_names(era, api)),
        },
    );
    Some(Resolved { name, known: None })
}

/// The name that the era's release has for a type of another release.
fn replacement(era: &Era, api: &str, short: &str) -> Option<&'static str> {
    let renamed = RENAMED
        .iter()
        .filter(|(renamed_api, old, _)| *renamed_api == api && *old == short)
        .map(|(_, _, new)| *new)
        .find(|new| era.catalogue.full_type(api, new).is_some());
    renamed.or_else(|| {
        let plain = short.strip_suffix("-openai-compat")?;
        era.catalogue.full_type(api, plain).map(short_name)
    })
}

fn known_names(era: &Era, api: &str) -> String {
    let mut names: Vec<&str> = era.catalogue.types(api).map(|(name, _)| short_name(name)).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}
