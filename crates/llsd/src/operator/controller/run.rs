//! The leader at work: starts watches and timers, and gives resources from the queue to workers.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use llsd_plan::resource::Key;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};
use tracing::Instrument;

use crate::operator::background::{pass_on_panic, until_one_ends};
use crate::operator::controller::context::Context;
use crate::operator::controller::reconcile::reconcile;
use crate::operator::controller::secrets;
use crate::operator::controller::servers::Target;
use crate::operator::controller::state::Next;
use crate::operator::controller::watches;
use crate::operator::shutdown::Shutdown;
use crate::operator::telemetry::{Reconcile, traces};

/// Works until the future is dropped or shutdown is asked for; then what is under way may end.
pub async fn run(context: Arc<Context>, shutdown: Shutdown) {
    let mut background = JoinSet::new();
    watches::start(&context, &mut background);
    let watches_are_in = async {
        tokio::select! {
            () = context.synced.settled() => {}
            () = shutdown.requested() => {}
        }
    };
    if !until_one_ends(watches_are_in, &mut background).await || shutdown.is_requested() {
        return;
    }
    tracing::info!(resources = context.cache.resource_keys().len(), "all watches are in");
    background.spawn(refresh_secrets(Arc::clone(&context)));
    background.spawn(ask_servers(Arc::clone(&context)));
    background.spawn(send_events(Arc::clone(&context)));
    let work = async {
        tokio::select! {
            () = work_on_queue(&context, &shutdown) => {}
            // Counted here and not beside it: what has ended counts nothing.
            never = count(&context) => match never {},
        }
    };
    until_one_ends(work, &mut background).await;
}

/// Gives resources to workers until shutdown is asked for; then what is under way may end.
async fn work_on_queue(context: &Arc<Context>, shutdown: &Shutdown) {
    let mut workers = JoinSet::new();
    let places = Arc::new(Semaphore::new(context.settings.concurrency));
    loop {
        let place = Arc::clone(&places).acquire_owned();
        let place = tokio::select! {
            place = place => place.expect("it is never closed"),
            () = shutdown.requested() => break,
        };
        let key = tokio::select! {
            key = context.queue.next() => key,
            () = shutdown.requested() => break,
        };
        while workers.try_join_next().is_some() {}
        let context = Arc::clone(context);
        workers.spawn(async move {
            work(&context, &key).await;
            drop(place);
        });
    }
    let deadline = Instant::now() + context.settings.grace;
    let finishing = async {
        while workers.join_next().await.is_some() {}
        context.events.send_waiting().await;
    };
    tokio::select! {
        () = finishing => {}
        () = sleep_until(deadline) => {
            tracing::warn!(unfinished = workers.len(), "work under way did not end in time");
        }
    }
}

/// One reconcile, which neither hangs nor takes the operator down.
async fn work(context: &Context, key: &Key) {
    let begun = Instant::now();
    let _in_flight = context.metrics.in_flight();
    let span = traces::reconcile(key);
    let reconciling = reconcile(context, key).instrument(span.clone());
    let reconciling = AssertUnwindSafe(reconciling).catch_unwind();
    let (result, next) = match timeout(context.settings.time_limit, reconciling).await {
        Ok(Ok(done)) => done,
        Ok(Err(_)) => {
            tracing::error!(resource = %key, "a bug in the operator: the reconcile panicked");
            (Reconcile::Bug, Next::Retry)
        }
        Err(_) => {
            tracing::warn!(resource = %key, "the reconcile took too long");
            (Reconcile::Unavailable, Next::Retry)
        }
    };
    let has_failed = matches!(result, Reconcile::Bug | Reconcile::Unavailable);
    traces::ended(&span, result.name(), has_failed);
    drop(span);
    context.release_slot(key);
    let look = context.reconcile_ended(key);
    context.queue.done(key, next.at_latest_after(look));
    context.metrics.reconciled(result, begun.elapsed().as_secs_f64());
}

/// Secrets cannot be watched, so they are read again.
async fn refresh_secrets(context: Arc<Context>) {
    let mut tick = interval(secrets::ROUND);
    // After a pause nothing is made up for: the API server may just have come back.
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let woken = context.secrets.refresh(&context.client).await;
        for key in &woken {
            context.queue.add(key);
        }
    }
}

/// A server's health and providers can change without the cluster noticing, and a server that does not
/// answer must not hold a worker: so they are asked here.
async fn ask_servers(context: Arc<Context>) {
    let mut questions = JoinSet::new();
    loop {
        let key = context.servers.next().await;
        while let Some(ended) = questions.try_join_next() {
            pass_on_panic(ended);
        }
        let context = Arc::clone(&context);
        questions.spawn(async move {
            let asking = async |server: &Target| {
                let certificate = context.certificate(&key, server.certificate.as_deref());
                context.server_probe.ask(&key, server, certificate.as_deref()).await
            };
            if context.servers.ask(&key, asking).await {
                context.queue.add(&key);
            }
        });
    }
}

async fn send_events(context: Arc<Context>) {
    context.events.keep_sending(|| context.queue.is_busy()).await;
}

/// Figures that are counted and not summed up.
async fn count(context: &Context) -> Infallible {
    let mut tick = interval(Duration::from_secs(5));
    loop {
        tick.tick().await;
        context.metrics.queue(context.queue.waiting(), context.queue.oldest());
        context.metrics.resources(context.cache.phases());
        context.metrics.conditions(context.cache.conditions());
        context.metrics.held(&context.cache.held());
        context.metrics.shared_changes(context.shared_progress());
    }
}
