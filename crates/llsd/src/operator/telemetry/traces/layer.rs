//! Records spans as `tracing` opens and closes them, and hands over what has ended.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use tokio::sync::mpsc::Sender;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::span::{Attribute, EndedSpan};
use super::spans::{LOOK, TARGET};

/// Records spans of [`TARGET`].
#[derive(Clone, Debug)]
pub struct Traces {
    ended: Sender<EndedSpan>,
    dropped: Arc<AtomicU64>,
}

impl Traces {
    pub(super) fn new(ended: Sender<EndedSpan>) -> Self {
        Self { ended, dropped: Arc::default() }
    }

    /// As a layer that takes its own spans alone.
    pub fn filtered<S>(self) -> impl Layer<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let is_ours = |metadata: &Metadata<'_>| metadata.is_span() && metadata.target() == TARGET;
        self.with_filter(filter_fn(is_ours))
    }
}

impl<S> Layer<S> for Traces
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let above = span.parent().and_then(|parent| {
            let extensions = parent.extensions();
            extensions.get::<EndedSpan>().map(|parent| (parent.trace, parent.id))
        });
        let name = attributes.metadata().name();
        if above.is_none() && name != LOOK {
            return;
        }
        let now = SystemTime::now();
        let mut recorded = EndedSpan {
            trace: above.map_or_else(|| fastrand::u128(1..), |(trace, _)| trace),
            id: fastrand::u64(1..),
            parent: above.map(|(_, parent)| parent),
            name,
            began: now,
            over: now,
            attributes: Vec::new(),
            is_error: false,
        };
        attributes.record(&mut SpanFields(&mut recorded));
        span.extensions_mut().insert(recorded);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(recorded) = span.extensions_mut().get_mut::<EndedSpan>() {
            values.record(&mut SpanFields(recorded));
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(mut recorded) = span.extensions_mut().remove::<EndedSpan>() else { return };
        recorded.over = SystemTime::now();
        if self.ended.try_send(recorded).is_err() {
            let dropped = self.dropped.fetch_add(1, Ordering::Relaxed) + 1;
            // Said at 1, 2, 4, 8 and so on: a collector that is away fills no log.
            if dropped.is_power_of_two() {
                tracing::warn!(dropped, "spans are dropped: the collector does not keep up");
            }
        }
    }
}

/// Fields of a span as attributes; `error` is told apart.
struct SpanFields<'a>(&'a mut EndedSpan);

impl Visit for SpanFields<'_> {
    fn record_bool(&mut self, field: &Field, value: bool) {
        match field.name() {
            "error" => self.0.is_error = value,
            name => self.0.attributes.push((name, Attribute::Text(value.to_string()))),
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.attributes.push((field.name(), Attribute::Number(value)));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.record_i64(field, i64::try_from(value).unwrap_or(i64::MAX));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.attributes.push((field.name(), Attribute::Text(value.to_owned())));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.attributes.push((field.name(), Attribute::Text(format!("{value:?}"))));
    }
}

#[cfg(test)]
mod tests {
    use llsd_plan::resource::Key;
    use tokio::sync::mpsc;
    use tracing_subscriber::Registry;
    use tracing_subscriber::layer::SubscriberExt;

    use super::super::spans::{answered, ended, reconcile, request};
    use super::*;

    #[test]
    fn spans_of_one_look_are_one_trace() {
        let (send, mut receive) = mpsc::channel(8);
        let subscriber = Registry::default().with(Traces::new(send).filtered());
        tracing::subscriber::with_default(subscriber, || {
            let foreign = tracing::error_span!("HTTP").entered();
            let look = reconcile(&Key::new("ns", "llama"));
            look.in_scope(|| {
                let request = request("get", "/api/v1/namespaces/ns/services/a");
                answered(&request, Some(404));
                drop(tracing::trace_span!(target: TARGET, "a", held = true, at = ?Some(1)));
            });
            ended(&look, "planned", false);
            drop((look, foreign));
        });
        let text = |text: &str| Attribute::Text(text.to_owned());
        let attributes = receive.try_recv().unwrap().attributes;
        assert_eq!(attributes, [("held", text("true")), ("at", text("Some(1)"))]);
        let request = receive.try_recv().unwrap();
        let look = receive.try_recv().unwrap();
        assert!(receive.try_recv().is_err(), "others' spans are not ours");
        assert_eq!((look.name, look.parent), ("reconcile", None));
        assert_eq!((request.trace, request.parent), (look.trace, Some(look.id)));
        assert!(request.attributes.contains(&("code", Attribute::Number(404))), "{request:?}");
        assert!(look.attributes.contains(&("result", Attribute::Text("planned".into()))));
        assert!(look.over >= request.over && !look.is_error);
    }

    #[test]
    fn nobody_waits_for_a_collector_that_does_not_keep_up() {
        let (send, mut receive) = mpsc::channel(1);
        let traces = Traces::new(send);
        let dropped = Arc::clone(&traces.dropped);
        let subscriber = Registry::default().with(traces.filtered());
        tracing::subscriber::with_default(subscriber, || {
            for _ in 0..5 {
                drop(reconcile(&Key::new("ns", "llama")));
            }
            // A watch's request belongs to no look.
            drop(request("watch", "/"));
        });
        assert_eq!(dropped.load(Ordering::Relaxed), 4);
        assert!(receive.try_recv().is_ok());
    }
}
