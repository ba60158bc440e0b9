//! What a lookup costs against a registry on loopback: time and requests, cold and cached, and beside
//! it `crane config` of the same image, a process of its own each time.
//! `cargo run --profile bench -p llsd-registry --example lookups [ROUNDS]`

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use base64::{Engine, prelude::BASE64_STANDARD};
use llsd_registry::{Config, Credential, Reference, Registry, mirrors::HostPattern};
use llsd_testkit::{RegistryServer, TestImage, TestLayer, User};

/// About as long as the starter's configuration.
const CONFIGURATION: usize = 11_000;

#[tokio::main]
async fn main() {
    let rounds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(50);
    let user = User::new("someone", "word", &["private/"]);
    let users = std::slice::from_ref(&user);
    let credential =
        Credential::Basic { username: user.name.clone(), password: user.password.clone() };
    println!("{:<26} {:>10} {:>10} {:>10} {:>9}", "lookup", "median", "p95", "most", "requests");
    let open = RegistryServer::builder().start().await.expect("a registry");
    measure("open", &open, &[], rounds).await;
    match crane() {
        Ok(program) => measure_crane(&program, &open, rounds),
        Err(why) => println!("crane cannot be had: {why}"),
    }
    let tokens = RegistryServer::builder().with_tokens(users).start().await.expect("a registry");
    measure("with tokens", &tokens, &[credential], rounds).await;
}

async fn measure(kind: &str, server: &RegistryServer, credentials: &[Credential], rounds: usize) {
    let text = "x: 1234\n".repeat(CONFIGURATION / 8);
    let labelled =
        TestImage::new().label("io.llamastack.config.base64", BASE64_STANDARD.encode(&text));
    let layer = TestLayer::files(&[("app/config.yaml", text.as_bytes())]).gzip();
    let layered = TestImage::new()
        .label("io.llamastack.config.layer", layer.digest())
        .label("io.llamastack.config.path", "/app/config.yaml")
        .layer(layer);
    let digest = server.push("private/a", "labels", &labelled).await.expect("pushed");
    server.push("private/a", "layer", &layered).await.expect("pushed");
    let reference = |end: &str| -> Reference {
        format!("{}/private/a{end}", server.host()).parse().expect("a reference")
    };
    let (labels, layer) = (reference(":labels"), reference(":layer"));
    let pinned = reference(&format!("@{digest}"));
    for (name, reference, warm) in [
        ("cold, labels", &labels, false),
        ("cold, layer", &layer, false),
        ("cached tag", &labels, true),
        ("cached, pinned", &pinned, true),
    ] {
        let registry = Registry::new(config(server));
        let mut times = Vec::new();
        let mut requests = 0;
        if warm {
            look_up(&registry, reference, credentials).await;
        }
        for _ in 0..rounds {
            let fresh;
            let asked = if warm {
                &registry
            } else {
                fresh = Registry::new(config(server));
                &fresh
            };
            let before = asked.requests_sent();
            let started = Instant::now();
            look_up(asked, reference, credentials).await;
            times.push(started.elapsed());
            requests = asked.requests_sent() - before;
        }
        report(&format!("{kind}: {name}"), times, requests);
    }
}

async fn look_up(registry: &Registry, reference: &Reference, credentials: &[Credential]) {
    let image = registry.find(reference, &credentials.to_vec()).await.expect("an image");
    assert!(matches!(image.base, Ok(Some(_))), "no configuration");
}

/// The tool that others use for this, through the Go module proxy and kept for the next time.
fn crane() -> Result<PathBuf, String> {
    const MODULE: &str = "github.com/google/go-containerregistry/cmd/crane@v0.22.1";
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let folder = cache.or_else(home).ok_or("there is no home")?.join("llsd/crane-0.22.1");
    let program = folder.join("crane");
    if !program.is_file() {
        eprintln!("building {MODULE}");
        let built = Command::new("go").args(["install", MODULE]).env("GOBIN", &folder).status();
        let built = built.map_err(|error| format!("go: {error}"))?;
        built.success().then_some(()).ok_or("go install failed")?;
    }
    Ok(program)
}

fn measure_crane(program: &Path, server: &RegistryServer, rounds: usize) {
    let image = format!("{}/private/a:labels", server.host());
    let asked = || server.requests().expect("the registry's log").len();
    let mut times = Vec::new();
    let mut requests = 0;
    for _ in 0..rounds {
        let before = asked();
        let started = Instant::now();
        let ran = Command::new(program).args(["config", "--insecure", &image]).output();
        assert!(ran.expect("crane runs").status.success(), "crane config failed");
        times.push(started.elapsed());
        requests = asked() - before;
    }
    report("open: crane config", times, requests as u64);
}

fn report(name: &str, mut times: Vec<Duration>, requests: u64) {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    let shown = |time: Duration| format!("{:.3} ms", time.as_secs_f64() * 1e3);
    let (median, p95, most) = (shown(at(50)), shown(at(95)), shown(at(100)));
    println!("{name:<26} {median:>10} {p95:>10} {most:>10} {requests:>9}");
}

fn config(server: &RegistryServer) -> Config {
    let mut config = Config::default();
    for host in [Some(server.host()), server.token_host()].into_iter().flatten() {
        let host = HostPattern::parse(host).expect("a host");
        config.registries.allow_plain_http(host.clone());
        config.registries.allow_private(host);
    }
    config
}
