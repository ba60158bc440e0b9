//! `llsd top` on a real cluster: plain lines for pipes, and a live page in a real terminal, driven by keys.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

use llsd_testbed::access::eventually;
use llsd_testbed::operator::executable;
use llsd_testbed::test_operator::TestOperator;
use llsd_testkit::Prometheus;
use serde_json::{Value, json};

fn mistake() -> Value {
    json!({
        "distribution": {"name": "starter"},
        "resources": {"models": [{"name": "m", "provider": "nobody"}]},
    })
}

/// A real Prometheus that knows of `rate` requests in a second to a Service, as it does of a server's own
/// figures.
async fn counting(namespace: &str, service: &str, rate: u32) -> Option<Prometheus> {
    let labels = json!({"namespace": namespace, "service": service});
    let rule = json!({"record": "ogx_requests_total", "expr": format!("vector({rate}) * time()"), "labels": labels});
    let groups = json!([{"name": "requests", "rules": [rule]}]);
    Prometheus::start_or_skip(namespace, &[], &groups).await
}

/// The page as lines: what moves the cursor begins one, what colours is left out. Each ends with a letter.
fn plain(page: &str) -> String {
    let mut parts = page.split("\u{1b}[");
    let mut lines = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut rest = part.trim_start_matches(|c: char| !c.is_ascii_alphabetic()).chars();
        lines.extend(rest.next().filter(|code| *code == 'H').map(|_| '\n'));
        lines.extend(rest);
    }
    lines
}

/// What the column of requests says of a server; nothing where nobody counts them.
fn requests(page: &str, name: &str) -> Option<f64> {
    let page = &plain(page);
    let titles = page.lines().find(|line| line.contains("REQUESTS/S"))?;
    let at = titles[..titles.find("REQUESTS/S")?].chars().count();
    let line = page.lines().find(|line| line.contains(name))?;
    line.chars().skip(at).take_while(|c| *c != ' ').collect::<String>().parse().ok()
}

fn printed(kubeconfig: &Path, arguments: &[&str]) -> String {
    let done = Command::new(executable())
        .arg("top")
        .args(arguments)
        .env("KUBECONFIG", kubeconfig)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// A program in a terminal of 100 columns and 20 lines, which `script` makes.
struct Terminal {
    script: Child,
    keys: ChildStdin,
    shown: Arc<Mutex<String>>,
}

impl Terminal {
    fn run(kubeconfig: &Path, command: &str) -> Self {
        let command = format!("stty cols 100 rows 20; {command}; echo ended=$?");
        let mut script = Command::new("script")
            .args(["--quiet", "--flush", "--command", &command, "/dev/null"])
            .env("KUBECONFIG", kubeconfig)
            .env("TERM", "xterm")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (keys, mut output) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
        let shown = Arc::<Mutex<String>>::default();
        let page = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = output.read(&mut bytes) {
                page.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..read]));
            }
        });
        Self { script, keys, shown }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    fn all(&self) -> String {
        self.shown.lock().unwrap().clone()
    }

    /// The last page that was drawn whole: each begins at the top left corner.
    fn page(&self) -> String {
        let all = self.all();
        let pages: Vec<&str> = all.split("\u{1b}[1;1H").collect();
        pages.iter().rev().nth(1).map(|page| (*page).to_owned()).unwrap_or_default()
    }

    async fn shows(&self, what: &str, holds: impl Fn(&str) -> bool) {
        eventually(what, async || holds(&self.page())).await;
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

#[tokio::test]
async fn all_servers_are_shown_live_in_a_terminal_and_plainly_elsewhere() {
    let Some(operator) = TestOperator::start(&[]).await else { return };
    let kubeconfig = operator.cluster.kubeconfig_for("admin", &[llsd_testkit::MASTERS]);
    let namespace = operator.namespace("top").await;
    namespace.distribution("granite", json!({"distribution": {"name": "starter"}})).await;
    namespace.distribution("mistral", mistake()).await;
    namespace.until_ready("granite").await;
    let failed = |found: &Value| found["status"]["phase"] == "Failed";
    namespace.until("LlamaStackDistribution", "mistral", "has failed", failed).await;

    let plain = printed(&kubeconfig, &["-A", "--sort", "problem"]);
    let lines: Vec<&str> = plain.lines().collect();
    assert!(lines[0].starts_with("NAMESPACE") && lines.len() == 3, "{plain}");
    assert!(lines[1].contains("mistral") && lines[1].contains("Failed"), "{plain}");
    assert!(lines[1].contains("spec.resources.models[0].provider"), "{plain}");
    assert!(lines[2].contains("granite") && lines[2].contains("complete"), "{plain}");
    assert!(!plain.contains('\u{1b}'), "{plain}");
    let json = printed(&kubeconfig, &["-n", &namespace.name, "--filter", "granite", "-o", "json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((json.as_array().unwrap().len(), &json[0]["phase"]), (1, &json!("Ready")));

    let prometheus = counting(&namespace.name, "granite-service", 3).await;
    if let Some(prometheus) = &prometheus {
        let address = prometheus.url();
        eventually("its requests", async || {
            let plain = printed(&kubeconfig, &["-A", "--prometheus", &address]);
            requests(&plain, "granite").is_some_and(|rate| rate > 0.0)
                && requests(&plain, "mistral").is_none()
        })
        .await;
    }
    let flag = prometheus.as_ref().map(|it| format!(" --prometheus {}", it.url()));
    let command = format!("{} top -A{}", executable().display(), flag.unwrap_or_default());
    let mut terminal = Terminal::run(&kubeconfig, &command);
    if prometheus.is_some() {
        terminal
            .shows("requests", |page| requests(page, "granite").is_some_and(|rate| rate > 0.0))
            .await;
    }
    terminal.shows("both", |page| page.contains("granite") && page.contains("mistral")).await;
    // What happens is shown without a key.
    namespace.distribution("llama", json!({"distribution": {"name": "starter"}})).await;
    terminal.shows("the third", |page| page.contains("llama") && page.contains("3 servers")).await;
    namespace.delete("LlamaStackDistribution", "llama").await;
    terminal.shows("that it is gone", |page| page.contains("2 servers")).await;
    terminal.press("s");
    terminal.shows("what it is sorted by", |page| page.contains("NAME▲")).await;
    terminal.press("/mist");
    let only = |page: &str| page.contains("1 shown") && page.contains("mistral");
    terminal
        .shows("the one that is looked for", |page| only(page) && !page.contains("granite"))
        .await;
    terminal.shows("what is wrong with it", |page| page.contains("nobody")).await;
    terminal.press("\u{3}");
    eventually("it ends", async || terminal.all().contains("ended=0")).await;
    assert!(terminal.all().contains("\u{1b}[?1049l"), "and gives the terminal back");
}
