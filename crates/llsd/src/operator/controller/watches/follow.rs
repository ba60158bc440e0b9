//! Follows one watch for as long as the operator leads, through every failure: what is interrupted goes
//! on, what is refused is tried again with growing pauses, and [`Synced`](super::synced::Synced) is told.

use std::fmt::Debug;
use std::time::Duration;

use futures::StreamExt;
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
            Ended::Refused(trouble) => trouble,
            Ended::NotStreamed => {
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
) -> Ended
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut events = std::pin::pin!(watcher::watcher(api.clone(), config.clone()));
    let mut awaits = Awaits::List;
    let mut unfinished = 0;
    loop {
        let next = match awaits {
            Awaits::List => timeout(LIST_PATIENCE, events.next()).await,
            Awaits::EndOfTrial => timeout(TRIAL, events.next()).await,
            Awaits::Event => Ok(events.next().await),
        };
        let event = match next {
            Ok(Some(Ok(event))) => event,
            Ok(Some(Err(error))) => {
                if is_streaming_refused(config, &error) {
                    return Ended::NotStreamed;
                }
                match trouble(&context.rights, &error) {
                    Trouble::NotAnswering(why) => interrupted(context, watch, why),
                    refused @ (Trouble::Forbidden(_) | Trouble::NotServed) => {
                        return Ended::Refused(refused);
                    }
                }
                pause(failures).await;
                continue;
            }
            Ok(None) => {
                return Ended::Refused(Trouble::NotAnswering("the watch ended".to_owned()));
            }
            Err(_) if awaits == Awaits::EndOfTrial => {
                in_sync(context, watch, failures);
                awaits = Awaits::Event;
                continue;
            }
            Err(_) => {
                interrupted(context, watch, "it takes too long".to_owned());
                awaits = Awaits::Event;
                continue;
            }
        };
        let shown = match event {
            Event::Init => Shown::Beginning,
            Event::InitApply(_) => Shown::Item,
            Event::InitDone => Shown::List,
            Event::Apply(_) | Event::Delete(_) => Shown::Change,
        };
        match shown {
            Shown::Beginning if config.initial_list_strategy == InitialListStrategy::ListWatch => {
                watch.begin().await;
            }
            // The stream of a list that is cut begins anew, without an error.
            Shown::Beginning if unfinished == MOST_UNFINISHED => return Ended::NotStreamed,
            Shown::Beginning => {
                if unfinished > 0 {
                    interrupted(context, watch, "the list ended early".to_owned());
                    pause(failures).await;
                }
                unfinished += 1;
            }
            Shown::List => unfinished = 0,
            Shown::Item | Shown::Change => {}
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
    }
}

/// Why a watch does not go on as it is.
enum Ended {
    Refused(Trouble),
    /// The API server lists in pages only, or its streams are cut.
    NotStreamed,
}

/// Whether an API server without streaming lists refused one, as it does with a feature that it does not know or that is
/// switched off.
fn is_streaming_refused(config: &Config, error: &watcher::Error) -> bool {
    let (watcher::Error::WatchStartFailed(kube::Error::Api(refused))
    | watcher::Error::InitialListFailed(kube::Error::Api(refused))
    | watcher::Error::WatchError(refused)) = error
    else {
        return false;
    };
    config.initial_list_strategy == InitialListStrategy::StreamingList
        && matches!(refused.code, 400 | 422)
}

/// What an event was about.
#[derive(Clone, Copy)]
enum Shown {
    Beginning,
    Item,
    List,
    Change,
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
