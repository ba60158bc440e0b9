//! The sentences behind `when` and `unless`: which ones a release understands, and whom they hold for.

use llsd_api::rules::CONDITION_SENTENCE;
use strsim::levenshtein;

use super::caller::Caller;
use super::claims::words;
use crate::releases::Release;

/// A condition that is understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// `user is owner`
    IsOwner,
    /// `user is not owner`
    IsNotOwner,
    /// `user with VALUE in NAME`
    Has { value: String, name: String },
    /// `user with VALUE not in NAME`
    HasNot { value: String, name: String },
    /// `user in owners NAME`
    Shares { name: String },
    /// `user not in owners NAME`
    SharesNot { name: String },
    /// `resource is unowned`
    IsUnowned,
}

/// What is wrong with a text of a rule, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    pub message: String,
    pub remedy: String,
}

/// Words in capitals stand for any word.
const SENTENCES: [&str; 6] = [
    "user is owner",
    "user is not owner",
    "user in owners NAME",
    "user not in owners NAME",
    "user with VALUE in NAME",
    "user with VALUE not in NAME",
];
const UNOWNED: &str = "resource is unowned";

/// The sentences that a release understands. Words in capitals stand for any word.
pub fn sentences(release: &Release) -> impl Iterator<Item = &'static str> {
    SENTENCES.into_iter().chain(release.knows_unowned.then_some(UNOWNED))
}

/// Reads a sentence as the release does: case counts, the amount of space between words does not.
pub fn parse(text: &str, release: &Release) -> Result<Condition, Mistake> {
    let words: Vec<&str> = words(text).collect();
    let own = |word: &str| word.to_owned();
    Ok(match words.as_slice() {
        ["user", "is", "owner"] => Condition::IsOwner,
        ["user", "is", "not", "owner"] => Condition::IsNotOwner,
        ["user", "with", value, "in", name] => {
            Condition::Has { value: own(value), name: own(name) }
        }
        ["user", "with", value, "not", "in", name] => {
            Condition::HasNot { value: own(value), name: own(name) }
        }
        ["user", "in", "owners", name] => Condition::Shares { name: own(name) },
        ["user", "not", "in", "owners", name] => Condition::SharesNot { name: own(name) },
        ["resource", "is", "unowned"] if release.knows_unowned => Condition::IsUnowned,
        _ => return Err(mistake(text, &words, release)),
    })
}

impl Condition {
    /// Whether it holds for a caller, before something that `owner` made. A path has no owner.
    pub(super) fn holds(&self, caller: &Caller, owner: Option<&Caller>, release: &Release) -> bool {
        match self {
            Self::IsOwner => owner.is_some_and(|owner| owner.principal == caller.principal),
            Self::IsNotOwner => owner.is_none_or(|owner| owner.principal != caller.principal),
            Self::Has { value, name } => caller.values(name).contains(value),
            Self::HasNot { value, name } => !caller.values(name).contains(value),
            Self::Shares { name } => shares(name, caller, owner, release),
            Self::SharesNot { name } => !shares(name, caller, owner, release),
            Self::IsUnowned => owner.is_none(),
        }
    }

    /// What it comes to before something that is about to be made, which nobody owns: where that is the
    /// same for every caller.
    pub(super) fn before_it_is_made(&self, release: &Release) -> Option<bool> {
        match self {
            Self::IsOwner => Some(false),
            Self::IsNotOwner | Self::IsUnowned => Some(true),
            Self::Shares { .. } => Some(!release.knows_unowned),
            Self::SharesNot { .. } => Some(release.knows_unowned),
            Self::Has { .. } | Self::HasNot { .. } => None,
        }
    }
}

fn shares(name: &str, caller: &Caller, owner: Option<&Caller>, release: &Release) -> bool {
    let owners = owner.map(|owner| owner.values(name)).unwrap_or_default();
    if owners.is_empty() {
        return !release.knows_unowned;
    }
    owners.iter().any(|value| caller.values(name).contains(value))
}

fn mistake(text: &str, words: &[&str], release: &Release) -> Mistake {
    let known: Vec<String> = sentences(release).map(|known| format!("`{known}`")).collect();
    let meant = sentences(release)
        .filter_map(|sentence| corrected(words, sentence))
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, sentence)| format!("write `{sentence}`, if that is meant; "));
    let message = if words.join(" ") == UNOWNED {
        format!("`{UNOWNED}` is a condition of later releases than {}", release.title)
    } else {
        format!("{}: `{text}`", CONDITION_SENTENCE.message)
    };
    let remedy = format!("{}the conditions are {}", meant.unwrap_or_default(), known.join(", "));
    Mistake { message, remedy }
}

/// The sentence with the words in its places, where all but one of its own words are nearly there; and
/// how far off they are.
fn corrected(words: &[&str], sentence: &str) -> Option<(usize, String)> {
    let own: Vec<&str> = sentence.split(' ').collect();
    if own.len() != words.len() {
        return None;
    }
    let (mut slips, mut strangers, mut said) = (0, 0, Vec::new());
    for (own, word) in own.iter().zip(words) {
        if own.chars().all(char::is_uppercase) {
            said.push(*word);
            continue;
        }
        let far = levenshtein(&word.to_lowercase(), own);
        strangers += usize::from(far > 2 || far >= own.len());
        slips += far;
        said.push(*own);
    }
    (strangers <= 1).then(|| (slips, said.join(" ")))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::releases::Releases;

    fn release(name: &str) -> &'static Release {
        Releases::shipped().all().iter().find(|row| row.name == name).unwrap()
    }

    #[rstest]
    #[case::the_servers_own_docs_have_this("user in owner teams", "`user in owners teams`")]
    #[case::another_verb("user has admin in roles", "`user with admin in roles`")]
    #[case::case("User is Owner", "`user is owner`")]
    #[case::slip("user wth admin not in roles", "`user with admin not in roles`")]
    fn a_near_miss_is_told_what_was_meant(#[case] text: &str, #[case] meant: &str) {
        let mistake = parse(text, release("0.7.3")).unwrap_err();
        assert!(mistake.remedy.starts_with(&format!("write {meant}, if")), "{}", mistake.remedy);
    }

    #[test]
    fn what_is_far_from_all_sentences_is_told_them_all() {
        let mistake = parse("admins only", release("0.7.3")).unwrap_err();
        assert!(mistake.remedy.starts_with("the conditions are `user is owner`, "));
        assert!(mistake.remedy.ends_with("`resource is unowned`"));
    }

    #[test]
    fn a_sentence_of_later_releases_is_refused_before_them() {
        assert_eq!(parse("resource is unowned", release("0.4.7")), Ok(Condition::IsUnowned));
        let mistake = parse("resource is unowned", release("0.3.5")).unwrap_err();
        assert!(mistake.message.contains("later releases than 0.3.5"), "{}", mistake.message);
    }

    #[test]
    fn the_space_between_words_is_no_matter() {
        let found = parse("\tuser  with\u{1c}not in\nroles ", release("0.7.3"));
        let expected = Condition::Has { value: "not".to_owned(), name: "roles".to_owned() };
        assert_eq!(found, Ok(expected));
    }
}
