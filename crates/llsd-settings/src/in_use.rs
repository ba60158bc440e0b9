//! Which texts of its ConfigMap the operator works with: of each key the last good one. A slip of the
//! pen must not send every server back to another image, nor delete what protects it.

use std::collections::BTreeMap;

use llsd_image::settings::ConfigProblem;

use super::key::ConfigKey;
use super::operator_config::OperatorConfig;

/// The texts that the operator works with, by key. A key that is not here was never read. The operator
/// keeps them in a ConfigMap of its own, so that they outlive it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextsInUse(BTreeMap<ConfigKey, String>);

/// What becomes of a ConfigMap that was just read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedTexts {
    pub in_use: TextsInUse,
    /// Keys whose text is not used, or not in full, and what is wrong with each.
    pub broken: BTreeMap<ConfigKey, Broken>,
    /// Keys that nobody reads.
    pub unknown: Vec<ConfigProblem>,
}

/// A key that is broken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Broken {
    pub problems: Vec<ConfigProblem>,
    pub instead: Instead,
}

/// What holds of a key that is broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Instead {
    /// The text before stays in use.
    LastGood,
    /// The key had no good value before, so the operator uses what it can read of this one.
    #[default]
    WhatCanBeRead,
    /// The same of a key that restricts resources: none of what it is about is allowed.
    Nothing,
}

impl TextsInUse {
    /// As they were kept.
    pub fn kept(data: &BTreeMap<String, String>) -> Self {
        let known =
            |(name, text): (&String, &String)| Some((ConfigKey::from_name(name)?, text.clone()));
        Self(data.iter().filter_map(known).collect())
    }

    /// By the names of the keys, as they are kept.
    pub fn by_name(&self) -> BTreeMap<String, String> {
        self.0.iter().map(|(key, text)| (key.name().to_owned(), text.clone())).collect()
    }

    /// What holds once the ConfigMap has this data. A text in order is used, and one that is absent or
    /// empty means the default. One that is broken is not, and the one before stays; only where there
    /// is none before, as with a ConfigMap that v0.9 left, what can be read of it holds. For a key that
    /// restricts resources, an empty text does not count as a good value, and a text under a misspelt name
    /// is read as the key's own: a typing mistake must not lift a restriction.
    #[must_use]
    pub fn check(&self, data: &BTreeMap<String, String>) -> CheckedTexts {
        let mut checked = CheckedTexts { in_use: self.clone(), ..CheckedTexts::default() };
        for name in data.keys().filter(|name| ConfigKey::from_name(name).is_none()) {
            checked.unknown.push(ConfigKey::unknown(name));
            // Under its misspelt name the key seems to be absent, which would mean its default.
            if let Some(meant) = ConfigKey::meant(name).filter(|key| !data.contains_key(key.name()))
            {
                checked.broken.entry(meant).or_default().problems.push(ConfigKey::unknown(name));
            }
        }
        for key in ConfigKey::ALL {
            let text = text_of(key, data);
            let problems = problems(key, text);
            let is_read = problems.is_empty();
            if !is_read {
                checked.broken.entry(key).or_default().problems.extend(problems);
            }
            match checked.broken.get_mut(&key) {
                Some(broken) if self.has_before(key, text) => broken.instead = Instead::LastGood,
                broken => {
                    if let Some(broken) = broken.filter(|_| key.restricts() && !is_read) {
                        broken.instead = Instead::Nothing;
                    }
                    checked.in_use.0.insert(key, text.to_owned());
                }
            }
        }
        checked
    }

    /// Whether there is another text of a key to keep in the place of a broken one.
    fn has_before(&self, key: ConfigKey, text: &str) -> bool {
        let is_kept = |before: &String| match before.trim() {
            "" => !key.restricts(),
            _ => before != text,
        };
        self.0.get(&key).is_some_and(is_kept)
    }
}

/// The text of a key; of one that restricts resources, also where its name is misspelt.
fn text_of(key: ConfigKey, data: &BTreeMap<String, String>) -> &str {
    let misspelt = || data.iter().find(|(name, _)| ConfigKey::meant(name) == Some(key));
    let text = match data.get(key.name()) {
        None if key.restricts() => misspelt().map(|(_, text)| text),
        text => text,
    };
    text.map(String::as_str).unwrap_or_default()
}

/// What is wrong with the text under a key.
pub(super) fn problems(key: ConfigKey, text: &str) -> Vec<ConfigProblem> {
    OperatorConfig::default().set(key, text)
}

#[cfg(test)]
mod tests {
    use llsd_plan::facts::OverridesPolicy;

    use super::*;

    fn data(of: &[(&str, &str)]) -> BTreeMap<String, String> {
        of.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect()
    }

    fn texts(of: &[(&str, &str)]) -> TextsInUse {
        let all = ConfigKey::ALL.map(|key| (key.name(), ""));
        TextsInUse::kept(&all.iter().chain(of).map(|(k, v)| ((*k).into(), (*v).into())).collect())
    }

    const GOOD: (&str, &str) = ("image-overrides", "starter: mirror.internal/starter:1");

    #[test]
    fn a_broken_text_leaves_the_one_before_in_use_and_the_other_keys_alone() {
        for broken in [
            "starter: [mirror.internal",
            "starter: UPPER",
            "startr: mirror.internal/starter:1",
            "7",
        ] {
            let flags = ("featureFlags", "enableNetworkPolicy: {enabled: true}");
            let checked = texts(&[GOOD]).check(&data(&[("image-overrides", broken), flags]));
            assert_eq!(checked.in_use, texts(&[GOOD, flags]), "{broken}");
            let keys: Vec<ConfigKey> = checked.broken.keys().copied().collect();
            assert_eq!(keys, [ConfigKey::ImageOverrides], "{broken}");
        }
    }

    #[test]
    fn an_absent_or_empty_key_means_its_default() {
        for emptied in
            [data(&[]), data(&[("image-overrides", "")]), data(&[("image-overrides", "\n")])]
        {
            let checked = texts(&[GOOD]).check(&emptied);
            assert_eq!(checked.broken, BTreeMap::new());
            let (config, _) = OperatorConfig::parse(&checked.in_use.by_name(), [].into_iter());
            assert_eq!(config, OperatorConfig::default(), "{emptied:?}");
        }
    }

    #[test]
    fn a_misspelt_key_is_not_an_absent_one() {
        let checked = texts(&[GOOD]).check(&data(&[("imageOverrides", "starter: a")]));
        assert_eq!(checked.in_use, texts(&[GOOD]));
        let said = checked.broken[&ConfigKey::ImageOverrides].problems[0].to_string();
        assert!(said.starts_with("imageOverrides: unknown key; did you mean image-overrides?"));
        // Beside the key itself it is only unknown.
        let checked = texts(&[]).check(&data(&[("imageOverrides", "x"), GOOD]));
        assert_eq!((checked.in_use, checked.broken), (texts(&[GOOD]), BTreeMap::new()));
        assert_eq!(checked.unknown.len(), 1);
        let checked = texts(&[GOOD]).check(&data(&[("preferences", "x"), GOOD]));
        assert_eq!((checked.broken, checked.unknown.len()), (BTreeMap::new(), 1));
    }

    #[test]
    fn what_was_to_restrict_resources_and_is_broken_restricts_them_most() {
        let cases = [
            ("overrides", "forbid", ConfigKey::Overrides),
            ("exposure", "allowedDomains: apps.example.com", ConfigKey::Exposure),
            (
                "exposure",
                "{allowedDomains: [apps.example.com], annotations: []}",
                ConfigKey::Exposure,
            ),
            ("images", "allowed: [", ConfigKey::Images),
        ];
        for (name, text, key) in cases {
            // With nothing before, and with a default before, as in a ConfigMap that the operator made.
            for before in [TextsInUse::default(), texts(&[])] {
                let checked = before.check(&data(&[(name, text)]));
                assert_eq!(checked.broken[&key].instead, Instead::Nothing, "{text}");
                let (config, _) = OperatorConfig::parse(&checked.in_use.by_name(), [].into_iter());
                let mut strict = OperatorConfig::default();
                strict.set(key, "[");
                assert_ne!(strict, OperatorConfig::default());
                assert_eq!(config, strict, "{text}");
                // The same again says and does the same, and what is in order is used.
                assert_eq!(checked.in_use.check(&data(&[(name, text)])), checked, "{text}");
                let emptied = checked.in_use.check(&data(&[]));
                assert_eq!((emptied.in_use, emptied.broken), (texts(&[]), BTreeMap::new()));
            }
        }
    }

    #[test]
    fn what_restricts_resources_already_goes_on_when_its_text_breaks() {
        let good = ("exposure", "allowedDomains: [apps.example.com]");
        let checked = texts(&[good]).check(&data(&[("exposure", "allowedDomains: all")]));
        assert_eq!(checked.in_use, texts(&[good]));
        assert_eq!(checked.broken[&ConfigKey::Exposure].instead, Instead::LastGood);
    }

    #[test]
    fn a_restriction_under_a_misspelt_name_is_read_as_what_it_was_meant_to_be() {
        for before in [TextsInUse::default(), texts(&[])] {
            for text in ["Forbid", "forbid"] {
                let checked = before.check(&data(&[("overides", text)]));
                let (config, _) = OperatorConfig::parse(&checked.in_use.by_name(), [].into_iter());
                assert_eq!(config.overrides, OverridesPolicy::Forbid, "{text}");
                assert!(checked.broken.contains_key(&ConfigKey::Overrides), "{text}");
            }
        }
        let kept = texts(&[("overrides", "Allow")]).check(&data(&[("overides", "Forbid")]));
        assert_eq!(kept.in_use, texts(&[("overrides", "Allow")]), "what was in order before stays");
    }

    #[test]
    fn what_v0_9_left_holds_as_far_as_it_can_be_read_and_stays_when_it_gets_worse() {
        let left = ("image-overrides", "{starter: mirror.internal/starter:1, other: a}");
        let checked = TextsInUse::default().check(&data(&[left]));
        assert_eq!(checked.in_use, texts(&[left]));
        assert!(checked.broken.contains_key(&ConfigKey::ImageOverrides));
        let (config, _) = OperatorConfig::parse(&checked.in_use.by_name(), [].into_iter());
        assert_eq!(config.image_overrides["starter"], "mirror.internal/starter:1");
        let worse = checked.in_use.check(&data(&[("image-overrides", "starter: [")]));
        assert_eq!(worse.in_use, texts(&[left]));
    }

    #[test]
    fn what_was_kept_is_read_back_and_keys_of_other_releases_are_left_out() {
        let kept = texts(&[GOOD]);
        let mut data = kept.by_name();
        data.insert("later".into(), "x".into());
        assert_eq!(TextsInUse::kept(&data), kept);
    }
}
