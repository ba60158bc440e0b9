//! What a pod template is made from that is the resource's own, as a record on its Deployment: of each
//! part a few digits of a hash. While no part changes, the template stays, whatever a newer operator
//! would make of the same inputs.

use std::collections::BTreeMap;

use super::annotations;
use crate::values::sha256;

/// What of the spec pods are made from.
pub const PODS: &str = "pods";
/// More of the spec, as operators recorded it that have no [`PODS`].
pub const SPEC: &str = "spec";
/// The image by which the operator's ConfigMap replaces that of the resource's distribution.
pub const IMAGE: &str = "image";
/// The user's own configuration.
pub const CONFIG: &str = "config";
/// What the user's own variables refer to.
pub const VARIABLES: &str = "env";
/// Certificates that the server trusts.
pub const CA_BUNDLE: &str = "ca-bundle";
/// The annotations of the resource that ask for something.
pub const REFRESH: &str = "refresh";
pub const APPROVE: &str = "approve";
pub const RETRY: &str = "retry";
/// What the parts for the single objects among them begin with. They only tell which of them changed; that some did,
/// [`VARIABLES`] tells, also where operators recorded nothing else.
const VARIABLES_OF: &str = "env:";
/// Asks for another template than the planned one, and so is no change of what is planned.
pub const ROLLBACK_TO: &str = "rollback-to";

/// Which key of the operator's made the hashes of what Secrets hold. It is no input itself.
pub const KEY: &str = "key";

/// What the parts for keys of Secrets begin with.
pub const SECRET: &str = "secret:";

/// To take away one of these annotations asks for nothing.
const ASKING: [&str; 3] = [REFRESH, APPROVE, RETRY];

/// A part that the resource does not have. One that is not mentioned is not known.
const NONE: &str = "-";

/// Digits of a hash that are kept.
const DIGITS: usize = 8;

/// The parts by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs(BTreeMap<String, String>);

impl Inputs {
    /// Notes a part, or that the resource has none.
    pub fn set(&mut self, part: &str, content: Option<&str>) {
        let hash = content
            .map_or_else(|| NONE.to_owned(), |content| sha256::hex(content)[..DIGITS].to_owned());
        self.0.insert(part.to_owned(), hash);
    }

    /// Notes a key of a Secret, by the keyed hash of its value.
    pub fn set_secret(&mut self, name: &str, key: &str, hash: &str) {
        // With its name, so that nobody sees that two secrets are the same.
        let part = format!("{SECRET}{name}/{key}");
        self.set(&part, Some(&format!("{part}\n{hash}")));
    }

    /// Notes what the user's own variables take from one object, such as `Secret/keys`.
    pub fn set_variables_of(&mut self, object: &str, content: Option<&str>) {
        let part = format!("{VARIABLES_OF}{object}");
        // With its name, so that nobody sees that two objects are the same.
        let content = content.map(|content| format!("{part}\n{content}"));
        self.set(&part, content.as_deref());
    }

    /// The objects from which the user's own variables are others than were recorded, each as `Secret/keys`, with
    /// its part. None where that is not known of all of them.
    pub fn changed_variables<'a>(&'a self, recorded: &Self) -> Vec<(&'a str, &'a str)> {
        let parts = || self.0.iter().filter(|(part, _)| part.starts_with(VARIABLES_OF));
        if !parts().all(|(part, _)| recorded.0.contains_key(part)) {
            return Vec::new();
        }
        let changed = parts().filter(|(part, now)| recorded.0.get(*part) != Some(*now));
        changed
            .filter_map(|(part, _)| Some((part.strip_prefix(VARIABLES_OF)?, part.as_str())))
            .collect()
    }

    /// What is noted of a part.
    pub fn get(&self, part: &str) -> Option<&str> {
        self.0.get(part).map(String::as_str)
    }

    /// Which key of the operator's made the hashes, where that is known.
    pub fn key(&self) -> Option<&str> {
        self.get(KEY)
    }

    /// How a record names the key that has this id.
    pub fn key_part(id: &str) -> String {
        let mut record = Self::default();
        record.set(KEY, Some(id));
        record.0.remove(KEY).unwrap_or_default()
    }

    /// Whether a part asks for something that was not done yet.
    pub fn ask_again(&self, part: &str, recorded: &Self) -> bool {
        let now = self.0.get(part).filter(|now| *now != NONE);
        now.is_some() && now != recorded.0.get(part)
    }

    /// Whether all parts are known to be the same.
    pub fn agree_with(&self, recorded: &Self) -> bool {
        self.0.iter().all(|(part, now)| recorded.0.get(part) == Some(now))
    }

    /// The same with a part as another record has it.
    #[must_use]
    pub fn with_part_of(mut self, part: &str, recorded: &Self) -> Self {
        match recorded.0.get(part) {
            Some(hash) => drop(self.0.insert(part.to_owned(), hash.clone())),
            None => drop(self.0.remove(part)),
        }
        self
    }

    /// The same with parts as another record has them.
    #[must_use]
    pub fn with_parts_of(self, parts: &[&str], other: &Self) -> Self {
        parts.iter().fold(self, |record, part| record.with_part_of(part, other))
    }

    /// The same with the parts of another record that it does not mention.
    #[must_use]
    pub fn beside(mut self, other: &Self) -> Self {
        for (part, hash) in &other.0 {
            self.0.entry(part.clone()).or_insert_with(|| hash.clone());
        }
        self
    }

    /// The same with those parts alone.
    #[must_use]
    pub fn only(mut self, is_kept: impl Fn(&str) -> bool) -> Self {
        self.0.retain(|part, _| is_kept(part));
        self
    }

    /// The keys of Secrets that it mentions, with the names of their Secrets.
    pub fn secret_keys(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.keys().filter_map(|part| part.strip_prefix(SECRET)?.split_once('/'))
    }

    /// The same without a part.
    #[must_use]
    pub fn without(mut self, part: &str) -> Self {
        self.0.remove(part);
        self
    }

    /// The same with what another record says of Secrets, and of what may be made from them, for who
    /// cannot tell whether they changed.
    #[must_use]
    pub fn with_secrets_of(mut self, recorded: &Self) -> Self {
        let is_secret = |part: &String| is_keyed(part) || part == KEY;
        self.0.retain(|part, _| !is_secret(part));
        let secrets = recorded.0.iter().filter(|(part, _)| is_secret(part));
        self.0.extend(secrets.map(|(part, hash)| (part.clone(), hash.clone())));
        self
    }

    /// The same record of the same values, with the hashes that the key of another record makes of them.
    #[must_use]
    pub fn rekeyed(mut self, now: &Self) -> Self {
        let key = now.0.get(KEY);
        if key.is_some() && self.0.get(KEY).is_some_and(|before| Some(before) != key) {
            let keyed: Vec<String> = self.0.keys().filter(|part| is_keyed(part)).cloned().collect();
            for part in keyed {
                self = self.with_part_of(&part, now);
            }
        }
        self.with_part_of(KEY, now)
    }

    /// A record of an earlier state, which the key of `current` made too, for comparisons with the key of `now`: what
    /// is the same in both is as it is now. Other values keep their hashes, which the new key makes of no value.
    #[must_use]
    pub fn rekeyed_like(mut self, current: &Self, now: &Self) -> Self {
        if now.key().is_none() || self.key() == now.key() || self.key() != current.key() {
            return self;
        }
        let parts = self.0.iter().filter(|(part, _)| is_keyed(part) && now.0.contains_key(*part));
        let same = parts.filter(|(part, hash)| current.0.get(*part) == Some(*hash));
        let same: Vec<String> = same.map(|(part, _)| part.clone()).collect();
        for part in same {
            self = self.with_part_of(&part, now);
        }
        self.with_part_of(KEY, now)
    }

    /// As an annotation has it.
    pub fn text(&self) -> String {
        let parts: Vec<String> =
            self.0.iter().map(|(part, hash)| format!("{part}={hash}")).collect();
        parts.join(" ")
    }

    pub fn parse(text: &str) -> Self {
        let parts = text.split(' ').filter_map(|part| part.rsplit_once('='));
        Self(parts.map(|(part, hash)| (part.to_owned(), hash.to_owned())).collect())
    }

    /// Whether some part is another than was recorded. What only one side knows is no change: an operator
    /// that looks at more than the one before it does not restart anything for that.
    pub fn differ_from(&self, recorded: &Self) -> bool {
        self.changes(recorded).next().is_some()
    }

    /// The parts that are others than were recorded.
    pub fn changes<'a>(&'a self, recorded: &'a Self) -> impl Iterator<Item = &'a str> {
        let has_pods = recorded.0.contains_key(PODS);
        let keys = self.0.get(KEY).zip(recorded.0.get(KEY));
        let is_other_key = keys.is_some_and(|(now, then)| now != then);
        let changed = self.0.iter().filter(move |(part, now)| {
            let asks_nothing = ASKING.contains(&part.as_str()) && *now == NONE;
            let is_asked = match part.as_str() {
                ROLLBACK_TO | KEY => false,
                part if part.starts_with(VARIABLES_OF) => false,
                SPEC => !has_pods,
                _ => true,
            };
            // Hashes that two keys made of one value differ: that says nothing.
            let is_known = !is_other_key || !is_keyed(part);
            let differs = recorded.0.get(*part).is_some_and(|then| then != *now);
            is_asked && !asks_nothing && is_known && differs
        });
        changed.map(|(part, _)| part.as_str())
    }
}

/// Whether a part is a hash that the operator's key made.
fn is_keyed(part: &str) -> bool {
    part.starts_with(SECRET) || part == VARIABLES || part.starts_with(VARIABLES_OF)
}

/// Whether a part is the content of something that pods read when they start and nobody wrote into the
/// resource: pods that keep their template are restarted for it.
pub fn is_read_at_start(part: &str) -> bool {
    is_keyed(part) || part == CA_BUNDLE
}

/// Whether a part is no content, but asks to carry out what there is.
pub fn is_word(part: &str) -> bool {
    ASKING.contains(&part)
}

/// Parts in the words that people are told, each once; never more of a Secret than its name and key.
pub fn told<'a>(parts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for part in parts {
        let word = match part {
            PODS | SPEC => SPEC.to_owned(),
            VARIABLES => "variables".to_owned(),
            REFRESH => annotations::REFRESH.to_owned(),
            APPROVE => format!("an upgrade of the operator ({})", annotations::APPROVE),
            RETRY => annotations::RETRY.to_owned(),
            part => part.to_owned(),
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(parts: &[(&str, Option<&str>)]) -> Inputs {
        let mut inputs = Inputs::default();
        for (part, content) in parts {
            inputs.set(part, *content);
        }
        inputs
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let mut written = inputs(&[(SPEC, Some("a")), (IMAGE, None)]);
        written.set_secret("keys", "api.key", "hash");
        assert_eq!(Inputs::parse(&written.text()), written);
        assert!(written.text().starts_with("image=- secret:keys/api.key="), "{}", written.text());
    }

    #[test]
    fn a_part_that_only_one_side_knows_is_no_change() {
        let before = inputs(&[(SPEC, Some("a")), (IMAGE, None)]);
        let differ = |now: &[(&str, Option<&str>)]| inputs(now).differ_from(&before);
        assert!(!differ(&[(SPEC, Some("a")), (IMAGE, None)]));
        assert!(!differ(&[(SPEC, Some("a")), (CONFIG, Some("new"))]));
        assert!(differ(&[(SPEC, Some("b"))]));
        assert!(differ(&[(SPEC, Some("a")), (IMAGE, Some("mirror:1"))]));
    }

    #[test]
    fn hashes_that_another_key_made_are_unknown_and_no_change() {
        let record = |key: &str, value: &str| {
            let mut inputs = inputs(&[(KEY, Some(key)), (SPEC, Some("a"))]);
            inputs.set_secret("keys", "token", value);
            inputs
        };
        assert!(record("1", "new").differ_from(&record("1", "old")));
        assert!(!record("2", "other").differ_from(&record("1", "old")));
        let before = inputs(&[(KEY, Some("1")), (SPEC, Some("b"))]);
        assert_eq!(record("2", "").changes(&before).collect::<Vec<_>>(), [SPEC]);
    }

    #[test]
    fn with_another_key_what_changed_since_an_earlier_state_is_still_known() {
        let record = |key: &str, values: [&str; 2]| {
            let mut inputs = inputs(&[(KEY, Some(key)), (SPEC, Some("a"))]);
            inputs.set_secret("same", "token", &format!("{key}-{}", values[0]));
            inputs.set_secret("rotated", "token", &format!("{key}-{}", values[1]));
            inputs
        };
        let (good, current) = (record("1", ["a", "old"]), record("1", ["a", "new"]));
        let now = record("2", ["a", "new"]);
        let rekeyed = good.clone().rekeyed_like(&current, &now);
        assert_eq!(now.changes(&rekeyed).collect::<Vec<_>>(), ["secret:rotated/token"]);
        let again = record("3", ["a", "new"]);
        let rekeyed = rekeyed.rekeyed_like(&now, &again);
        assert_eq!(again.changes(&rekeyed).collect::<Vec<_>>(), ["secret:rotated/token"]);
        assert_eq!(good.clone().rekeyed_like(&now, &again), good, "nothing compares them");
    }

    #[test]
    fn which_object_of_the_variables_changed_is_told_where_all_are_on_record() {
        let record = |objects: &[(&str, &str)]| {
            let all: String = objects.iter().map(|(_, content)| *content).collect();
            let mut inputs = inputs(&[(VARIABLES, Some(all.as_str()))]);
            for (object, content) in objects {
                inputs.set_variables_of(object, Some(content));
            }
            Inputs::parse(&inputs.text())
        };
        let before = record(&[("Secret/a", "1"), ("ConfigMap/b", "1")]);
        let after = record(&[("Secret/a", "2"), ("ConfigMap/b", "1")]);
        assert_eq!(after.changes(&before).collect::<Vec<_>>(), [VARIABLES], "each change once");
        assert_eq!(after.changed_variables(&before), [("Secret/a", "env:Secret/a")]);
        let unknown = inputs(&[(VARIABLES, Some("11"))]);
        assert!(after.changed_variables(&unknown).is_empty());
        assert!(!before.differ_from(&unknown), "an operator that records more restarts nothing");
    }

    #[test]
    fn people_are_told_names_and_each_once() {
        let words = told([APPROVE, CA_BUNDLE, VARIABLES, PODS, "secret:keys/token", SPEC, RETRY]);
        let upgrade = "an upgrade of the operator (llamastack.io/approve)";
        let (secret, retry) = ("secret:keys/token", "llamastack.io/retry");
        assert_eq!(words, [upgrade, "ca-bundle", "variables", "spec", secret, retry]);
    }

    #[test]
    fn who_takes_an_annotation_away_asks_for_nothing() {
        let before = inputs(&[(APPROVE, Some("1"))]);
        assert!(!inputs(&[(APPROVE, None)]).differ_from(&before));
        assert!(inputs(&[(APPROVE, Some("2"))]).differ_from(&before));
        assert!(inputs(&[(APPROVE, Some("1"))]).differ_from(&inputs(&[(APPROVE, None)])));
    }
}
