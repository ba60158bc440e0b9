//! A backend of the storage section, or a store written out: what it is kept in, and its fields.

use serde_json::{Value, json};

use crate::releases::{ServerProfile, StoreKind};
use crate::values::connection::Form;
use llsd_yaml::document::Node;

impl StoreKind {
    /// How backends of this kind are called in the layouts with a storage section.
    pub(super) fn prefix(self) -> &'static str {
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
    kind: StoreKind,
    target: &Target,
    profile: &ServerProfile,
    distro: &str,
    name: &str,
) -> Value {
    match target {
        Target::Sqlite => {
            let file = match (kind, name) {
                (StoreKind::Kv, "kv_default") => "kvstore",
                (StoreKind::Sql, "sql_default") => "sql_store",
                _ => name,
            };
            let directory =
                with_default(profile, "SQLITE_STORE_DIR", &state_directory(profile, distro));
            json!({"type": null, "db_path": format!("{directory}/{file}.db")})
        }
        Target::Redis { host, port } => json!({"type": null, "host": host, "port": port}),
        Target::Postgres if profile.database_form() == Form::Whole => {
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
                "password": with_default(profile, "LLSD_STORAGE_SQL_PASSWORD", ""),
            })
        }
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

pub(super) fn state_directory(profile: &ServerProfile, distro: &str) -> String {
    format!("{}/distributions/{distro}", profile.layout.state_folder)
        .trim_end_matches('/')
        .to_owned()
}

/// A reference to a variable with a default, in the grammar of the release.
fn with_default(profile: &ServerProfile, variable: &str, value: &str) -> String {
    format!("${{env.{variable}{}{value}}}", profile.layout.default_sign)
}
