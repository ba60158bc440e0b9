//! What a v1alpha2 resource mentions that must exist before its server can start, each with its
//! path. Pure, and satisfied with any shape.

use llsd_api::v1alpha2::PROVIDER_APIS;
use llsd_plan::problem::FieldPath;
use serde_json::Value;

/// What kind of object is mentioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ObjectKind {
    Secret,
    ConfigMap,
    ServiceAccount,
}

/// One mention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mention {
    pub(super) path: FieldPath,
    pub(super) kind: ObjectKind,
    /// Where it is not the resource's own.
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) key: Option<String>,
}

pub(super) fn by(resource: &Value) -> Vec<Mention> {
    let mut mentions = Mentions::default();
    let (spec, path) = (&resource["spec"], FieldPath::spec());
    mentions.providers(&spec["providers"], &path.key("providers"));
    let storage = path.key("storage");
    mentions.secret(&spec["storage"]["kv"]["password"], &storage.key("kv").key("password"));
    let connection = storage.key("sql").key("connectionString");
    mentions.secret(&spec["storage"]["sql"]["connectionString"], &connection);
    mentions.tls(&spec["networking"]["tls"], &path.key("networking").key("tls"));
    let own = path.key("overrideConfig").key("configMapName");
    mentions.note(ObjectKind::ConfigMap, &spec["overrideConfig"]["configMapName"], None, &own);
    let overrides = path.key("workload").key("overrides");
    mentions.overrides(&spec["workload"]["overrides"], &overrides);
    mentions.0
}

#[derive(Default)]
struct Mentions(Vec<Mention>);

impl Mentions {
    fn providers(&mut self, providers: &Value, path: &FieldPath) {
        for api in PROVIDER_APIS {
            let path = path.key(api);
            match &providers[api] {
                Value::Array(entries) => {
                    for (index, entry) in entries.iter().enumerate() {
                        self.provider(entry, &path.index(index));
                    }
                }
                entry => self.provider(entry, &path),
            }
        }
    }

    fn provider(&mut self, entry: &Value, path: &FieldPath) {
        for field in ["apiKey", "host"] {
            self.secret(&entry[field], &path.key(field));
        }
        for (field, secret) in entry["secretRefs"].as_object().into_iter().flatten() {
            self.secret(secret, &path.key("secretRefs").key(field));
        }
    }

    fn tls(&mut self, tls: &Value, path: &FieldPath) {
        if tls["enabled"] == true {
            self.note(ObjectKind::Secret, &tls["secretName"], None, &path.key("secretName"));
        }
        let (bundle, path) = (&tls["caBundle"], path.key("caBundle").key("configMapName"));
        self.note(ObjectKind::ConfigMap, &bundle["configMapName"], None, &path);
        if let (Some(mention), Some(namespace)) = (
            self.0.last_mut().filter(|last| last.path == path),
            text(&bundle["configMapNamespace"]),
        ) {
            mention.namespace = Some(namespace.to_owned());
        }
    }

    fn overrides(&mut self, overrides: &Value, path: &FieldPath) {
        let account = path.key("serviceAccountName");
        self.note(ObjectKind::ServiceAccount, &overrides["serviceAccountName"], None, &account);
        for (index, secret) in items(&overrides["imagePullSecrets"]) {
            let path = path.key("imagePullSecrets").index(index).key("name");
            self.note(ObjectKind::Secret, &secret["name"], None, &path);
        }
        for (index, variable) in items(&overrides["env"]) {
            let path = path.key("env").index(index).key("valueFrom");
            for (field, kind) in
                [("secretKeyRef", ObjectKind::Secret), ("configMapKeyRef", ObjectKind::ConfigMap)]
            {
                let reference = &variable["valueFrom"][field];
                if reference["optional"] != true {
                    let path = path.key(field);
                    self.note(kind, &reference["name"], text(&reference["key"]), &path);
                }
            }
        }
        for (index, source) in items(&overrides["envFrom"]) {
            let path = path.key("envFrom").index(index);
            for (field, kind) in
                [("secretRef", ObjectKind::Secret), ("configMapRef", ObjectKind::ConfigMap)]
            {
                if source[field]["optional"] != true {
                    self.note(kind, &source[field]["name"], None, &path.key(field));
                }
            }
        }
    }

    /// Either spelling of a secret reference.
    fn secret(&mut self, reference: &Value, path: &FieldPath) {
        let inner = &reference["secretKeyRef"];
        let reference = if inner.is_object() { inner } else { reference };
        self.note(ObjectKind::Secret, &reference["name"], text(&reference["key"]), path);
    }

    fn note(&mut self, kind: ObjectKind, name: &Value, key: Option<&str>, path: &FieldPath) {
        let Some(name) = text(name) else { return };
        let (path, name) = (path.clone(), name.to_owned());
        let key = key.map(str::to_owned);
        self.0.push(Mention { path, kind, namespace: None, name, key });
    }
}

fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

fn items(value: &Value) -> impl Iterator<Item = (usize, &Value)> {
    value.as_array().into_iter().flatten().enumerate()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_place_that_can_name_something_is_found() {
        let found = by(&json!({"spec": {
            "providers": {
                "inference": [
                    {"id": "a", "provider": "vllm", "apiKey": {"name": "one", "key": "k"}},
                    {"id": "b", "provider": "vllm",
                     "secretRefs": {"token": {"secretKeyRef": {"name": "two", "key": "k"}}}},
                ],
                "vectorIo": {"provider": "pgvector", "host": {"name": "three", "key": "host"}},
                "safety": {"provider": "llama-guard", "host": "plain.example.com"},
            },
            "storage": {"kv": {"password": {"name": "four", "key": "p"}},
                        "sql": {"connectionString": {"name": "five", "key": "url"}}},
            "networking": {"tls": {"enabled": true, "secretName": "six",
                "caBundle": {"configMapName": "roots", "configMapNamespace": "elsewhere"}}},
            "overrideConfig": {"configMapName": "mine"},
            "workload": {"overrides": {
                "imagePullSecrets": [{"name": "pull"}], "serviceAccountName": "robot",
                "env": [
                    {"name": "A", "valueFrom": {"secretKeyRef": {"name": "seven", "key": "k"}}},
                    {"name": "B", "valueFrom": {"configMapKeyRef":
                        {"name": "perhaps", "key": "k", "optional": true}}},
                ],
                "envFrom": [{"configMapRef": {"name": "many"}}],
            }},
        }}));
        let listed: Vec<String> = found
            .iter()
            .map(|Mention { path, kind, namespace, name, key }| {
                let place = namespace.as_deref().map(|n| format!("{n}/")).unwrap_or_default();
                let key = key.as_deref().map(|key| format!("[{key}]")).unwrap_or_default();
                format!("{kind:?} {place}{name}{key} at {path}")
            })
            .collect();
        assert_eq!(
            listed,
            [
                "Secret one[k] at spec.providers.inference[0].apiKey",
                "Secret two[k] at spec.providers.inference[1].secretRefs.token",
                "Secret three[host] at spec.providers.vectorIo.host",
                "Secret four[p] at spec.storage.kv.password",
                "Secret five[url] at spec.storage.sql.connectionString",
                "Secret six at spec.networking.tls.secretName",
                "ConfigMap elsewhere/roots at spec.networking.tls.caBundle.configMapName",
                "ConfigMap mine at spec.overrideConfig.configMapName",
                "ServiceAccount robot at spec.workload.overrides.serviceAccountName",
                "Secret pull at spec.workload.overrides.imagePullSecrets[0].name",
                "Secret seven[k] at spec.workload.overrides.env[0].valueFrom.secretKeyRef",
                "ConfigMap many at spec.workload.overrides.envFrom[0].configMapRef",
            ]
        );
    }
}
