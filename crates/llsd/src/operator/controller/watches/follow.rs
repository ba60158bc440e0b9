//! Follows one watch for as long as the operator leads, through every failure: what is interrupted goes
//! on, what is refused is tried again with growing pauses, and [`Synced`](super::synced::Synced) is told.

use std::fmt::Debug;
use std::time::Duration;

use futures::{Stream, StreamExt};
use kube::runtime::watcher::{self, Config, Event, InitialListStrategy};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::time::{sleep, timeout};

use crate::operator::backoff::Backoff;
use crate::operator::controller::context::Context;
use crate::operator::controller::state::{Rights, Trouble, Watch, Watched, safe_message};

/// A list that shows nothing more for so long is not waited for.
const LIST_PATIENCE: Duration = Duration::from_secs(30);
/// A watch that was refused before is trusted when it stands for so long.
const TRIAL: Duration = Duration::from_secs(2);
/// A list whose stream was cut so often is read in pages.
const MOST_UNFINISHED: u32 = 3;
const PAUSE: Backoff =
    Backoff { first: Duration::from_millis(800), longest: Duration::from_secs(30) };

/// Gives every event to `take`. Returns only where the kind of a watch that a cluster may lack is not
/// served.
pub async fn follow<K>(
    context: &Context,
    mut watch: Watch,
    api: Api<K>,
    config: Config,
    mut take: impl FnMut(Event<K>),
) where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    // Each object as it comes, which takes the least memory and no turn. API servers from 1.34 on do that; how old it
    // is, they decide. Resources are listed, which shows the newest: an old one would undo a user's change.
    let mut config = match watch.watched() {
        Watched::Resources => config,
        _ => config.streaming_lists(),
    };
    let mut failures = 0;
    loop {
        let ended = follow_once(context, &mut watch, &api, &config, &mut take, &mut failures).await;
        let refused = match ended {
            WatchEnd::Refused(trouble) => trouble,
            WatchEnd::NotStreamed => {
                config.initial_list_strategy = InitialListStrategy::ListWatch;
                continue;
            }
        };
        let may_end = refused == Trouble::NotServed && watch.watched().is_optional();
        fails(context, &mut watch, refused);
        if may_end {
            return context.served.look_soon();
        }
        pause(&mut failures).await;
    }
}

/// From one list up to a refusal. Other failures interrupt a watch that goes on where it was.
async fn follow_once<K>(
    context: &Context,
    watch: &mut Watch,
    api: &Api<K>,
    config: &Config,
    take: &mut impl FnMut(Event<K>),
    failures: &mut u32,
) -> WatchEnd
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut events = std::pin::pin!(watcher::watcher(api.clone(), config.clone()));
    let mut awaits = Awaits::List;
    let mut unfinished = 0;
    loop {
        let event = match next(&mut events, awaits).await {
            Some(Some(Ok(event))) => event,
            Some(Some(Err(error))) => {
                let end = WatchEnd::by(&context.rights, config, &error);
                let WatchEnd::Refused(Trouble::NotAnswering(why)) = end else { return end };
                interrupted(context, watch, why);
                pause(failures).await;
                continue;
            }
            Some(None) => {
                return WatchEnd::Refused(Trouble::NotAnswering("the watch ended".to_owned()));
            }
            None => {
                match awaits {
                    Awaits::EndOfTrial => in_sync(context, watch, failures),
                    _ => interrupted(context, watch, "it takes too long".to_owned()),
                }
                awaits = Awaits::Event;
                continue;
            }
        };
        let shown = Shown::by(&event);
        if shown == Shown::Beginning
            && !list_begins(context, watch, config, &mut unfinished, failures).await
        {
            return WatchEnd::NotStreamed;
        }
        take(event);
        awaits = match shown {
            Shown::Beginning | Shown::Item => Awaits::List,
            // What was refused a moment ago may be refused again at once.
            Shown::List if watch.is_troubled() => Awaits::EndOfTrial,
            Shown::List | Shown::Change => {
                in_sync(context, watch, failures);
                Awaits::Event
            }
        };
        if shown == Shown::List {
            unfinished = 0;
        }
    }
}

/// Why a watch does not go on as it is.
enum WatchEnd {
    Refused(Trouble),
    /// The API server lists in pages only, or its streams are cut.
    NotStreamed,
}

impl WatchEnd {
    /// An API server without streaming lists refuses one as it does with a feature that it does not know or that is
    /// switched off.
    fn by(rights: &Rights, config: &Config, error: &watcher::Error) -> Self {
        if let watcher::Error::WatchStartFailed(kube::Error::Api(refused))
        | watcher::Error::InitialListFailed(kube::Error::Api(refused))
        | watcher::Error::WatchError(refused) = error
            && is_streamed(config)
            && matches!(refused.code, 400 | 422)
        {
            return Self::NotStreamed;
        }
        Self::Refused(trouble(rights, error))
    }
}

fn is_streamed(config: &Config) -> bool {
    config.initial_list_strategy == InitialListStrategy::StreamingList
}

/// What comes next; nothing where that takes too long.
async fn next<K>(
    events: &mut (impl Stream<Item = watcher::Result<Event<K>>> + Unpin),
    awaits: Awaits,
) -> Option<Option<watcher::Result<Event<K>>>> {
    let patience = match awaits {
        Awaits::List => LIST_PATIENCE,
        Awaits::EndOfTrial => TRIAL,
        Awaits::Event => return Some(events.next().await),
    };
    timeout(patience, events.next()).await.ok()
}

/// A list in pages waits for its turn. One whose stream was cut begins anew, without an error, so it waits as after one.
/// Returns whether the list goes on, because its stream was not cut too often.
async fn list_begins(
    context: &Context,
    watch: &mut Watch,
    config: &Config,
    unfinished: &mut u32,
    failures: &mut u32,
) -> bool {
    if !is_streamed(config) {
        watch.begin().await;
        return true;
    }
    if *unfinished > 0 {
        interrupted(context, watch, "the list ended early".to_owned());
        pause(failures).await;
    }
    *unfinished += 1;
    *unfinished <= MOST_UNFINISHED
}

/// What an event was about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Beginning,
    Item,
    List,
    Change,
}

impl Shown {
    fn by<K>(event: &Event<K>) -> Self {
        match event {
            Event::Init => Self::Beginning,
            Event::InitApply(_) => Self::Item,
            Event::InitDone => Self::List,
            Event::Apply(_) | Event::Delete(_) => Self::Change,
        }
    }
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaits {
    List,
    EndOfTrial,
    Event,
}

fn in_sync(context: &Context, watch: &mut Watch, failures: &mut u32) {
    *failures = 0;
    if watch.in_sync() {
        context.wake_part(watch.part());
    }
}

/// What was shown before still counts while the API server is away; a first list that fails does not.
fn interrupted(context: &Context, watch: &mut Watch, why: String) {
    tracing::debug!(
        resource = watch.watched().plural(),
        why,
        "a watch was interrupted and goes on"
    );
    watch.end_turn();
    if !watch.has_synced() {
        fails(context, watch, Trouble::NotAnswering(why));
    }
}

fn fails(context: &Context, watch: &mut Watch, trouble: Trouble) {
    if watch.failed(trouble) {
        context.wake_part(watch.part());
    }
}

/// What a failed watch means.
pub fn trouble(rights: &Rights, error: &watcher::Error) -> Trouble {
    let error = match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => error,
        watcher::Error::WatchError(status) => &kube::Error::Api(status.clone()),
        watcher::Error::NoResourceVersion => {
            return Trouble::NotAnswering("the list has no version".to_owned());
        }
    };
    match error {
        kube::Error::Api(status) if status.code == 404 => Trouble::NotServed,
        kube::Error::Api(status) if matches!(status.code, 401 | 403) => {
            let lacking = rights.lacking(error);
            Trouble::Forbidden(lacking.unwrap_or_else(|| safe_message(error)))
        }
        error => Trouble::NotAnswering(safe_message(error)),
    }
}

/// Waits, longer after every failure in a row.
async fn pause(failures: &mut u32) {
    *failures = failures.saturating_add(1);
    sleep(PAUSE.delay(*failures)).await;
}
