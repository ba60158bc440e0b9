//! Requests that servers answer, as a Prometheus has counted them: nobody else keeps a rate.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::{Client, Url};
use serde_json::Value;

/// By namespace and Service, which is what the Prometheus Operator labels figures of servers with.
const QUERY: &str = "sum by (namespace, service) (rate(ogx_requests_total[5m]))";
const PATIENCE: Duration = Duration::from_secs(5);
/// How much of an answer is read: enough for tens of thousands of servers.
const LIMIT: usize = 16 << 20;

/// Requests in a second, by namespace and Service.
pub(super) type Rates = BTreeMap<(String, String), f64>;

#[derive(Clone, Debug)]
pub(super) struct Prometheus {
    client: Client,
    query: Url,
}

impl Prometheus {
    pub(super) fn at(address: &str) -> Result<Self, String> {
        let wrong = |why: &str| {
            format!(
                "--prometheus: {why}; give the address of its pages, such as http://localhost:9090"
            )
        };
        let mut query = Url::parse(address).map_err(|error| wrong(&error.to_string()))?;
        if !matches!(query.scheme(), "http" | "https") {
            return Err(wrong("it is no address of http or https"));
        }
        let path = format!("{}/api/v1/query", query.path().trim_end_matches('/'));
        query.set_path(&path);
        query.query_pairs_mut().clear().append_pair("query", QUERY);
        let client =
            Client::builder().timeout(PATIENCE).build().map_err(|error| error.to_string())?;
        Ok(Self { client, query })
    }

    pub(super) async fn rates(&self) -> Result<Rates, String> {
        self.asked().await.map_err(|why| format!("Prometheus does not say requests: {why}"))
    }

    async fn asked(&self) -> Result<Rates, String> {
        // An address may carry a password.
        let plain = |error: reqwest::Error| error.without_url().to_string();
        let mut answer = self.client.get(self.query.clone()).send().await.map_err(plain)?;
        let mut body = Vec::new();
        while let Some(more) = answer.chunk().await.map_err(plain)? {
            body.extend_from_slice(&more);
            if body.len() > LIMIT {
                return Err(format!("its answer has more than {} MiB", LIMIT >> 20));
            }
        }
        let status = answer.status();
        serde_json::from_slice(&body)
            .ok()
            .and_then(|answer| rates(&answer))
            .ok_or_else(|| format!("it answers {status} and no figures"))
    }
}

/// The figures of an answer; nothing where it is none of Prometheus'.
fn rates(answer: &Value) -> Option<Rates> {
    let found = answer["data"]["result"].as_array()?;
    let rate = |one: &Value| {
        let label = |name: &str| one["metric"][name].as_str().map(str::to_owned);
        let value = one["value"][1].as_str()?.parse().ok()?;
        Some(((label("namespace")?, label("service")?), value))
    };
    Some(found.iter().filter_map(rate).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_address_is_that_of_the_pages() {
        for address in
            ["http://localhost:9090", "http://localhost:9090/", "http://u:p@h/prometheus/"]
        {
            let asked = Prometheus::at(address).unwrap().query;
            assert!(
                asked.path().ends_with("/api/v1/query") && !asked.path().contains("//"),
                "{asked}"
            );
        }
        for wrong in ["localhost:9090", "ftp://h", "9090"] {
            let refused = Prometheus::at(wrong).unwrap_err();
            assert!(refused.contains("such as http://localhost:9090"), "{refused}");
        }
    }

    #[test]
    fn series_without_a_service_and_answers_of_others_are_left_out() {
        let of = |namespace: &str, service: Value| json!({"metric": {"namespace": namespace, "service": service}, "value": [1, "2.5"]});
        let answer = json!({"data": {"result": [of("team", json!("llama-service")), of("team", Value::Null)]}});
        let found = rates(&answer).unwrap();
        assert_eq!(found, Rates::from([(("team".into(), "llama-service".into()), 2.5)]));
        assert_eq!(rates(&json!({"status": "error"})), None);
    }
}
