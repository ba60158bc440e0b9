//! The watches of kinds that a cluster may lack: begun when a kind is served, also if that is long after
//! the operator started, and ended when it no longer is.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use llsd_plan::facts::{Api, Served};
use llsd_plan::objects::ObjectKind;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, sleep_until};

use super::required;
use crate::operator::background::pass_on_panic;
use crate::operator::controller::context::Context;
use crate::operator::controller::state::{MIRRORS, Part, Scope, Watched, safe_message};

/// How often the cluster is asked what it serves.
const EVERY: Duration = Duration::from_secs(30);
/// The same while somebody waits for a kind.
const AT_MOST_EVERY: Duration = Duration::from_secs(5);

/// Starts those that are served now, and the others when they are.
pub fn start(context: &Arc<Context>, tasks: &mut JoinSet<()>) {
    let mut watches = OptionalWatches::default();
    watches.adjust(context);
    tasks.spawn(watches.keep(Arc::clone(context)));
}

/// The watches that run.
#[derive(Debug, Default)]
struct OptionalWatches {
    running: HashMap<(OptionalKind, Part), AbortHandle>,
    tasks: JoinSet<()>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum OptionalKind {
    Owned(ObjectKind),
    /// With the kind of the mirror objects.
    Mirrors(Api, &'static str),
}

impl OptionalWatches {
    /// Keeps the watches as the cluster's kinds come and go.
    async fn keep(mut self, context: Arc<Context>) {
        loop {
            let asked = Instant::now();
            tokio::select! {
                () = sleep(EVERY) => {}
                () = context.served.is_awaited() => sleep_until(asked + AT_MOST_EVERY).await,
                Some(ended) = self.tasks.join_next() => pass_on_panic(ended),
            }
            match context.served.refresh(&context.client).await {
                Ok(changed) => {
                    self.adjust(&context);
                    if changed {
                        tracing::info!(served = ?context.served.facts().0, "what the cluster serves has changed");
                        context.wake_part(&Part::Cluster);
                    }
                }
                Err(error) => {
                    let error = safe_message(&error);
                    tracing::debug!(error, "what the cluster serves cannot be asked now");
                }
            }
        }
    }

    /// Begins and ends watches by what is known to be served.
    fn adjust(&mut self, context: &Arc<Context>) {
        context.served.count(&context.metrics);
        self.running.retain(|_, watch| !watch.is_finished());
        for part in context.settings.scope.parts() {
            for kind in ObjectKind::ALL.iter().copied() {
                if kind.is_watched() && kind.is_optional() {
                    self.adjust_one(context, OptionalKind::Owned(kind), &part);
                }
            }
        }
        // They belong to the cluster, and so does the right to see them.
        if matches!(context.settings.scope, Scope::Cluster) {
            for (api, kind) in MIRRORS {
                self.adjust_one(context, OptionalKind::Mirrors(api, kind), &Part::Cluster);
            }
        }
    }

    fn adjust_one(&mut self, context: &Arc<Context>, kind: OptionalKind, part: &Part) {
        let place = (kind, part.clone());
        match context.served.get(kind.api()) {
            Served::Yes if !self.running.contains_key(&place) => {
                let watch = context.synced.expect(kind.watched(), part);
                let context = Arc::clone(context);
                let task = match kind {
                    OptionalKind::Owned(kind) => {
                        self.tasks.spawn(required::children(context, kind, watch))
                    }
                    OptionalKind::Mirrors(api, kind) => {
                        self.tasks.spawn(required::mirrors(context, api, kind, watch))
                    }
                };
                self.running.insert(place, task);
            }
            Served::No => {
                if let Some(watch) = self.running.remove(&place) {
                    watch.abort();
                }
                if context.synced.forget(kind.watched(), part) {
                    kind.forget_objects(context);
                }
            }
            Served::Yes | Served::Unknown => {}
        }
    }
}

impl OptionalKind {
    fn api(self) -> Api {
        match self {
            Self::Owned(kind) => kind.api(),
            Self::Mirrors(api, _) => api,
        }
    }

    fn watched(self) -> Watched {
        match self {
            Self::Owned(kind) => Watched::Owned(kind),
            Self::Mirrors(api, _) => Watched::Mirrors(api.plural),
        }
    }

    /// With a kind all of its objects are gone.
    fn forget_objects(self, context: &Context) {
        match self {
            Self::Owned(kind) => {
                for key in context.cache.keep_objects(kind, &HashSet::new(), |_| true) {
                    context.queue.add(&key);
                }
            }
            Self::Mirrors(_, kind) => {
                if context.configuration.keep_mirrors(kind, &HashSet::new()) {
                    context.wake_part(&Part::Cluster);
                }
            }
        }
    }
}
