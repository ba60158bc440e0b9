//! `rollout`: how a change of inputs that several servers share reaches them, a few at a time:
//!
//! ```yaml
//! maxUnavailableServers: 10%
//! perNamespace: 1
//! stopAfterFailures: 2
//! ```

use llsd_image::settings::Problems;
use llsd_plan::rollout::wave::{Budget, Share};
use serde_json::{Map, Value};

use super::key::ConfigKey;
use super::remarks::below;

const MAX_UNAVAILABLE: &str = "maxUnavailableServers";
const PER_NAMESPACE: &str = "perNamespace";
const STOP_AFTER: &str = "stopAfterFailures";
const FIELDS: [&str; 3] = [MAX_UNAVAILABLE, PER_NAMESPACE, STOP_AFTER];

pub(super) fn budget(fields: &Map<String, Value>, remarks: &mut Problems) -> Budget {
    let key = ConfigKey::Rollout.name();
    for field in fields.keys().filter(|field| !FIELDS.contains(&field.as_str())) {
        let message = format!("unknown field; known are {}", FIELDS.join(", "));
        remarks.at(&below(key, field), message);
    }
    let mut budget = Budget::default();
    if let Some(given) = present(fields, MAX_UNAVAILABLE) {
        match share(given) {
            Some(share) => budget.max_unavailable = share,
            None => remarks.at(
                &below(key, MAX_UNAVAILABLE),
                "must be a number of servers, at least 1, or a percentage from 1% to 100%",
            ),
        }
    }
    for (field, place) in
        [(PER_NAMESPACE, &mut budget.per_namespace), (STOP_AFTER, &mut budget.stop_after_failures)]
    {
        if let Some(given) = present(fields, field) {
            match number(given) {
                Some(number) => *place = number,
                None => remarks.at(&below(key, field), "must be a number, at least 1"),
            }
        }
    }
    budget
}

fn present<'a>(fields: &'a Map<String, Value>, field: &str) -> Option<&'a Value> {
    fields.get(field).filter(|given| !given.is_null())
}

fn share(given: &Value) -> Option<Share> {
    let Some(percentage) = given.as_str().and_then(|text| text.strip_suffix('%')) else {
        return number(given).map(Share::Number);
    };
    let is_digits = percentage.bytes().all(|byte| byte.is_ascii_digit());
    let percent =
        percentage.parse().ok().filter(|percent| is_digits && (1..=100).contains(percent));
    percent.map(Share::Percent)
}

fn number(given: &Value) -> Option<usize> {
    usize::try_from(given.as_u64()?).ok().filter(|number| *number > 0)
}
