//! Provider types as people look them up: which releases have one, and which of its fields, each with the
//! field of the resource that sets it.

use std::collections::BTreeSet;
use std::fmt;

use llsd_api::provider_id::short_name;
use llsd_api::v1alpha2::PROVIDER_APIS;
use serde::Serialize;

use super::api_name::in_resource;
use super::catalogue::Catalogue;
use super::provider_type::ProviderType;
use super::set::Releases;
use super::table::Release;

/// Releases that follow each other, both ends included; an end that is missing is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReleaseRange {
    pub since: Option<&'static str>,
    pub until: Option<&'static str>,
}

/// A provider type over several releases.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedType {
    /// As the resource spells it.
    pub api: String,
    /// Whether `spec.providers` has a field for the API; the others come with the distribution alone.
    pub is_in_resource: bool,
    #[serde(rename = "type")]
    pub name: &'static str,
    /// What `provider` has to say: the short name, unless that means another type.
    pub provider: &'static str,
    pub releases: Vec<ReleaseRange>,
    pub fields: Vec<ListedField>,
    /// Whether the server takes any other field, too.
    pub is_open: bool,
    /// The type that replaces it, or does its work in releases without it.
    pub successor: Option<&'static str>,
}

/// A field of a provider's configuration.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedField {
    pub name: &'static str,
    /// The field of the resource that sets it.
    pub set_by: String,
    pub releases: Vec<ReleaseRange>,
    /// The releases that refuse the provider without it.
    pub required: Vec<ReleaseRange>,
    /// Whether the operator fills it in where it is required and a resource does not set it.
    pub is_filled_in: bool,
}

impl Releases {
    /// The types that these releases have, by API.
    pub fn listed(catalogues: &[Catalogue]) -> Vec<ListedType> {
        let apis: BTreeSet<&str> = catalogues.iter().flat_map(|it| it.apis()).collect();
        apis.into_iter().flat_map(|api| listed_of_api(catalogues, api)).collect()
    }

    /// The releases of which something holds.
    pub fn ranges(&'static self, holds: impl Fn(Catalogue) -> bool) -> Vec<ReleaseRange> {
        ranges(&self.catalogues().collect::<Vec<_>>(), holds)
    }
}

fn listed_of_api(catalogues: &[Catalogue], api: &str) -> Vec<ListedType> {
    let names: BTreeSet<&str> =
        catalogues.iter().flat_map(|it| it.types(api)).map(|(name, _)| name).collect();
    names.into_iter().map(|name| listed(catalogues, api, name)).collect()
}

fn listed(catalogues: &[Catalogue], api: &str, name: &'static str) -> ListedType {
    let known: Vec<(Catalogue, ProviderType)> =
        catalogues.iter().filter_map(|it| Some((*it, it.get(api, name)?))).collect();
    let short = short_name(name);
    let newest = known.last();
    let is_short = newest.is_some_and(|(it, _)| it.full_type(api, short) == Some(name));
    let fields: BTreeSet<&str> = known.iter().flat_map(|(_, known)| known.fields()).collect();
    ListedType {
        api: in_resource(api),
        is_in_resource: PROVIDER_APIS.contains(&in_resource(api).as_str()),
        name,
        provider: if is_short { short } else { name },
        releases: ranges(catalogues, |it| it.get(api, name).is_some()),
        fields: fields
            .into_iter()
            .map(|field| listed_field(catalogues, api, name, field))
            .collect(),
        is_open: newest.is_some_and(|(_, known)| known.is_open()),
        successor: newest.and_then(|(_, known)| known.successor()),
    }
}

fn listed_field(
    catalogues: &[Catalogue],
    api: &str,
    name: &str,
    field: &'static str,
) -> ListedField {
    let any = |of: &dyn Fn(ProviderType) -> Option<&'static str>| {
        let mut types = catalogues.iter().filter_map(|it| it.get(api, name));
        types.any(|known| of(known) == Some(field))
    };
    let set_by = if any(&|known| known.endpoint()) {
        "endpoint".to_owned()
    } else if any(&|known| known.key()) {
        "apiKey".to_owned()
    } else if any(&|known| known.region()) {
        "region".to_owned()
    } else if field == "host" {
        "host".to_owned()
    } else {
        format!("settings.{field}")
    };
    let holds = |of: &dyn Fn(ProviderType) -> bool| {
        ranges(catalogues, |it| it.get(api, name).is_some_and(of))
    };
    ListedField {
        name: field,
        set_by,
        releases: holds(&|known| known.knows(field)),
        required: holds(&|known| known.required().any(|required| required == field)),
        is_filled_in: is_filled_in(catalogues, api, name, field),
    }
}

fn is_filled_in(catalogues: &[Catalogue], api: &str, name: &str, field: &str) -> bool {
    let types = catalogues.iter().filter_map(|it| it.get(api, name));
    let mut asking = types.filter(|known| known.required().any(|required| required == field));
    asking.all(|known| known.fill().any(|(filled, _)| filled == field))
}

impl ListedField {
    /// Whether a resource must set it in some release.
    pub fn is_required(&self) -> bool {
        !self.required.is_empty() && !self.is_filled_in
    }
}

/// Of these releases those of which something holds; all of them are one range without ends.
fn ranges(catalogues: &[Catalogue], holds: impl Fn(Catalogue) -> bool) -> Vec<ReleaseRange> {
    let mut ranges: Vec<ReleaseRange> = Vec::new();
    let mut before: Option<&'static Release> = None;
    let mut is_within = false;
    for catalogue in catalogues {
        let release = catalogue.release;
        match (is_within, holds(*catalogue)) {
            (false, true) => {
                let since = before.map(|_| release.name.as_str());
                ranges.push(ReleaseRange { since, until: None });
                is_within = true;
            }
            (true, false) => {
                if let Some(range) = ranges.last_mut() {
                    range.until = before.map(|last| last.name.as_str());
                }
                is_within = false;
            }
            (true, true) | (false, false) => {}
        }
        before = Some(release);
    }
    ranges
}

impl ReleaseRange {
    /// Several in one text; nothing where none is.
    pub fn words(ranges: &[Self]) -> String {
        ranges.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for ReleaseRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.since, self.until) {
            (None, None) => f.write_str("all"),
            (Some(since), None) => write!(f, "since {since}"),
            (None, Some(until)) => write!(f, "until {until}"),
            (Some(since), Some(until)) if since == until => write!(f, "{since} only"),
            (Some(since), Some(until)) => write!(f, "{since} to {until}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<ListedType> {
        Releases::listed(&Releases::shipped().catalogues().collect::<Vec<_>>())
    }

    fn words(ranges: &[ReleaseRange]) -> String {
        ReleaseRange::words(ranges)
    }

    #[test]
    fn a_field_says_in_which_releases_it_is_there_and_what_sets_it() {
        let all = all();
        let of = |api: &str, name: &str| {
            all.iter()
                .find(|it| it.api == api && it.name == name)
                .unwrap_or_else(|| panic!("{name}"))
        };
        let vllm = of("inference", "remote::vllm");
        assert_eq!((vllm.provider, words(&vllm.releases)), ("vllm", "all".to_owned()));
        let field = |name: &str| vllm.fields.iter().find(|field| field.name == name).unwrap();
        assert_eq!(field("base_url").set_by, "endpoint");
        assert_eq!(words(&field("base_url").releases), "since 0.4.7");
        assert_eq!(words(&field("url").releases), "until 0.3.5");
        let bedrock = of("inference", "remote::bedrock");
        let role = bedrock.fields.iter().find(|field| field.name == "aws_access_key_id").unwrap();
        assert_eq!(words(&role.releases), "until 0.3.5, since ogx-1.0.4");
        assert_eq!(role.set_by, "settings.aws_access_key_id");
    }

    #[test]
    fn a_short_name_that_means_another_type_is_not_offered() {
        for it in all() {
            let mut catalogues = Releases::shipped().catalogues().rev();
            let api = super::super::api_name::in_snake_case(&it.api);
            let newest = catalogues.find(|of| of.get(&api, it.name).is_some()).unwrap();
            assert_eq!(
                newest.full_type(&api, it.provider),
                Some(it.name),
                "{} {}",
                it.api,
                it.name
            );
        }
    }

    #[test]
    fn of_one_release_everything_is_in_all_of_them() {
        let one = [Releases::shipped().catalogue("0.7.3").unwrap()];
        for it in Releases::listed(&one) {
            assert_eq!(words(&it.releases), "all");
            assert!(it.fields.iter().all(|field| words(&field.releases) == "all"), "{}", it.name);
        }
    }
}
