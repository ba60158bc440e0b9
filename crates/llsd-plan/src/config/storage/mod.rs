//! `spec.storage`: the state of the server in SQLite, Redis or Postgres, in the layout of the release.
//! What the resource does not speak of stays as the base has it.

mod backend;
mod companion;
mod inline;
mod redis_endpoint;
mod section;

use llsd_api::v1alpha2::{KvStorageSpec, KvType, SqlStorageSpec, SqlType};

use super::draft::Draft;
use crate::config::wiring::{REDIS_SIDECAR_PORT, RedisSidecar};
use crate::problems::{FieldPath, Reason};
use crate::releases::StoreKind;
use backend::Target;
use redis_endpoint::RedisEndpoint;

pub(super) use companion::companion;
pub(super) use section::ensure_section;

pub(super) fn apply(draft: &mut Draft<'_>) {
    let Some(storage) = &draft.spec.storage else { return };
    let path = FieldPath::spec().key("storage");
    if let Some(kv) = &storage.kv {
        let path = path.key("kv");
        if let Some(target) = kv_target(draft, kv, &path) {
            set(draft, StoreKind::Kv, &target, &path);
        }
    }
    if let Some(sql) = &storage.sql {
        let path = path.key("sql");
        let target = sql_target(draft, sql);
        set(draft, StoreKind::Sql, &target, &path);
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
    let password = kv.password.as_ref().and_then(|password| password.understood());
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
    draft.database = Some(draft.profile.database_form());
    Target::Postgres
}

fn set(draft: &mut Draft<'_>, kind: StoreKind, target: &Target, path: &FieldPath) {
    if draft.profile.layout.has_storage_section {
        section::set(draft, kind, target, path);
    } else {
        inline::set(draft, kind, target, path);
    }
}
