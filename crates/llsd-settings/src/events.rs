//! What is said of a ConfigMap that was checked: events on it, where something changed.

use llsd_image::settings::ConfigProblem;
use llsd_plan::status::{Event, EventKind};

use super::in_use::{Broken, CheckedTexts, Instead};
use super::key::ConfigKey;

/// An event holds no more.
const LONGEST_NOTE: usize = 1000;
const ACTION: &str = "ReadConfiguration";

impl CheckedTexts {
    /// All that is wrong, each once.
    pub fn problems(&self) -> Vec<&ConfigProblem> {
        let broken = self.broken.values().flat_map(|broken| &broken.problems);
        let unknown = self.unknown.iter();
        let mut all: Vec<&ConfigProblem> = broken.collect();
        all.extend(unknown.filter(|problem| !self.is_of_a_broken_key(problem)));
        all
    }

    /// The events that tell what is different from what was said before.
    pub fn events(&self, before: &Self) -> Vec<Event> {
        let broken = self.broken.iter();
        let broken = broken.filter(|(key, broken)| before.broken.get(*key) != Some(*broken));
        let broken = broken.map(|(key, broken)| {
            event(EventKind::Warning, "ConfigurationBroken", &broken_note(*key, broken))
        });
        let unknown = self.unknown.iter().filter(|problem| {
            !self.is_of_a_broken_key(problem) && !before.unknown.contains(problem)
        });
        let unknown = unknown
            .map(|problem| event(EventKind::Warning, "ConfigurationIgnored", &problem.to_string()));
        let mended = before.broken.keys().filter(|key| !self.broken.contains_key(*key));
        let mended = mended.map(|key| {
            let note = format!("{} is in order again, and in use", key.name());
            event(EventKind::Normal, "ConfigurationUsed", &note)
        });
        broken.chain(unknown).chain(mended).collect()
    }

    fn is_of_a_broken_key(&self, problem: &ConfigProblem) -> bool {
        self.broken.values().any(|broken| broken.problems.contains(problem))
    }
}

fn event(kind: EventKind, reason: &'static str, note: &str) -> Event {
    Event { kind, reason, action: ACTION, note: note.chars().take(LONGEST_NOTE).collect() }
}

fn broken_note(key: ConfigKey, broken: &Broken) -> String {
    let consequence = match broken.instead {
        Instead::LastGood => "is broken, and the value that it had before stays in use",
        Instead::WhatCanBeRead => "is broken, and in use only as far as it can be read",
        Instead::Nothing => "is broken, and allows nothing until it is corrected",
    };
    let problems: Vec<String> = broken.problems.iter().map(ToString::to_string).collect();
    format!("{} {consequence}: {}", key.name(), problems.join("; "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::in_use::TextsInUse;
    use super::*;

    #[test]
    fn a_change_is_told_once_and_so_is_its_end() {
        let check = |before: &CheckedTexts, text: &str| {
            let data: BTreeMap<String, String> = [("ingressDomain".into(), text.into())].into();
            before.in_use.check(&data)
        };
        let fine = check(&CheckedTexts::default(), "apps.example.com");
        assert_eq!(fine.events(&CheckedTexts::default()), []);
        let broken = check(&fine, "*.example.com");
        let [told] = &broken.events(&fine)[..] else { panic!("{:?}", broken.events(&fine)) };
        assert_eq!((told.kind, told.reason), (EventKind::Warning, "ConfigurationBroken"));
        let said = "ingressDomain is broken, and the value that it had before stays in use: ";
        assert!(told.note.starts_with(said), "{}", told.note);
        assert_eq!(broken.events(&broken), []);
        let restricting = broken.in_use.check(&[("overrides".into(), "forbid".into())].into());
        let [.., told, _] = &restricting.events(&broken)[..] else { panic!("{restricting:?}") };
        let said = "overrides is broken, and allows nothing until it is corrected: ";
        assert!(told.note.starts_with(said), "{}", told.note);
        let mended = check(&broken, "");
        assert_eq!(mended.events(&broken)[0].reason, "ConfigurationUsed");
        let unknown = TextsInUse::default().check(&[("other".into(), String::new())].into());
        assert_eq!(unknown.events(&CheckedTexts::default())[0].reason, "ConfigurationIgnored");
        assert_eq!(unknown.problems().len(), 1);
    }
}
