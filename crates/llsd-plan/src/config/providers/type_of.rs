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
    let full = |catalogue: &Catalogue| catalogue.full_type(api, written);
    let mut candidates = profile.candidates();
    if let Some((catalogue, name)) = candidates.find_map(|it| full(&it).map(|name| (it, name))) {
        let known = catalogue.get(api, name);
        remark(profile, catalogue, api, name, path, findings);
        return Some(ResolvedType { name: name.to_owned(), known });
    }
    let mut missing = |instead: &str, remedy: String| {
        let message = format!("{} has no {api} provider `{written}`; {instead}", profile.name());
        findings.problem(path, Reason::NotFound, message, remedy);
        None
    };
    if let Some(new) = profile.catalogue.renamed(api, short_name(written)).map(short_name) {
        return missing(&format!("there it is called `{new}`"), format!("use {new}"));
    }
    let mut elsewhere = profile.releases.catalogues().filter(|it| full(it).is_some());
    if let Some(first) = elsewhere.next() {
        let last = elsewhere.next_back().unwrap_or(first);
        let [first, last] = [first, last].map(|catalogue| &catalogue.release.title);
        let remedy = format!("use one of {}", known_names(profile, api));
        return missing(&format!("releases {first} to {last} have it"), remedy);
    }
    let name =
        if written.contains("::") { written.to_owned() } else { format!("remote::{written}") };
    if !in_base(&name) {
        let shorts = profile.catalogue.types(api).map(|(name, _)| short_name(name));
        // In the message, because a status has no room for remedies of warnings.
        let meant = nearest(short_name(written), shorts)
            .map(|meant| format!(" (did you mean {meant}?)"))
            .unwrap_or_default();
        let (release, names) = (profile.name(), known_names(profile, api));
        let message = format!(
            "no {api} provider `{written}` is known in {release}{meant}; `{name}` is passed on"
        );
        let remedy = format!("make sure that the image has it; known are {names}");
        findings.warning(path, Reason::NotFound, message, remedy);
    }
    Some(ResolvedType { name, known: None })
}

/// Remarks on a type that not every release has which the image may hold, or that is deprecated.
fn remark(
    profile: &ServerProfile,
    catalogue: Catalogue,
    api: &str,
    name: &str,
    path: &FieldPath,
    findings: &mut Findings,
) {
    let title = &catalogue.release.title;
    if let Some(without) = profile.candidates().find(|other| other.get(api, name).is_none()) {
        findings.warning(
            path,
            Reason::NotFound,
            format!("`{name}` exists in {title} but not in {}", without.release.title),
            "make sure that the image has it; a version label on the image settles it",
        );
    }
    if let Some(instead) = catalogue.get(api, name).and_then(ProviderType::instead) {
        findings.warning(
            path,
            Reason::Deprecated,
            format!("`{name}` is deprecated in {title}"),
            format!("use {instead}"),
        );
    }
}

fn known_names(profile: &ServerProfile, api: &str) -> String {
    let mut names: Vec<&str> =
        profile.catalogue.types(api).map(|(name, _)| short_name(name)).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}
