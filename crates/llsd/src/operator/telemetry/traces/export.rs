//! Sends spans to a collector, many at once. A collector that is away costs spans and nothing else.

use std::str::FromStr;
use std::time::Duration;

use reqwest::{Client, Url};
use thiserror::Error;
use tokio::sync::mpsc::Receiver;
use tokio::time::{sleep, timeout};

use super::otlp;
use super::span::EndedSpan;

/// How many are sent at once, and how long the first of them waits.
const AT_ONCE: usize = 512;
const PAUSE: Duration = Duration::from_secs(2);
/// How long a collector may take for one answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where a collector takes traces: the base address, as `OTEL_EXPORTER_OTLP_ENDPOINT` has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint(Url);

#[derive(Debug, Error)]
#[error(
    "`{0}` is not http://HOST:PORT or https://HOST:PORT of a collector that takes OTLP over HTTP"
)]
pub struct NoEndpoint(String);

impl FromStr for Endpoint {
    type Err = NoEndpoint;

    fn from_str(text: &str) -> Result<Self, NoEndpoint> {
        let wrong = || NoEndpoint(text.to_owned());
        let base = Url::parse(&format!("{}/v1/traces", text.trim_end_matches('/')));
        let url = base.map_err(|_| wrong())?;
        let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
        let has_host = rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'));
        if has_host && url.query().is_none() { Ok(Self(url)) } else { Err(wrong()) }
    }
}

/// Sends what has ended.
#[derive(Debug)]
pub struct Exporter {
    endpoint: Endpoint,
    instance: String,
    ended: Receiver<EndedSpan>,
    last_failure: Option<String>,
}

impl Exporter {
    pub(super) fn new(endpoint: Endpoint, instance: &str, ended: Receiver<EndedSpan>) -> Self {
        Self { endpoint, instance: instance.to_owned(), ended, last_failure: None }
    }

    /// Goes on as long as it is polled.
    pub async fn run(mut self) {
        let client = match Client::builder().timeout(PATIENCE).build() {
            Ok(client) => client,
            Err(error) => return tracing::error!(%error, "no traces are sent"),
        };
        let mut spans = Vec::new();
        while self.ended.recv_many(&mut spans, AT_ONCE).await > 0 {
            // More are on their way when one is there.
            let more = async {
                while spans.len() < AT_ONCE {
                    let room = AT_ONCE - spans.len();
                    if self.ended.recv_many(&mut spans, room).await == 0 {
                        sleep(PAUSE).await;
                    }
                }
            };
            let _ = timeout(PAUSE, more).await;
            let sent = self.send(&client, &spans).await;
            self.tell(sent);
            spans.clear();
        }
    }

    async fn send(&self, client: &Client, spans: &[EndedSpan]) -> Result<(), String> {
        let body = otlp::request(&self.instance, spans).to_string();
        let request =
            client.post(self.endpoint.0.clone()).header("content-type", "application/json");
        let answer = request.body(body).send().await.map_err(failure)?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            status => Err(format!("the collector answers {status}")),
        }
    }

    /// A collector that fails is told of once, and so is its return.
    fn tell(&mut self, sent: Result<(), String>) {
        let failure = sent.err();
        if failure == self.last_failure {
            return;
        }
        if let Some(why) = &failure {
            tracing::warn!(why, "traces are not taken by the collector");
        } else {
            tracing::info!("traces are taken by the collector again");
        }
        self.last_failure = failure;
    }
}

/// Without the address, in which somebody may have written a password.
fn failure(error: reqwest::Error) -> String {
    error.without_url().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_the_base_that_others_know_too() {
        for text in ["http://collector:4318", "http://collector:4318/", "https://c/otlp"] {
            let Endpoint(url) = text.parse().unwrap();
            assert_eq!(url.path().trim_start_matches("/otlp"), "/v1/traces", "{text}");
        }
        for text in ["", "collector:4318", "grpc://collector:4317", "http://", "http://a?b=c"] {
            assert!(text.parse::<Endpoint>().is_err(), "{text}");
        }
    }
}
