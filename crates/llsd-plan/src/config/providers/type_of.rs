//! From the provider that a user names to the type that the server knows: `vllm` is
//! `remote::vllm`, and a name that the release does not have is answered with the one it has.

use llsd_api::provider_id::short_name;

use crate::problems::suggest::nearest;
use crate::problems::{FieldPath, Findings, Reason};
use crate::releases::{Catalogue, ProviderType, ServerProfile};

/// A provider type and what the release's catalogue knows of it.
#[derive(Clone, Debug)]
pub(super) struct ResolvedType {
    pub(super) name: String,
    pub(super) known: Option<ProviderType>,
}

/// The type behind `written`, or nothing where the release has no such type, which is then a
/// problem at `path`. Of a type that no release has, the base itself may know.
pub(super) fn resolve(
    profile: &ServerProfile,
    api: &str,
    written: &str,
    in_base: impl Fn(&str) -> bool,
    path: &FieldPath,
    findings: &mut Findings,
) -> Option<ResolvedType> {
    let full = |catalogue: Catalogue| catalogue.full_type(api, written);
    if let Some((catalogue, name)) =
        profile.candidates().find_map(|catalogue| full(catalogue).map(|name| (catalogue, name)))
    {
        let known = catalogue.get(api, name);
        let title = &catalogue.release.title;
        if let Some(without) = profile.candidates().find(|other| other.get(api, name).is_none()) {
            findings.warning(
                path,
                Reason::NotFound,
                format!("`{name}` exists in {title} but not in {}", without.release.title),
                "make sure that the image has it; a version label on the image settles it",
            );
        }
        if let Some(instead) = known.and_then(ProviderType::instead) {
            findings.warning(
                path,
                Reason::Deprecated,
                format!("`{name}` is deprecated in {title}"),
                format!("use {instead}"),
            );
        }
        return Some(ResolvedType { name: name.to_owned(), known });
    }
    if let Some(new) = profile.catalogue.renamed(api, short_name(written)).map(short_name) {
        findings.problem(
            path,
            Reason::NotFound,
            format!(
                "{} has no {api} provider `{written}`; there it is called `{new}`",
                profile.name()
            ),
            format!("use {new}"),
        );
        return None;
    }
    let elsewhere: Vec<&str> = profile
        .releases
        .catalogues()
        .filter(|catalogue| full(*catalogue).is_some())
        .map(|catalogue| catalogue.release.title.as_str())
        .collect();
    if let (Some(first), Some(last)) = (elsewhere.first(), elsewhere.last()) {
        findings.problem(
            path,
            Reason::NotFound,
            format!(
                "{} has no {api} provider `{written}`; releases {first} to {last} have it",
                profile.name()
            ),
            format!("use one of {}", known_names(profile, api)),
        );
        return None;
    }
    let name =
        if written.contains("::") { written.to_owned() } else { format!("remote::{written}") };
    if in_base(&name) {
        return Some(ResolvedType { name, known: None });
    }
    let shorts = profile.catalogue.types(api).map(|(name, _)| short_name(name));
    // In the message, because a status has no room for remedies of warnings.
    let meant = nearest(short_name(written), shorts)
        .map(|meant| format!(" (did you mean {meant}?)"))
        .unwrap_or_default();
    findings.warning(
        path,
        Reason::NotFound,
        format!(
            "no {api} provider `{written}` is known in {}{meant}; `{name}` is passed on",
            profile.name()
        ),
        format!("make sure that the image has it; known are {}", known_names(profile, api)),
    );
    Some(ResolvedType { name, known: None })
}

fn known_names(profile: &ServerProfile, api: &str) -> String {
    let mut names: Vec<&str> =
        profile.catalogue.types(api).map(|(name, _)| short_name(name)).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}
