//! How findings are put into sentences, and how long those may become.

use std::collections::{HashMap, HashSet};

use super::observed::Limitation;
use crate::problems::Problem;
use crate::resource::{PREFLIGHT, SKIP};
use crate::rollout::Return;
use crate::rollout::preflight::{Preflight, State};
use llsd_api::v1alpha2::{PreflightProblem, PreflightStatus, PreflightVerdict};

/// Of a server that asks its callers who they are: the operator has no token, and would send none.
pub(super) const PROVIDERS_AS_PLANNED: &str = "Health check passed; the server lists its providers \
     only to callers with a right to, so the status shows those that are planned";

/// What a condition's message holds.
pub(super) const MESSAGE_BYTES: usize = 32 * 1024;
/// What an event's note holds.
pub(super) const NOTE_BYTES: usize = 1024;

/// Room for `; and 18446744073709551615 more`.
const MORE_BYTES: usize = 32;

/// Every problem with its remedy, as far as there is room.
pub(super) fn problems<'a>(problems: impl IntoIterator<Item = &'a Problem>) -> String {
    problems_within(problems, MESSAGE_BYTES)
}

pub(super) fn problems_within<'a>(
    problems: impl IntoIterator<Item = &'a Problem>,
    bytes: usize,
) -> String {
    listed(sentences(problems, problem_at), bytes)
}

/// What is said of several places in the same words is said once, of all of them.
fn sentences<'a>(
    problems: impl IntoIterator<Item = &'a Problem>,
    sentence: fn(&str, &Problem) -> String,
) -> Vec<String> {
    let mut alike: Vec<(Vec<String>, &Problem)> = Vec::new();
    let mut places = HashMap::new();
    let mut seen = HashSet::new();
    for problem in problems {
        if !seen.insert(problem) {
            continue;
        }
        let words = (&problem.message, &problem.remedy);
        let place = *places.entry(words).or_insert_with(|| {
            alike.push((Vec::new(), problem));
            alike.len() - 1
        });
        alike[place].0.push(problem.path.to_string());
    }
    alike.iter().map(|(paths, problem)| sentence(&paths.join(", "), problem)).collect()
}

/// Every limitation, as far as there is room.
pub(super) fn limitations<'a>(limitations: impl IntoIterator<Item = &'a Limitation>) -> String {
    let sentences = limitations.into_iter().map(|limitation| match limitation {
        Limitation::Forbidden(sentence) | Limitation::NotWatched(sentence) => sentence.clone(),
    });
    listed(sentences, MESSAGE_BYTES)
}

/// What pods wait for, and that nothing else is needed.
pub(super) fn models_awaited(words: &str) -> String {
    format!("Waiting for {words}; the server starts by itself then")
}

/// `path: message (remedy)`.
pub(super) fn problem(problem: &Problem) -> String {
    problem_at(&problem.path.to_string(), problem)
}

fn problem_at(path: &str, problem: &Problem) -> String {
    let remark = remark_at(path, problem);
    if problem.remedy.is_empty() { remark } else { format!("{remark} ({})", problem.remedy) }
}

/// `path: message`.
fn remark_at(path: &str, problem: &Problem) -> String {
    if path.is_empty() {
        return problem.message.clone();
    }
    format!("{path}: {}", problem.message)
}

/// Of ConfigMaps with start programs that pods mount and that cannot be made again; nothing where none is missing.
pub(super) fn lost_programs(lost: &[String]) -> Option<String> {
    let names = (!lost.is_empty()).then(|| lost.join(", "))?;
    Some(format!(
        "ConfigMap {names} with the start program of the server's pods is missing, and this operator brings \
         another one: running pods are unaffected, and pods that start would wait for it. `llsd rollout \
         approve`, or a change of the resource, gives the server the program of this operator"
    ))
}

/// A sentence and the warnings that go with it.
pub(super) fn with_warnings(sentence: &str, warnings: &[Problem]) -> String {
    if warnings.is_empty() {
        return sentence.to_owned();
    }
    let start = format!("{sentence}; warnings: ");
    let room = MESSAGE_BYTES.saturating_sub(start.len());
    start + &listed(sentences(warnings, remark_at), room)
}

/// The items that fit, and how many more there are; never half of one, except of a first one that
/// is too long by itself.
pub(super) fn listed(items: impl IntoIterator<Item = String>, bytes: usize) -> String {
    let items: Vec<String> = items.into_iter().collect();
    let whole = items.join("; ");
    if whole.len() <= bytes {
        return whole;
    }
    let room = bytes.saturating_sub(MORE_BYTES);
    let mut fitting = 0;
    let mut length = 0;
    for item in &items {
        length += item.len() + "; ".len();
        if length > room {
            break;
        }
        fitting += 1;
    }
    let fitting = fitting.max(1);
    let text = bounded(&items[..fitting].join("; "), room);
    match items.len() - fitting {
        0 => text,
        more => format!("{text}; and {more} more"),
    }
}

/// The text, cut between two characters where it is too long.
pub(super) fn bounded(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(bytes.saturating_sub('…'.len_utf8()));
    format!("{}…", &text[..end])
}

/// What a return to an earlier state means for who asked for the later one.
pub(super) fn rolled_back(back: &Return) -> String {
    if back.is_asked_for() {
        return format!(
            "The server runs the state {} as asked for by llamastack.io/rollback-to, until the spec \
             changes; values of Secrets and data are as they are now",
            back.to
        );
    }
    let cause = match back.cause.trim_end_matches('.') {
        "" => String::new(),
        cause => format!("; its pod: {cause}"),
    };
    format!(
        "The last change did not become available in time ({}{cause}), and the server runs the state {} from \
         before it. It is not tried again until the spec, its image or what only it reads changes; `llsd rollout \
         retry` or a new value of llamastack.io/retry tries it as it is. Values of Secrets and data are \
         not restored",
        back.why.trim_end_matches('.'),
        back.to
    )
}

const CHECKING: &str = "The change is checked in its own image before it is rolled out";

/// What a preflight means for who asked for the change.
pub(super) fn preflight(preflight: &Preflight) -> String {
    let checked = match &preflight.state {
        State::ToBeAsked(pending) => {
            return match &pending.why {
                Some(why) => format!("{CHECKING}; there is no Job for it yet: {why}"),
                None => CHECKING.to_owned(),
            };
        }
        State::Waiting(_) => {
            return format!(
                "{CHECKING}, and waits for its turn. The annotation {PREFLIGHT}: {SKIP} rolls it out now, unchecked"
            );
        }
        State::Asking(None, _) => return CHECKING.to_owned(),
        State::Asking(Some(why), _) => return format!("{CHECKING}; its Job waits: {why}"),
        State::Checked(checked) => checked,
    };
    let server = checked.server.as_deref().unwrap_or("the image");
    let mut found = findings(checked);
    match checked.verdict {
        PreflightVerdict::Good if found.is_empty() => format!("{server} accepts the change"),
        PreflightVerdict::Good => format!("{server} accepts the change, with warnings: {found}"),
        PreflightVerdict::Refused => {
            if let Some(why) = &checked.why {
                found = format!("{found}; it could not be asked again: {why}");
            }
            format!(
                "{server} would not run with the change, and the server runs on as it is. It is asked again \
                 when the resource or its image changes, or llamastack.io/retry gets a new value: {found}"
            )
        }
        PreflightVerdict::NotJudged | PreflightVerdict::Pending => {
            let why = checked.why.as_deref().unwrap_or("nothing is known of it");
            format!("The change could not be checked before it was rolled out: {why}")
        }
    }
}

/// What a server says alike of several places of its file is said once.
fn findings(checked: &PreflightStatus) -> String {
    let mut alike: Vec<(&PreflightProblem, Vec<&str>)> = Vec::new();
    for problem in checked.problems.iter().flatten() {
        let same = |known: &PreflightProblem| {
            (&known.field, &known.message) == (&problem.field, &problem.message)
        };
        let place = problem.path.as_deref();
        match alike.iter_mut().find(|(known, _)| same(known)) {
            Some((_, places)) => places.extend(place.filter(|place| !places.contains(place))),
            None => alike.push((problem, place.into_iter().collect())),
        }
    }
    let one = |(problem, places): (&PreflightProblem, Vec<&str>)| {
        let place = match &places[..] {
            [] => String::new(),
            places => format!(" (at {} of config.yaml)", places.join(", ")),
        };
        format!("{}: {}{place}", problem.field, problem.message)
    };
    let more = checked.more.map(|more| format!("and {more} more"));
    alike.into_iter().map(one).chain(more).collect::<Vec<_>>().join("; ")
}

/// `1 model`, `2 models`.
pub(super) fn counted(number: usize, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problems::{FieldPath, Reason};

    #[test]
    fn a_list_is_cut_between_items_and_says_how_many_are_missing() {
        let items = |count: usize| (0..count).map(|number| format!("item number {number}"));
        assert_eq!(listed(items(2), 100), "item number 0; item number 1");
        let cut = listed(items(50), 100);
        assert!(cut.len() <= 100, "{cut}");
        assert_eq!(cut, "item number 0; item number 1; item number 2; item number 3; and 46 more");
    }

    #[test]
    fn a_first_item_that_is_too_long_is_cut_itself() {
        let cut = listed(["é".repeat(100), "b".to_owned()], 100);
        assert!(cut.len() <= 100 && cut.ends_with("é…; and 1 more"), "{cut}");
    }

    #[test]
    fn what_is_said_alike_of_several_places_is_said_once() {
        let problem = |field: &str, message: &str| Problem {
            path: FieldPath::spec().key(field),
            reason: Reason::Invalid,
            message: message.to_owned(),
            remedy: "mend it".to_owned(),
        };
        let all =
            [problem("a", "no"), problem("b", "other"), problem("c", "no"), problem("a", "no")];
        assert_eq!(problems(&all), "spec.a, spec.c: no (mend it); spec.b: other (mend it)");
        assert_eq!(
            with_warnings("Done", &all),
            "Done; warnings: spec.a, spec.c: no; spec.b: other"
        );
        let found = |path: &str| PreflightProblem {
            field: "spec.overrideConfig".to_owned(),
            message: "the backend kv_default is not there".to_owned(),
            path: Some(path.to_owned()),
            ..PreflightProblem::default()
        };
        let checked = PreflightStatus {
            problems: Some(["a", "b", "c", "a"].map(found).into()),
            ..PreflightStatus::default()
        };
        assert_eq!(
            findings(&checked),
            "spec.overrideConfig: the backend kv_default is not there (at a, b, c of config.yaml)"
        );
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(bounded("short", 5), "short");
        assert_eq!(bounded("ééé", 5), "é…");
    }
}
