//! What stands in the Lease: the fields of client-go's leader election with their meaning there.
//! Pure; whatever else someone wrote into the Lease stays.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

use super::ElectionSettings;

/// How long the others wait for the holder of this Lease.
pub(super) fn promised(lease: &LeaseSpec, settings: &ElectionSettings) -> Duration {
    let seconds = lease.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    match seconds {
        None | Some(0) => settings.lease_duration,
        Some(seconds) => Duration::from_secs(seconds),
    }
}

/// The Lease with us as its holder: renewed if we were that before, else taken.
pub(super) fn held(
    last: Option<&LeaseSpec>,
    now: Timestamp,
    settings: &ElectionSettings,
) -> LeaseSpec {
    let was_ours = last
        .and_then(|last| last.holder_identity.as_deref())
        .is_some_and(|holder| holder == settings.identity);
    let mut lease = last.cloned().unwrap_or_default();
    if !was_ours {
        lease.acquire_time = Some(MicroTime(now));
        let before = last.map(|last| last.lease_transitions.unwrap_or(0));
        lease.lease_transitions = Some(before.map_or(0, |count| count.saturating_add(1)));
        lease.holder_identity = Some(settings.identity.clone());
    }
    lease.acquire_time.get_or_insert(MicroTime(now));
    lease.lease_transitions.get_or_insert(0);
    lease.lease_duration_seconds = Some(whole_seconds(settings.lease_duration));
    lease.renew_time = Some(MicroTime(later_than(last, now)));
    lease
}

/// The Lease given back: the next one need not wait.
pub(super) fn released(last: &LeaseSpec, now: Timestamp) -> LeaseSpec {
    LeaseSpec {
        holder_identity: Some(String::new()),
        // Zero is not allowed, and nobody waits for nobody.
        lease_duration_seconds: Some(1),
        acquire_time: Some(MicroTime(now)),
        renew_time: Some(MicroTime(now)),
        ..last.clone()
    }
}

/// A write that changes nothing is no sign of life to those who wait for a change, and a clock that
/// stands still would make it one.
fn later_than(last: Option<&LeaseSpec>, now: Timestamp) -> Timestamp {
    let now = to_microseconds(now);
    match last.and_then(|last| last.renew_time.as_ref()) {
        Some(MicroTime(before)) if to_microseconds(*before) == now => {
            now.saturating_add(SignedDuration::from_micros(1)).unwrap_or(now)
        }
        _ => now,
    }
}

/// As precise as the API server keeps it.
fn to_microseconds(time: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(time.as_microsecond()).unwrap_or(time)
}

/// Rounded up: the others must not wait less than promised.
fn whole_seconds(duration: Duration) -> i32 {
    let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    i32::try_from(seconds).unwrap_or(i32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> ElectionSettings {
        ElectionSettings { identity: "we".to_owned(), ..ElectionSettings::new("operator") }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_first_holder_begins_the_count() {
        let lease = held(None, at(7), &settings());
        let expected = LeaseSpec {
            holder_identity: Some("we".to_owned()),
            lease_duration_seconds: Some(15),
            acquire_time: Some(MicroTime(at(7))),
            renew_time: Some(MicroTime(at(7))),
            lease_transitions: Some(0),
            ..LeaseSpec::default()
        };
        assert_eq!(lease, expected);
    }

    #[test]
    fn a_renewal_changes_the_time_alone() {
        let first = held(None, at(7), &settings());
        let renewed = held(Some(&first), at(12), &settings());
        assert_eq!(renewed, LeaseSpec { renew_time: Some(MicroTime(at(12))), ..first });
    }

    #[test]
    fn a_renewal_is_a_change_also_when_the_clock_stands_still() {
        let first = held(None, at(7), &settings());
        assert_ne!(held(Some(&first), at(7), &settings()), first);
    }

    #[test]
    fn a_new_holder_is_counted_and_keeps_what_it_does_not_know() {
        let before = LeaseSpec {
            holder_identity: Some("they".to_owned()),
            lease_transitions: Some(4),
            strategy: Some("OldestEmulationVersion".to_owned()),
            ..LeaseSpec::default()
        };
        let taken = held(Some(&before), at(9), &settings());
        assert_eq!(taken.lease_transitions, Some(5));
        assert_eq!(taken.acquire_time, Some(MicroTime(at(9))));
        assert_eq!(taken.strategy, before.strategy);
    }

    #[test]
    fn an_empty_lease_is_filled() {
        let taken = held(Some(&LeaseSpec::default()), at(9), &settings());
        assert_eq!(taken.lease_transitions, Some(1));
        assert_eq!(taken.acquire_time, Some(MicroTime(at(9))));
    }

    #[test]
    fn a_released_lease_names_nobody_and_keeps_the_count() {
        let taken = LeaseSpec { lease_transitions: Some(3), ..held(None, at(7), &settings()) };
        let released = released(&taken, at(8));
        assert_eq!(released.holder_identity.as_deref(), Some(""));
        assert_eq!(released.lease_duration_seconds, Some(1));
        assert_eq!(released.lease_transitions, Some(3));
    }

    #[test]
    fn a_duration_is_never_written_shorter_than_it_is() {
        for (duration, seconds) in [(0, 1), (1000, 1), (1001, 2), (15_000, 15)] {
            assert_eq!(whole_seconds(Duration::from_millis(duration)), seconds);
        }
    }
}
