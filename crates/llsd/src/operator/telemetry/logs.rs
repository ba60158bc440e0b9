//! The log, on standard error. Whatever a user asks for, no library may write down what an API
//! server or a registry answered: a Secret may stand in it.

use std::io;

use clap::ValueEnum;
use thiserror::Error;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::{FilterExt, ParseError, Targets};
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

use super::traces::{self, Traces};

/// How a line of the log looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    // For people. Not a doc comment, which would become part of the flag's help.
    Text,
    // One JSON object per line, for machines.
    #[default]
    Json,
}

/// Why there is no log.
#[derive(Debug, Error)]
pub enum LogError {
    #[error("not a log level or filter: {0}")]
    InvalidFilter(#[from] ParseError),
    /// tracing takes it for the name of a target, and then hardly anything is logged.
    #[error("`{0}` is no log level; use error, warn, info, debug or trace")]
    NoLevel(String),
    #[error("this process has a log already")]
    AlreadySet,
}

/// What libraries may say at most. kube's client writes whole responses at `warn` when it cannot
/// read them, and at `debug` those of proxies; its watches show pieces of them at `debug`. The
/// others handle the bytes of requests and responses.
const AT_MOST: &[(&str, LevelFilter)] = &[
    // Not lines of a log.
    (traces::TARGET, LevelFilter::OFF),
    ("kube", LevelFilter::ERROR),
    // Whoever follows a watch says once what is wrong with it.
    ("kube_runtime", LevelFilter::ERROR),
    ("h2", LevelFilter::INFO),
    ("hyper", LevelFilter::INFO),
    ("reqwest", LevelFilter::INFO),
    ("rustls", LevelFilter::INFO),
];

/// Sets the log of this process up. `filter` is a level, such as `debug`, or levels by
/// target, such as `warn,llsd=trace`. Where spans are recorded, that is set up with it.
pub fn init(format: Format, filter: &str, traces: Option<Traces>) -> Result<(), LogError> {
    let subscriber = subscriber(format, filter, io::stderr)?.with(traces.map(Traces::filtered));
    tracing::subscriber::set_global_default(subscriber).map_err(|_| LogError::AlreadySet)
}

/// The same, written to somewhere else.
pub fn subscriber<W>(
    format: Format,
    filter: &str,
    writer: W,
) -> Result<impl Subscriber + for<'a> LookupSpan<'a> + Send + Sync, LogError>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let wanted: Targets = filter.parse()?;
    let mut alone = filter.split(',').map(str::trim).filter(|part| !part.contains('='));
    if let Some(part) = alone.find(|part| part.parse::<LevelFilter>().is_err()) {
        return Err(LogError::NoLevel(part.to_owned()));
    }
    // A filter of its own beside the user's, so that no directive can outdo it.
    let allowed =
        Targets::new().with_default(LevelFilter::TRACE).with_targets(AT_MOST.iter().copied());
    let lines = fmt::layer().with_writer(writer);
    let lines = match format {
        Format::Json => lines.json().flatten_event(true).boxed(),
        Format::Text => lines.boxed(),
    };
    Ok(Registry::default().with(lines.with_filter(wanted.and(allowed))))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn written(format: Format, filter: &str, say: impl Fn()) -> String {
        let page = Page::default();
        let copy = page.clone();
        let subscriber = subscriber(format, filter, move || copy.clone()).unwrap();
        tracing::subscriber::with_default(subscriber, say);
        let bytes = page.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_line_of_json_can_be_read_by_machines() {
        let log = written(Format::Json, "info", || tracing::info!(resource = "a/b", "planned"));
        let line: serde_json::Value = serde_json::from_str(&log).unwrap();
        assert_eq!(line["level"], "INFO");
        assert_eq!(line["message"], "planned");
        assert_eq!(line["resource"], "a/b");
    }

    #[test]
    fn the_user_says_how_much_our_own_code_tells() {
        let say = || {
            tracing::debug!("much");
            tracing::info!("little");
        };
        assert!(!written(Format::Text, "info", say).contains("much"));
        assert!(written(Format::Text, "debug", say).contains("much"));
        assert!(written(Format::Text, "warn,llsd=trace", say).contains("much"));
    }

    #[test]
    fn no_filter_makes_a_library_tell_more_than_it_may() {
        let say = || {
            tracing::warn!(target: "kube_client::client", "hidden");
            tracing::debug!(target: "kube_client::client", "hidden");
            tracing::debug!(target: "kube_runtime::watcher", "hidden");
            tracing::trace!(target: "hyper_util::client::legacy", "hidden");
            let _inside = tracing::error_span!("HTTP").entered();
            tracing::warn!(target: "kube_client::client", "hidden");
            tracing::error!(target: "kube_client::client::builder", "shown");
        };
        for filter in ["trace", "kube_client=trace", "kube_client::client=trace", "kube=trace"] {
            let log = written(Format::Text, filter, say);
            assert!(!log.contains("hidden"), "{filter}: {log}");
        }
        assert!(written(Format::Text, "trace", say).contains("shown"));
    }

    #[test]
    fn a_filter_that_cannot_be_read_is_refused() {
        let refused = init(Format::Text, "llsd=loud", None);
        assert!(matches!(refused, Err(LogError::InvalidFilter(_))));
    }
}
