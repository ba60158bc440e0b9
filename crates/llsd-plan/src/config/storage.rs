//! `spec.storage`: the state of the server in SQLite, Redis or Postgres, in the layout of the era.
//! What the resource does not speak of stays as the base has it.

use llsd_api::v1alpha2::{KvStorageSpec, KvType, SqlStorageSpec, SqlType};
use serde_json::{Value, json};

use super::draft::Draft;
use super::redis_endpoint::RedisEndpoint;
use super::storage_inline;
use crate::connection::Form;
use crate::document::{Node, Origin};
use crate::problem::{FieldPath, Reason};
use crate::releases::{Era, StoreKind};
use crate::wiring::{REDIS_SIDECAR_PORT, RedisSidecar};

/// The two kinds of state that the server keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Kv,
    Sql,
}

impl Kind {
    /// How backends of this kind are called in the layouts with a storage section.
    fn prefix(self) -> &'static str {
        match self {
            Self::Kv => "kv_",
            Self::Sql => "sql_",
        }
    }

    pub(super) fn default_backend(self) -> &'static str {
        match self {
            Self::Kv => "kv_default",
            Self::Sql => "sql_default",
        }
    }
}

/// What a kind of state is to be kept in.
#[derive(Clone, Debug)]
pub(super) enum Target {
    Sqlite,
    Redis { host: String, port: u16 },
    Postgres,
}

pub(super) fn apply(draft: &mut Draft<'_>) {
    let Some(storage) = &draft.spec.storage else { return };
    let path = FieldPath::spec().key("storage");
    if let Some(kv) = &storage.kv {
        let path = path.key("kv");
        if let Some(target) = kv_target(draft, kv, &path) {
            set(draft, Kind::Kv, &target, &path);
        }
    }
    if let Some(sql) = &storage.sql {
        let path = path.key("sql");
        let target = sql_target(draft, sql);
        set(draft, Kind::Sql, &target, &path);
    }
}

fn kv_target(draft: &mut Draft<'_>, kv: &KvStorageSpec, path: &FieldPath) -> Option<Target> {
    if kv.kind.unwrap_or_default() == KvType::Sqlite {
        return Some(Target::Sqlite);
    }
    let endpoint_path = path.key("endpoint");
    // Credentials in it are validation's to report.
    let written = kv.endpoint.as_deref().filter(|written| !written.contains('@'))?;
    let endpoint = match RedisEndpoint::parse(written) {
        Ok(endpoint) => endpoint,
        Err(wrong) => {
            draft.findings.problem(
                &endpoint_path,
                Reason::Invalid,
                wrong,
                "write redis://HOST:PORT, or rediss://HOST:PORT for TLS",
            );
            return None;
        }
    };
    let password = kv.password.as_ref().and_then(|password| password.read());
    // The server's Redis knows neither passwords nor TLS nor databases; the sidecar does.
    if password.is_some() || endpoint.tls || endpoint.database != 0 {
        draft.redis = Some(RedisSidecar {
            target: endpoint.url(),
            password: password.map(|password| password.target().clone()),
        });
        return Some(Target::Redis { host: "127.0.0.1".to_owned(), port: REDIS_SIDECAR_PORT });
    }
    Some(Target::Redis { host: endpoint.host, port: endpoint.port })
}

fn sql_target(draft: &mut Draft<'_>, sql: &SqlStorageSpec) -> Target {
    if sql.kind.unwrap_or_default() == SqlType::Sqlite {
        return Target::Sqlite;
    }
    draft.database = Some(draft.era.database_form());
    Target::Postgres
}

fn set(draft: &mut Draft<'_>, kind: Kind, target: &Target, path: &FieldPath) {
    if !draft.era.layout.has_storage_section {
        return storage_inline::set(draft, kind, target, path);
    }
    ensure_section(draft);
    let distro = distro_name(&draft.document);
    let era = draft.era;
    let rule = Origin::Rule("storage needs a backend");
    let backends = draft.document.entry_map("storage", &rule).entry_map("backends", &rule);
    let mut names: Vec<String> = backends
        .fields()
        .iter()
        .filter(|(_, backend)| {
            backend.get_str("type").is_some_and(|name| name.starts_with(kind.prefix()))
        })
        .map(|(name, _)| name.clone())
        .collect();
    if names.is_empty() {
        names.push(kind.default_backend().to_owned());
    }
    for name in names {
        let fits = matches!(target, Target::Sqlite)
            && backends.get(&name).and_then(|backend| backend.get_str("type"))
                == Some(&format!("{}sqlite", kind.prefix()));
        if !fits {
            let mut backend = connection(kind, target, &era, &distro, &name);
            backend["type"] = format!("{}{}", kind.prefix(), target.name()).into();
            let backend = Node::from_value(backend, &Origin::Field(path.clone()));
            backends.set(&name, backend);
        }
    }
}

impl Target {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Redis { .. } => "redis",
            Self::Postgres => "postgres",
        }
    }
}

/// The fields of a backend; `type` comes first and is the caller's to set.
pub(super) fn connection(
    kind: Kind,
    target: &Target,
    era: &Era,
    distro: &str,
    name: &str,
) -> Value {
    match target {
        Target::Sqlite => {
            let file = match (kind, name) {
                (Kind::Kv, "kv_default") => "kvstore",
                (Kind::Sql, "sql_default") => "sql_store",
                _ => name,
            };
            let directory = with_default(era, "SQLITE_STORE_DIR", &state_directory(era, distro));
            json!({"type": null, "db_path": format!("{directory}/{file}.db")})
        }
        Target::Redis { host, port } => json!({"type": null, "host": host, "port": port}),
        Target::Postgres if era.database_form() == Form::Whole => {
            json!({"type": null, "connection_string": "${env.LLSD_STORAGE_SQL_URL}"})
        }
        Target::Postgres => {
            let part = |part: &str| format!("${{env.LLSD_STORAGE_SQL_{part}}}");
            json!({
                "type": null,
                "host": part("HOST"),
                "port": part("PORT"),
                "db": part("DB"),
                "user": part("USER"),
                "password": with_default(era, "LLSD_STORAGE_SQL_PASSWORD", ""),
            })
        }
    }
}

/// The section as the server itself would default it, where the base leaves it out.
fn ensure_section(draft: &mut Draft<'_>) {
    let era = draft.era;
    let rule = Origin::Rule("the server's own default, written out");
    let storage = draft.document.entry_map("storage", &rule);
    if storage.get("backends").is_none_or(|backends| backends.fields().is_empty()) {
        let mut backends = serde_json::Map::new();
        for kind in [Kind::Kv, Kind::Sql] {
            let name = kind.default_backend();
            // Its own files lie beside the distributions' folders, not in one of them.
            let mut backend = connection(kind, &Target::Sqlite, &era, "", name);
            backend["type"] = format!("{}sqlite", kind.prefix()).into();
            backends.insert(name.to_owned(), backend);
        }
        storage.set("backends", Node::from_value(backends.into(), &rule));
    }
    if storage.get("stores").is_none_or(|stores| stores.fields().is_empty()) {
        let mut stores = json!({
            "metadata": {"namespace": "registry", "backend": "kv_default"},
            "inference": {"table_name": "inference_store", "backend": "sql_default"},
            "conversations": {"table_name": "openai_conversations", "backend": "sql_default"},
            "responses": {"table_name": "responses", "backend": "sql_default"},
        });
        for store in ["prompts", "connectors"] {
            match era.layout.store(store) {
                Some(StoreKind::Kv) => {
                    stores[store] = json!({"namespace": store, "backend": "kv_default"});
                }
                Some(StoreKind::Sql) => {
                    stores[store] = json!({"table_name": store, "backend": "sql_default"});
                }
                None => {}
            }
        }
        storage.set("stores", Node::from_value(stores, &rule));
    }
}

/// A value of the catalogue with the base's own names: its state directory, and a backend that it
/// has where it has no `kv_default` or `sql_default`. A provider that is not the only one of its
/// type has a place of its own, which `own` names.
pub(super) fn companion(draft: &Draft<'_>, value: &Value, own: Option<&str>) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(key, value)| {
                    let value = match (key.as_str(), value.as_str(), own) {
                        ("backend", Some(name), _) => backend_name(&draft.document, name).into(),
                        ("namespace", Some(name), Some(own)) => format!("{name}::{own}").into(),
                        ("table_name", Some(name), Some(own)) => {
                            let own = own.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
                            format!("{name}_{own}").into()
                        }
                        _ => companion(draft, value, own),
                    };
                    (key.clone(), value)
                })
                .collect(),
        ),
        Value::String(text) => {
            let state = state_directory(&draft.era, &distro_name(&draft.document));
            let text = text.replace(":=", &draft.era.layout.default_sign).replace("STATE", &state);
            match (text.strip_suffix(".db"), own) {
                (Some(file), Some(own)) => format!("{file}-{own}.db").into(),
                _ => text.into(),
            }
        }
        other => other.clone(),
    }
}

fn backend_name(document: &Node, wanted: &str) -> String {
    let backends = document.at(&["storage", "backends"]).map(Node::fields).unwrap_or_default();
    let kind = if wanted.starts_with("kv_") { Kind::Kv } else { Kind::Sql };
    let fits = |backend: &Node| {
        backend.get_str("type").is_some_and(|name| name.starts_with(kind.prefix()))
    };
    match backends.iter().find(|(name, _)| name == wanted) {
        Some(_) => wanted.to_owned(),
        None => backends
            .iter()
            .find(|(_, backend)| fits(backend))
            .map_or_else(|| wanted.to_owned(), |(name, _)| name.clone()),
    }
}

/// The base's own name, under which the server keeps its files.
pub(super) fn distro_name(document: &Node) -> String {
    ["distro_name", "image_name"]
        .iter()
        .find_map(|key| document.get_str(key))
        .filter(|name| !name.is_empty() && !name.contains(['/', '$', ':']))
        .unwrap_or("llama-stack")
        .to_owned()
}

fn state_directory(era: &Era, distro: &str) -> String {
    format!("{}/distributions/{distro}", era.layout.state_folder).trim_end_matches('/').to_owned()
}

/// A reference to a variable with a default, in the grammar of the era.
fn with_default(era: &Era, variable: &str, value: &str) -> String {
    format!("${{env.{variable}{}{value}}}", era.layout.default_sign)
}
