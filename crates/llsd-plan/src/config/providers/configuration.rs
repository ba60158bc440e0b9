//! The `config` of one provider: the base's, then what the release cannot do without, then the
//! resource's settings, and its structured fields over all.

use llsd_api::secret_ref::{Host, SecretKey};
use serde_json::Value;

use super::type_of::ResolvedType;
use crate::config::draft::{Draft, UserProvider};
use crate::problems::suggest::did_you_mean;
use crate::problems::{FieldPath, Reason};
use crate::releases::ProviderType;
use crate::server::substitution::whole;
use llsd_yaml::document::{Content, Node, Origin};

pub(super) fn build<'a>(
    draft: &mut Draft<'a>,
    provider: &UserProvider<'a>,
    resolved: &ResolvedType,
    base: Option<&Node>,
) -> Node {
    let kept = base.and_then(|entry| entry.get("config")).filter(|config| !config.is_null());
    let mut builder = Builder {
        config: kept.cloned().unwrap_or_else(|| Node::map(Origin::Field(provider.path.clone()))),
        draft,
        provider,
        resolved,
        structured: Vec::new(),
    };
    builder.endpoint();
    builder.api_key();
    builder.host();
    builder.region();
    builder.secret_refs();
    builder.settings();
    builder.fill();
    builder.required();
    builder.config
}

/// A configuration in the making.
pub(super) struct Builder<'b, 'a> {
    pub(super) draft: &'b mut Draft<'a>,
    pub(super) provider: &'b UserProvider<'a>,
    pub(super) resolved: &'b ResolvedType,
    pub(super) config: Node,
    /// Fields that structured fields have set, with the one that did.
    structured: Vec<(String, FieldPath)>,
}

impl Builder<'_, '_> {
    fn endpoint(&mut self) {
        let Some(endpoint) = &self.provider.entry.endpoint else { return };
        let path = self.provider.path.key("endpoint");
        let Some(field) = self.field_for(ProviderType::endpoint, &["url", "base_url"]) else {
            return self.no_place(&path, "endpoint");
        };
        let endpoint = self.with_path(endpoint, &field);
        self.set(&field, &endpoint, &path);
        let Some(known) = self.resolved.known else { return };
        for (field, value) in known.with_endpoint() {
            if self.config.get(field).is_none_or(reads_variable) {
                let origin = Origin::Rule("an endpoint means that traces are sent");
                self.config.set(field, Node::from_value(value.clone(), &origin));
            }
        }
    }

    /// The endpoint with the path below which the server asks, where it has none.
    fn with_path(&self, endpoint: &str, field: &str) -> String {
        let Some(path) = self.resolved.known.and_then(|known| known.path(field)) else {
            return endpoint.to_owned();
        };
        let trimmed = endpoint.trim_end_matches('/');
        let without_path = trimmed
            .split_once("://")
            .is_some_and(|(_, rest)| !rest.is_empty() && !rest.contains(['/', '?', '$']));
        if without_path { format!("{trimmed}{path}") } else { endpoint.to_owned() }
    }

    fn api_key(&mut self) {
        let Some(key) = self.provider.entry.api_key.as_ref().and_then(|key| key.understood())
        else {
            return;
        };
        let path = self.provider.path.key("apiKey");
        let Some(field) = self.field_for(ProviderType::key, &["api_key", "api_token"]) else {
            return self.no_place(&path, "API key");
        };
        self.set_secret(&field, "api_key", key.target(), &path);
    }

    fn host(&mut self) {
        let Some(host) = &self.provider.entry.host else { return };
        let path = self.provider.path.key("host");
        if !self.resolved.known.is_none_or(|known| known.knows("host")) {
            return self.no_place(&path, "host");
        }
        match host {
            Host::Literal(host) => self.set("host", host, &path),
            Host::Secret(secret) => {
                if let Some(secret) = secret.understood() {
                    self.set_secret("host", "host", secret.target(), &path);
                }
            }
        }
    }

    fn region(&mut self) {
        let Some(region) = &self.provider.entry.region else { return };
        let path = self.provider.path.key("region");
        let field = match self.resolved.known {
            None => Some("region"),
            Some(known) => known.region(),
        };
        match field {
            Some(field) => self.set(field, region, &path),
            None => self.no_place(&path, "region"),
        }
    }

    fn secret_refs(&mut self) {
        let refs = self.provider.entry.secret_refs.iter().flatten();
        for (name, secret) in refs {
            let path = self.provider.path.key("secretRefs").key(name);
            let Some(secret) = secret.understood() else { continue };
            let knows = |field: &str| self.resolved.known.is_none_or(|known| known.knows(field));
            // `api_key` is the key of any provider, whatever the release calls it.
            let field = match self.resolved.known.and_then(ProviderType::key) {
                Some(key) if name == "api_key" && !knows(name) => key.to_owned(),
                _ if knows(name) || self.is_open() => name.clone(),
                _ => {
                    self.unknown_field(&path, name);
                    continue;
                }
            };
            self.set_secret(&field, name, secret.target(), &path);
        }
    }

    fn settings(&mut self) {
        for (path, key, value) in self.provider.settings() {
            self.setting(key, value, &path);
        }
    }

    fn setting(&mut self, key: &str, value: &Value, path: &FieldPath) {
        if let Some((_, by)) = self.structured.iter().find(|(field, _)| field == key) {
            let message = format!("is overridden by {by}");
            return self.draft.findings.warning(
                path,
                Reason::Ignored,
                message,
                "remove one of the two",
            );
        }
        if let Some(known) = self.resolved.known
            && !known.knows(key)
            && !self.is_open()
        {
            let message = format!(
                "`{}` of {} does not know `{key}` and would silently drop it",
                self.resolved.name,
                self.draft.profile.name()
            );
            let remedy = did_you_mean(key, known.fields(), "remove it");
            self.draft.findings.warning(path, Reason::UnknownField, message, remedy);
        }
        self.config.set(key, Node::from_field(value, path));
    }

    /// The field for an endpoint or key: as the base's own entries of the type have it, else as
    /// the catalogue says, else the first usual name for a type that nobody knows.
    pub(super) fn field_for(
        &self,
        of: impl Fn(ProviderType) -> Option<&'static str>,
        usual: &[&'static str],
    ) -> Option<String> {
        let api = self.provider.api.as_str();
        let own = self.resolved.known.and_then(&of);
        let others = || self.draft.profile.releases.field_names(api, &self.resolved.name, &of);
        let names = || own.into_iter().chain(others()).chain(usual.iter().copied());
        let learnt = self
            .draft
            .providers(api)
            .iter()
            .filter(|entry| entry.get_str("provider_type") == Some(&self.resolved.name))
            .filter_map(|entry| entry.get("config"))
            .find_map(|config| names().find(|name| config.get(name).is_some()));
        let unknown = || usual.first().copied().filter(|_| self.resolved.known.is_none());
        learnt.or(own).or_else(unknown).map(str::to_owned)
    }

    fn set(&mut self, field: &str, value: &str, by: &FieldPath) {
        if let Some((_, earlier)) = self.structured.iter().find(|(name, _)| name == field) {
            let message = format!("sets `{field}`, which {earlier} sets too");
            return self.draft.findings.problem(
                by,
                Reason::Conflict,
                message,
                "keep one of the two",
            );
        }
        self.structured.push((field.to_owned(), by.clone()));
        self.config.set(field, Node::scalar(value, Origin::Field(by.clone())));
    }

    fn set_secret(&mut self, field: &str, name: &str, secret: &SecretKey, path: &FieldPath) {
        let parts = [self.provider.id.as_str(), name];
        let reference = self.draft.environment.bind(parts, secret, path, &mut self.draft.findings);
        self.set(field, &reference, path);
    }

    fn is_open(&self) -> bool {
        self.resolved.known.is_some_and(ProviderType::is_open)
    }
}

fn reads_variable(node: &Node) -> bool {
    matches!(&node.content, Content::Scalar(_))
        && node.as_str().is_some_and(|text| whole(text).is_some())
}
