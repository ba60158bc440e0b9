//! `llsd top`: all servers at a glance, live in a terminal, as plain lines elsewhere.

mod requests;
mod rows;
mod table;
mod terminal;
mod view;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::pin::pin;
use std::time::Duration;

use clap::Args;
use futures::{FutureExt, StreamExt};
use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::DynamicObject;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Printout;
use super::cluster::{self, Cluster, ClusterFlags};
use super::cluster_error::{ClusterError, words};
use super::format::OutputFormat;
use requests::{Prometheus, Rates};
use rows::Row;
use table::Column;
use terminal::Taken;
use view::View;

/// Ages grow although nothing changes.
const TICK: Duration = Duration::from_secs(1);
/// How often requests are asked for; Prometheus itself reads figures no more often by default.
const COUNTED: Duration = Duration::from_secs(15);

/// Show all servers: phase, pods, rollout and what is wrong
///
/// Live in a terminal, where keys sort and filter; once, as plain lines, elsewhere.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Of all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,

    #[command(flatten)]
    place: ClusterFlags,

    /// What to sort by
    #[arg(long, value_enum, default_value_t, value_name = "COLUMN")]
    sort: Column,

    /// The other way round
    #[arg(long)]
    reverse: bool,

    /// Only those with this text in any column
    #[arg(long, value_name = "TEXT", default_value = "")]
    filter: String,

    /// The Prometheus that reads the servers' figures: shows the requests of each
    #[arg(long, value_name = "URL")]
    prometheus: Option<String>,

    /// Print once, also in a terminal
    #[arg(long)]
    once: bool,

    /// How to print it
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: OutputFormat,
}

pub(super) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    let prometheus = arguments.prometheus.as_deref().map(Prometheus::at).transpose();
    let prometheus = prometheus.map_err(|wrong| Printout::usage(&wrong))?;
    let is_live = io::stdout().is_terminal() && io::stdin().is_terminal();
    if is_live && !arguments.once && arguments.output == OutputFormat::Text {
        let work = async |cluster| live(cluster, arguments, prometheus).await;
        cluster::run_speaking(&arguments.place, work)
    } else {
        let work = async |cluster| once(&cluster, arguments, prometheus).await;
        cluster::run(&arguments.place, work)
    }
}

async fn once(
    cluster: &Cluster,
    arguments: &Arguments,
    prometheus: Option<Prometheus>,
) -> Result<Printout, ClusterError> {
    let now = Timestamp::now();
    let rates = match &prometheus {
        Some(prometheus) => prometheus.rates().await?,
        None => Rates::new(),
    };
    let found = cluster.all(arguments.all_namespaces).await?;
    let rows: Vec<Row> =
        found.iter().map(|resource| Row::from_resource(resource, &rates, now)).collect();
    let rows = table::chosen(&rows, &arguments.filter, arguments.sort, arguments.reverse);
    let list = json!(rows.iter().map(Row::to_json).collect::<Vec<_>>());
    let columns = Column::shown(prometheus.is_some());
    let lines = || table::lines(&rows, &columns, None, usize::MAX).join("\n") + "\n";
    Ok(Printout::fine(arguments.output.print(&list, lines)))
}

/// What the watch has shown.
#[derive(Default)]
struct WatchedResources {
    resources: BTreeMap<(String, String), Value>,
    /// What a list that goes on has shown so far.
    listed: Option<BTreeMap<(String, String), Value>>,
    rates: Rates,
    trouble: String,
    /// Why requests may be old.
    uncounted: String,
}

impl WatchedResources {
    fn take(&mut self, event: Result<Event<DynamicObject>, watcher::Error>) {
        let key =
            |object: &DynamicObject| (object.namespace().unwrap_or_default(), object.name_any());
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                self.trouble = trouble(&error);
                return;
            }
        };
        self.trouble.clear();
        match event {
            Event::Init => self.listed = Some(BTreeMap::new()),
            Event::InitApply(object) => {
                self.listed.get_or_insert_default().insert(key(&object), cluster::json(object));
            }
            Event::InitDone => self.resources = self.listed.take().unwrap_or_default(),
            Event::Apply(object) => {
                self.resources.insert(key(&object), cluster::json(object));
            }
            Event::Delete(object) => drop(self.resources.remove(&key(&object))),
        }
    }

    fn count(&mut self, counted: Result<Rates, String>) {
        match counted {
            Ok(rates) => {
                self.rates = rates;
                self.uncounted.clear();
            }
            Err(why) => self.uncounted = why,
        }
    }

    fn trouble(&self) -> &str {
        if self.trouble.is_empty() { &self.uncounted } else { &self.trouble }
    }

    fn rows(&self) -> Vec<Row> {
        let now = Timestamp::now();
        self.resources
            .values()
            .map(|resource| Row::from_resource(resource, &self.rates, now))
            .collect()
    }
}

/// Why a watch shows nothing new.
fn trouble(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => words(error),
        watcher::Error::WatchError(status) => status.message.clone(),
        other @ watcher::Error::NoResourceVersion => other.to_string(),
    }
}

/// What Prometheus says, again and again; nothing ever where there is none.
fn counted(prometheus: Option<Prometheus>) -> mpsc::Receiver<Result<Rates, String>> {
    let (say, counted) = mpsc::channel(1);
    tokio::spawn(async move {
        let Some(prometheus) = prometheus else { return say.closed().await };
        while say.send(prometheus.rates().await).await.is_ok() {
            tokio::time::sleep(COUNTED).await;
        }
    });
    counted
}

async fn live(
    cluster: Cluster,
    arguments: &Arguments,
    prometheus: Option<Prometheus>,
) -> Result<Printout, ClusterError> {
    // Whoever may not list is told so before the terminal is taken.
    cluster.all(arguments.all_namespaces).await?;
    let api = cluster.api(arguments.all_namespaces);
    let mut events = pin!(watcher::watcher(api, watcher::Config::default()).default_backoff());
    let mut view = View {
        sort: arguments.sort,
        reversed: arguments.reverse,
        filter: arguments.filter.clone(),
        with_requests: prometheus.is_some(),
        ..View::default()
    };
    let colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let mut shown = WatchedResources::default();
    let mut counted = counted(prometheus);
    let _terminal = Taken::take().map_err(|error| error.to_string())?;
    let mut keys = terminal::keys();
    let mut tick = tokio::time::interval(TICK);
    loop {
        let (width, height) = Taken::size();
        let page = view.page(&shown.rows(), shown.trouble(), width, height);
        Taken::show(&page, colours).map_err(|error| error.to_string())?;
        tokio::select! {
            event = events.next() => {
                // A list is drawn once, and not once for each of its items.
                let mut next = event;
                while let Some(event) = next.take() {
                    shown.take(event);
                    next = events.next().now_or_never().flatten();
                }
            }
            key = keys.recv() => match key {
                Some(key) if view.press(key) => {}
                Some(_) | None => break,
            },
            Some(rates) = counted.recv() => shown.count(rates),
            _ = tick.tick() => {}
        }
    }
    Ok(Printout::fine(String::new()))
}
