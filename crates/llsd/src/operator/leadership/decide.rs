//! What to do about a Lease, from what was seen of it and when. Pure: no clock is read here, and no
//! request is made.

use k8s_openapi::api::coordination::v1::LeaseSpec;
use tokio::time::Instant;

use super::ElectionSettings;
use super::record::promised;

/// The next thing to do about the Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseStep {
    /// Nobody holds it, or its holder let it run out: become its holder.
    Take,
    /// It is ours: give a sign of life.
    Renew,
    /// Another holds it, at least until then.
    Wait { until: Instant },
}

/// Decides about a Lease whose content is `lease`, and was last seen to *change* at `observed_at`.
///
/// A Lease that was deleted counts with its last content, and its deletion as the change: its
/// holder may not know yet and has the time to write it again. `None` is one that was never seen.
pub fn decide(
    lease: Option<&LeaseSpec>,
    observed_at: Instant,
    now: Instant,
    settings: &ElectionSettings,
) -> LeaseStep {
    let Some(lease) = lease else { return LeaseStep::Take };
    match lease.holder_identity.as_deref() {
        None | Some("") => LeaseStep::Take,
        Some(holder) if holder == settings.identity => LeaseStep::Renew,
        Some(_) => {
            let until = observed_at + promised(lease, settings);
            if now < until { LeaseStep::Wait { until } } else { LeaseStep::Take }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

    use super::*;

    const OURS: &str = "we";

    fn settings() -> ElectionSettings {
        ElectionSettings { identity: OURS.to_owned(), ..ElectionSettings::new("operator") }
    }

    fn held(by: Option<&str>, seconds: Option<i32>) -> LeaseSpec {
        LeaseSpec {
            holder_identity: by.map(str::to_owned),
            lease_duration_seconds: seconds,
            ..LeaseSpec::default()
        }
    }

    #[test]
    fn each_state_of_a_lease_has_its_step() {
        let seen = Instant::now();
        let after = |seconds| seen + Duration::from_secs(seconds);
        let wait = |seconds| LeaseStep::Wait { until: after(seconds) };
        let cases = [
            ("never seen", None, 0, LeaseStep::Take),
            ("no spec", Some(LeaseSpec::default()), 0, LeaseStep::Take),
            ("no holder", Some(held(None, Some(15))), 0, LeaseStep::Take),
            ("given back", Some(held(Some(""), Some(1))), 0, LeaseStep::Take),
            ("ours", Some(held(Some(OURS), Some(15))), 0, LeaseStep::Renew),
            ("ours, long run out", Some(held(Some(OURS), Some(15))), 99, LeaseStep::Renew),
            ("another's", Some(held(Some("they"), Some(15))), 0, wait(15)),
            ("another's, still", Some(held(Some("they"), Some(15))), 14, wait(15)),
            ("another's, just run out", Some(held(Some("they"), Some(15))), 15, LeaseStep::Take),
            ("promised for longer", Some(held(Some("they"), Some(60))), 59, wait(60)),
            ("promised for shorter", Some(held(Some("they"), Some(3))), 3, LeaseStep::Take),
            ("no duration: ours counts", Some(held(Some("they"), None)), 14, wait(15)),
            ("no duration, run out", Some(held(Some("they"), None)), 15, LeaseStep::Take),
            ("no such duration", Some(held(Some("they"), Some(-1))), 0, wait(15)),
            ("zero", Some(held(Some("they"), Some(0))), 0, wait(15)),
        ];
        for (name, lease, now, expected) in cases {
            let step = decide(lease.as_ref(), seen, after(now), &settings());
            assert_eq!(step, expected, "{name}");
        }
    }

    #[test]
    fn the_clock_of_the_holder_counts_for_nothing() {
        let seen = Instant::now();
        let expected = LeaseStep::Wait { until: seen + Duration::from_secs(15) };
        for renewed in [Timestamp::MIN, Timestamp::UNIX_EPOCH, Timestamp::MAX] {
            let lease =
                LeaseSpec { renew_time: Some(MicroTime(renewed)), ..held(Some("they"), Some(15)) };
            assert_eq!(decide(Some(&lease), seen, seen, &settings()), expected);
        }
    }
}
