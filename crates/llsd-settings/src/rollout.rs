//! `rollout`: how a change of inputs that several servers share reaches them, a few at a time:
//!
//! ```yaml
//! maxUnavailableServers: 10%
//! perNamespace: 1
//! stopAfterFailures: 2
//! canaries: example.com/canary
//! window: {schedule: "0 22 * * 1-5", duration: 6h}
//! ```

use std::collections::BTreeMap;

use llsd_image::settings::{Problems, duration};
use llsd_plan::rollout::wave::{Budget, Share};
use llsd_plan::validate::{is_label_key, is_label_value};
use serde_json::{Map, Value};

use super::key::ConfigKey;
use super::remarks::below;
use super::window::Window;

const MAX_UNAVAILABLE: &str = "maxUnavailableServers";
const PER_NAMESPACE: &str = "perNamespace";
const STOP_AFTER: &str = "stopAfterFailures";
const CANARIES: &str = "canaries";
const WINDOW: &str = "window";
const FIELDS: [&str; 5] = [MAX_UNAVAILABLE, PER_NAMESPACE, STOP_AFTER, CANARIES, WINDOW];

const SCHEDULE: &str = "schedule";
const DURATION: &str = "duration";

/// What an administrator sets for changes of shared inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RolloutSettings {
    pub budget: Budget,
    /// The resources whose servers are changed first, and have to run well before the others follow.
    pub canaries: Option<CanaryLabel>,
    /// Without one, changes may begin at any time.
    pub window: Option<Window>,
}

/// A label of resources, with a value or with any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CanaryLabel {
    key: String,
    value: Option<String>,
}

impl CanaryLabel {
    /// `KEY` or `KEY=VALUE`.
    fn parse(text: &str) -> Option<Self> {
        let (key, value) = match text.split_once('=') {
            Some((key, value)) => (key, Some(value)),
            None => (text, None),
        };
        let is_label = is_label_key(key) && value.is_none_or(is_label_value);
        is_label.then(|| Self { key: key.to_owned(), value: value.map(str::to_owned) })
    }

    /// Whether a resource with these labels is a canary.
    pub fn is_among(&self, labels: &BTreeMap<String, String>) -> bool {
        let found = labels.get(&self.key);
        found.is_some_and(|found| self.value.as_ref().is_none_or(|value| value == found))
    }
}

pub(super) fn settings(fields: &Map<String, Value>, remarks: &mut Problems) -> RolloutSettings {
    let key = ConfigKey::Rollout.name();
    for field in fields.keys().filter(|field| !FIELDS.contains(&field.as_str())) {
        let message = format!("unknown field; known are {}", FIELDS.join(", "));
        remarks.at(&below(key, field), message);
    }
    let canaries = present(fields, CANARIES).and_then(|given| {
        let label = given.as_str().and_then(CanaryLabel::parse);
        if label.is_none() {
            let wanted =
                "must be a label of resources, such as `example.com/canary` or `stage=canary`";
            remarks.at(&below(key, CANARIES), wanted);
        }
        label
    });
    let window = present(fields, WINDOW).and_then(|given| window(given, remarks));
    RolloutSettings { budget: budget(fields, remarks), canaries, window }
}

fn window(given: &Value, remarks: &mut Problems) -> Option<Window> {
    let path = below(ConfigKey::Rollout.name(), WINDOW);
    let Some(fields) = given.as_object() else {
        remarks.at(&path, "must be a mapping with `schedule` and `duration`");
        return None;
    };
    for field in fields.keys().filter(|field| ![SCHEDULE, DURATION].contains(&field.as_str())) {
        remarks.at(&below(&path, field), "unknown field; known are schedule, duration");
    }
    let lasts = fields.get(DURATION).and_then(Value::as_str).and_then(duration);
    let lasts = lasts.and_then(|it| i64::try_from(it.as_secs()).ok()).filter(|it| *it >= 60);
    if lasts.is_none() {
        remarks.at(&below(&path, DURATION), "must be a time of at least a minute, such as `6h`");
    }
    let schedule = fields.get(SCHEDULE).and_then(Value::as_str).unwrap_or_default();
    match Window::parse(schedule, lasts.unwrap_or_default()) {
        Ok(window) => lasts.map(|_| window),
        Err(why) => {
            remarks.at(&below(&path, SCHEDULE), why);
            None
        }
    }
}

fn budget(fields: &Map<String, Value>, remarks: &mut Problems) -> Budget {
    let key = ConfigKey::Rollout.name();
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
