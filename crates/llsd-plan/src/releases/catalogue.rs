//! The provider types of one release, looked up by API and name.

use llsd_api::provider_id::short_name;

use super::number::{ServerFamily, Span};
use super::provider_type::{ProviderType, Row};
use super::set::{ApiProviders, Releases};
use super::table::Release;
use crate::problems::suggest::{is_slip, nearest};

/// The provider types of one release.
#[derive(Clone, Copy, Debug)]
pub struct Catalogue {
    releases: &'static Releases,
    pub release: &'static Release,
}

impl Releases {
    pub fn catalogues(&'static self) -> impl DoubleEndedIterator<Item = Catalogue> {
        self.rows.iter().map(|release| self.catalogue_of(release))
    }

    /// The catalogue of the release with this name.
    pub fn catalogue(&'static self, name: &str) -> Option<Catalogue> {
        self.catalogues().find(|catalogue| catalogue.release.name == name)
    }

    pub fn catalogue_of(&'static self, release: &'static Release) -> Catalogue {
        Catalogue { releases: self, release }
    }

    /// What a field of this type is called, the newest release first; several have changed names.
    pub fn field_names(
        &'static self,
        api: &str,
        provider_type: &str,
        of: impl Fn(ProviderType) -> Option<&'static str>,
    ) -> impl Iterator<Item = &'static str> {
        let types = self.catalogues().rev().filter_map(move |it| it.get(api, provider_type));
        types.filter_map(of)
    }

    /// The name that a provider was probably meant to have, where no release of any server knows the
    /// one that was written.
    pub fn meant(&'static self, api: &str, written: &str) -> Option<&'static str> {
        nearest(short_name(written), self.names_instead(api, written)?)
    }

    /// The same where it was surely meant, because the name differs in one letter only.
    pub fn slip_of(&'static self, api: &str, written: &str) -> Option<&'static str> {
        let short = short_name(written);
        self.names_instead(api, written)?.find(|known| is_slip(short, known))
    }

    /// All names of an API, the newest release first; nothing where a release knows the one that was written.
    fn names_instead(
        &'static self,
        api: &str,
        written: &str,
    ) -> Option<impl Iterator<Item = &'static str>> {
        let short = short_name(written);
        let knows = |catalogue: Catalogue| {
            catalogue.full_type(api, written).is_some() || catalogue.renamed(api, short).is_some()
        };
        if self.catalogues().any(knows) {
            return None;
        }
        let types = self.catalogues().rev().flat_map(move |catalogue| catalogue.types(api));
        Some(types.map(|(name, _)| short_name(name)))
    }

    /// Whether an API ended with llama-stack and is not in OGX.
    pub fn ended_with_llama_stack(&'static self, api: &str) -> bool {
        let has = |server| self.catalogue_of(self.newest(server)).has_api(api);
        has(ServerFamily::LlamaStack) && !has(ServerFamily::Ogx)
    }
}

impl Catalogue {
    fn rows(self, api: &str) -> impl Iterator<Item = (&'static str, &'static Row)> {
        let rows = self.releases.apis.get(api).map(ApiProviders::rows).unwrap_or_default();
        let holds =
            move |(_, span, _): &&(String, _, Row)| Span::contains(*span, self.release.number);
        rows.iter().filter(holds).map(|(name, _, row)| (name.as_str(), row))
    }

    pub fn has_api(self, api: &str) -> bool {
        self.rows(api).next().is_some()
    }

    pub fn apis(self) -> impl Iterator<Item = &'static str> {
        self.releases.apis.keys().copied().filter(move |api| self.has_api(api))
    }

    pub fn get(self, api: &str, provider_type: &str) -> Option<ProviderType> {
        self.types(api).find(|(name, _)| *name == provider_type).map(|(_, known)| known)
    }

    /// The types of an API, in the order of its file.
    pub fn types(self, api: &str) -> impl Iterator<Item = (&'static str, ProviderType)> {
        self.rows(api).map(move |(name, row)| (name, ProviderType::new(row, self.release.number)))
    }

    /// The full type behind a name: it may be short, and then means the remote one where both exist,
    /// or one that people have for the type.
    pub fn full_type(self, api: &str, written: &str) -> Option<&'static str> {
        let find = |of: &dyn Fn(&str, &Row) -> bool| {
            self.rows(api).find(|(name, row)| of(name, row)).map(|(name, _)| name)
        };
        let of_kind = |kind: &str| {
            find(&|name, _| {
                name.strip_prefix(kind).and_then(|rest| rest.strip_prefix("::")) == Some(written)
            })
        };
        let also = || find(&|_, row| row.also.iter().any(|also| also == short_name(written)));
        find(&|name, _| name == written)
            .or_else(|| of_kind("remote"))
            .or_else(|| of_kind("inline"))
            .or_else(|| find(&|name, _| short_name(name) == written))
            .or_else(also)
    }

    /// The type that other releases have under this short name.
    pub fn renamed(self, api: &str, short: &str) -> Option<&'static str> {
        let renamed =
            self.rows(api).find(|(_, row)| row.elsewhere.iter().any(|name| name == short));
        renamed.map(|(name, _)| name)
    }

    /// The types that run a tool, in the order of their file.
    pub fn runners(self, tool: &str) -> impl Iterator<Item = &'static str> {
        self.types("tool_runtime")
            .filter(move |(_, known)| known.tool() == Some(tool))
            .map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_part_of_a_longer_type_is_enough() {
        let older = Releases::shipped().catalogue("0.6.1").unwrap();
        assert_eq!(older.full_type("inference", "serverless"), Some("remote::hf::serverless"));
        assert_eq!(older.full_type("inference", "hf::serverless"), Some("remote::hf::serverless"));
    }

    #[test]
    fn a_short_name_prefers_the_remote_type() {
        let newest = Releases::shipped().catalogue("0.7.3").unwrap();
        assert_eq!(newest.full_type("vector_io", "milvus"), Some("remote::milvus"));
        assert_eq!(newest.full_type("vector_io", "faiss"), Some("inline::faiss"));
        assert_eq!(newest.full_type("inference", "nonesuch"), None);
        assert!(newest.get("inference", "remote::vllm").unwrap().knows("base_url"));
    }

    #[test]
    fn what_is_filled_in_and_where_endpoints_and_keys_go_are_fields_of_the_type() {
        for catalogue in Releases::shipped().catalogues() {
            for api in catalogue.apis() {
                for (name, known) in catalogue.types(api) {
                    let places = [known.endpoint(), known.key(), known.region()];
                    let filled = known.fill().map(|(field, _)| field);
                    let beside = known.with_endpoint().keys().map(String::as_str);
                    for field in places.into_iter().flatten().chain(filled).chain(beside) {
                        assert!(
                            known.knows(field),
                            "{} {api} {name} {field}",
                            catalogue.release.name
                        );
                    }
                    for other in [known.instead(), known.successor()].into_iter().flatten() {
                        let exists = |of: Catalogue| of.get(api, other).is_some();
                        assert!(Releases::shipped().catalogues().any(exists), "{name} {other}");
                    }
                }
            }
        }
    }
}
