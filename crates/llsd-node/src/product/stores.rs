//! Redis and Postgres in pods, for servers that keep their state outside of their own. Both ask for a password.

use serde_json::json;

use super::on_node::Product;
use super::one_pod::OnePod;
use super::store_image::push_stores;

/// Has characters that mean something in an address.
pub const STORE_PASSWORD: &str = "p@ss:w/rd 1";
/// The same as an address has it.
const ENCODED: &str = "p%40ss%3aw%2frd%201";
const POSTGRES_USER: &str = "llama";
/// A database that is there from the start.
const DATABASE: &str = "stack";

/// Its folder is the volume's, and so is its socket: the image's own belong to root.
const START_POSTGRES: &str = r#"set -e
printf %s "$PASSWORD" >/data/password
initdb --no-sync --encoding=UTF8 --locale=C --auth=scram-sha-256 --username="$ROLE" --pwfile=/data/password --pgdata=/data/db
echo 'host all all all scram-sha-256' >>/data/db/pg_hba.conf
echo "CREATE DATABASE $DATABASE" | postgres --single -D /data/db postgres
exec postgres -D /data/db -c listen_addresses='*' -c fsync=off -c unix_socket_directories=/data
"#;

impl Product {
    /// Has `redis:6379` and `postgres:5432` answer in a namespace.
    pub async fn start_stores(&self, namespace: &str) -> anyhow::Result<()> {
        let image = push_stores(&self.node).await?;
        let redis = OnePod {
            name: "redis",
            port: 6379,
            container: json!({
                "image": image,
                "command": ["redis-server", "--save", "", "--requirepass", STORE_PASSWORD],
            }),
            volumes: json!([]),
        };
        let variable = |name: &str, value: &str| json!({"name": name, "value": value});
        let postgres = OnePod {
            name: "postgres",
            port: 5432,
            container: json!({
                "image": image,
                "command": ["sh", "-c", START_POSTGRES],
                "env": [
                    variable("PASSWORD", STORE_PASSWORD),
                    variable("ROLE", POSTGRES_USER),
                    variable("DATABASE", DATABASE),
                ],
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            }),
            volumes: json!([{"name": "data", "emptyDir": {}}]),
        };
        self.start_pod(namespace, redis, &[]).await?;
        self.start_pod(namespace, postgres, &[]).await
    }

    /// The Secrets by which the samples name the stores of a namespace.
    pub async fn name_stores(&self, namespace: &str, stores: &str) -> anyhow::Result<()> {
        let url =
            format!("postgresql://{POSTGRES_USER}:{ENCODED}@postgres.{stores}.svc:5432/{DATABASE}");
        let secret = |name: &str, key: &str, value: &str| {
            json!({
                "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
                "stringData": {key: value},
            })
        };
        let secrets = json!({"apiVersion": "v1", "kind": "List", "items": [
            secret("redis-secret", "password", STORE_PASSWORD),
            secret("postgres-secret", "dsn", &url),
            secret("pg-creds", "url", &url),
        ]});
        self.apply(namespace, &secrets.to_string()).await
    }

    /// What the Postgres of a namespace answers to a statement, a line for each row.
    pub async fn sql(&self, namespace: &str, statement: &str) -> anyhow::Result<String> {
        let run = r#"PGPASSWORD=$PASSWORD exec psql -h /data -U "$ROLE" -At -c "$0" "$DATABASE""#;
        let psql = ["exec", "-n", namespace, "deploy/postgres", "--", "sh", "-c", run, statement];
        self.kubectl(&psql).await
    }

    /// The keys that the Redis of a namespace holds, a line each.
    pub async fn redis_keys(&self, namespace: &str) -> anyhow::Result<String> {
        let cli = ["redis-cli", "--no-auth-warning", "-a", STORE_PASSWORD, "KEYS", "*"];
        let keys = [&["exec", "-n", namespace, "deploy/redis", "--"], &cli[..]].concat();
        self.kubectl(&keys).await
    }
}
