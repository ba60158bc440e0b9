//! A provider of OpenID Connect that others wrote, `oidc-provider-mock` of the Python package index, on
//! loopback.

use std::{fs, path::PathBuf, process::Command};

use anyhow::Context;
use reqwest::{Client, redirect::Policy};
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    announce::announce,
    builder::free_ports,
    cache::Cache,
    process::{Component, Watchdog},
    python::{self, run},
    readiness, skip,
};

const NAME: &str = "oidc-provider-mock";
const VERSION: &str = "0.4.8";
/// What it depends on is no newer than this.
const NEWEST_UPLOAD: &str = "2026-11-16";
/// Where a browser would be sent back to. Nobody is.
const BACK: &str = "http://127.0.0.1/back";

/// A running provider on `127.0.0.1`.
#[derive(Debug)]
pub struct OidcProvider {
    component: Component,
    _watchdog: Watchdog,
    url: String,
    client: Client,
    // The last field: dropped when nothing writes there any more.
    _dir: TempDir,
}

impl OidcProvider {
    /// Starts it with users, each an object of claims with `sub`; `None`, said loudly, where it cannot be
    /// had.
    pub async fn start_or_skip(users: &[Value]) -> Option<Self> {
        skip::started_or_skipped(Self::start(users).await)
    }

    async fn start(users: &[Value]) -> anyhow::Result<Self> {
        let program = install().map_err(|error| {
            skip::Unobtainable(format!("{NAME} {VERSION} cannot be installed: {error:#}"))
        })?;
        let temporary = tempfile::Builder::new().prefix("llsd-oidc-").tempdir()?;
        let [port] = free_ports()?;
        let mut flags = vec!["--port".to_owned(), port.to_string()];
        for user in users {
            flags.extend(["--user-claims".to_owned(), user.to_string()]);
        }
        let watchdog = Watchdog::guard(temporary.path())?;
        let component = Component::spawn(NAME, &program, &flags, temporary.path(), &watchdog)?;
        crate::install_crypto_provider();
        let client = Client::builder().no_proxy().redirect(Policy::none()).build()?;
        let url = format!("http://127.0.0.1:{port}");
        let mut provider = Self { component, _watchdog: watchdog, url, client, _dir: temporary };
        let Self { component, url, client, .. } = &mut provider;
        let answers = async || -> anyhow::Result<()> {
            client.get(format!("{url}/jwks")).send().await?.error_for_status()?;
            Ok(())
        };
        readiness::wait(NAME, &mut [component], answers).await?;
        Ok(provider)
    }

    /// Its name in tokens.
    pub fn issuer(&self) -> &str {
        &self.url
    }

    /// A user logs in to `audience`, as a browser would: the token that says so.
    pub async fn id_token(&self, user: &str, audience: &str) -> anyhow::Result<String> {
        let query =
            format!("client_id={audience}&response_type=code&redirect_uri={BACK}&scope=openid");
        let form = "application/x-www-form-urlencoded";
        let consent = self.client.post(format!("{}/oauth2/authorize?{query}", self.url));
        let sent_back =
            consent.header("content-type", form).body(format!("sub={user}")).send().await?;
        let location = sent_back.headers().get("location").context("nobody was sent back")?;
        let (_, code) = location.to_str()?.split_once("code=").context("there is no code")?;
        let exchange = self.client.post(format!("{}/oauth2/token", self.url));
        let body = format!("grant_type=authorization_code&code={code}&redirect_uri={BACK}");
        let answer = exchange
            .basic_auth(audience, Some("any"))
            .header("content-type", form)
            .body(body)
            .send()
            .await?
            .error_for_status()?;
        let tokens: Value = serde_json::from_str(&answer.text().await?)?;
        let token = tokens["id_token"].as_str().context("there is no token")?;
        Ok(token.to_owned())
    }
}

/// The program, installed into the cache where it is not there yet.
fn install() -> anyhow::Result<PathBuf> {
    let cache = Cache::from_env()?;
    let home = cache.root().join("tools").join(NAME).join(VERSION);
    let program = home.join("bin").join(NAME);
    // Written last.
    let marker = home.join(".installed");
    if marker.is_file() {
        return Ok(program);
    }
    let lock = cache.lock("llama-stack/lock", NAME)?;
    if marker.is_file() {
        return Ok(program);
    }
    announce(NAME, &format!("installing {VERSION} in {}", home.display()));
    let python = python::find()?;
    let uv = python::uv(&cache, &lock, &python)?;
    run(Command::new(&uv)
        .args(["venv", "--quiet", "--clear", "--python"])
        .arg(&python)
        .arg(&home))?;
    run(Command::new(&uv)
        .args(["pip", "install", "--quiet", "--exclude-newer", NEWEST_UPLOAD, "--python"])
        .arg(home.join("bin/python"))
        .arg(format!("{NAME}=={VERSION}")))?;
    fs::write(&marker, VERSION)?;
    Ok(program)
}
