//! What a server thinks of many trials at once.

use llsd_plan::plan::Plan;
use llsd_plan::problems::{FieldPath, Problem, Reason, Segment};
use llsd_testkit::{Candidate, CheckResult, Checker, InstalledType};
use serde_json::Value;

use crate::finding::{Finding, Kind};
use crate::lost::lost;
use crate::obvious::obvious;
use crate::origin::{field_behind, is_part_remarked, is_remarked};
use crate::trial::{Outcome, Surroundings, Trial};

/// A release that is asked.
#[derive(Debug)]
pub struct Examiner {
    checker: Checker,
    pub types: Vec<InstalledType>,
}

/// What became of some trials.
#[derive(Debug)]
pub struct Examined {
    /// Everything that looks like a disagreement. Whether it is one, [`Examiner::confirms`] says.
    pub findings: Vec<Finding>,
    /// For so many of them a file was generated.
    pub generated: u64,
}

/// What is asked of the server about a trial.
enum Question {
    Generated(Box<Plan>, Surroundings),
    /// The operator refused it, because of this.
    Obvious(String),
}

impl Examiner {
    pub fn new(checker: Checker, types: Vec<InstalledType>) -> Self {
        Self { checker, types }
    }

    /// Plans all trials, and asks the server about each.
    pub fn examine(&mut self, trials: &[Trial]) -> anyhow::Result<Examined> {
        let mut generated = 0;
        let mut found = Vec::new();
        let mut questions = Vec::new();
        let mut candidates = Vec::new();
        for trial in trials {
            for (question, candidate) in self.questions(trial, &mut found) {
                questions.push((trial, question));
                candidates.push(candidate);
            }
        }
        let results = self.checker.check(&candidates)?;
        for ((trial, question), result) in questions.into_iter().zip(&results) {
            let finding = |(kind, what)| Finding { kind, what, trial: trial.clone() };
            match question {
                Question::Generated(plan, surroundings) => {
                    generated += u64::from(surroundings == Surroundings::Bare);
                    found.extend(disagreements(&plan, result).into_iter().map(finding));
                }
                Question::Obvious(why) if result.is_clean() => {
                    found.push(finding((Kind::Doubtful, why)));
                }
                Question::Obvious(_) => {}
            }
        }
        Ok(Examined { findings: found, generated })
    }

    fn questions(&self, trial: &Trial, found: &mut Vec<Finding>) -> Vec<(Question, Candidate)> {
        let mut say = |kind, what: String| found.push(Finding { kind, what, trial: trial.clone() });
        match trial.plan() {
            Outcome::Planned(plan) => {
                if !is_same(&trial.plan(), &plan) {
                    say(Kind::Unstable, "the text differs".to_owned());
                }
                for path in lost(trial, &plan) {
                    say(Kind::Lost, path.to_string());
                }
                for broken in plan.warnings.iter().filter_map(|it| broken_suggestion(trial, it)) {
                    say(Kind::Suggestion, broken);
                }
                let of = |surroundings: &Surroundings| {
                    let candidate = trial.planned_candidate(&plan, *surroundings);
                    (Question::Generated(plan.clone(), *surroundings), candidate)
                };
                trial.surroundings().iter().map(of).collect()
            }
            Outcome::Refused(problems) => {
                for broken in problems.iter().filter_map(|it| broken_suggestion(trial, it)) {
                    say(Kind::Suggestion, broken);
                }
                let obvious = obvious(trial, &self.types);
                let problem = problems.first().filter(|_| obvious.is_whole);
                let why = problem.map(|problem| format!("{}: {}", problem.path, problem.message));
                let candidate = |why| {
                    (Question::Obvious(why), trial.candidate(&obvious.text, Surroundings::Bare))
                };
                why.map(candidate).into_iter().collect()
            }
            Outcome::Nothing => Vec::new(),
            Outcome::Panicked(text) => {
                say(Kind::Panicked, text);
                Vec::new()
            }
        }
    }

    /// Whether it is the operator's doing: the base alone is fine in the same surroundings, and the server says
    /// something else of what a person would have written.
    pub fn confirms(&mut self, finding: &Finding) -> anyhow::Result<bool> {
        if !matches!(finding.kind, Kind::Refused | Kind::Dropped | Kind::Doubtful) {
            return Ok(true);
        }
        let trial = &finding.trial;
        let obvious = obvious(trial, &self.types).text;
        let texts = [&*trial.base.text, &*obvious];
        let of =
            |surroundings: &Surroundings| texts.map(|text| trial.candidate(text, *surroundings));
        let candidates: Vec<Candidate> = trial.surroundings().iter().flat_map(of).collect();
        let results = self.checker.check(&candidates)?;
        let is_base_fine = results.iter().step_by(2).all(CheckResult::is_clean);
        let message = message_of(&finding.what);
        let mut said = results.iter().skip(1).step_by(2).flat_map(|result| match finding.kind {
            Kind::Refused => result.errors.iter(),
            _ => result.dropped.iter(),
        });
        let is_theirs =
            finding.kind != Kind::Doubtful && said.any(|line| message_of(line) == message);
        Ok(is_base_fine && !is_theirs)
    }

    /// Which of the bases start by themselves.
    pub fn is_clean(&mut self, candidates: &[Candidate]) -> anyhow::Result<Vec<bool>> {
        Ok(self.checker.check(candidates)?.iter().map(CheckResult::is_clean).collect())
    }
}

fn is_same(outcome: &Outcome, plan: &Plan) -> bool {
    let text = |plan: &Plan| plan.generated.as_ref().map(|generated| generated.text.clone());
    matches!(outcome, Outcome::Planned(other) if text(other) == text(plan))
}

/// An error without its place; of what is dropped, the name of the field.
fn message_of(line: &str) -> &str {
    match line.split_once(": ") {
        Some((_, message)) => message,
        None => line.rsplit(['.', ']']).next().unwrap_or(line),
    }
}

/// What the server says against a generated file and the operator did not warn of.
fn disagreements(plan: &Plan, result: &CheckResult) -> Vec<(Kind, String)> {
    let Some(generated) = &plan.generated else { return Vec::new() };
    let is_known = |line: &str| {
        let place = line.split_once(": ").map_or(line, |(place, _)| place);
        let field = field_behind(&generated.document, place);
        let is_warned_of = |field: FieldPath| {
            is_remarked(&field, &plan.warnings) || is_part_remarked(&field, place, &plan.warnings)
        };
        field.is_some_and(is_warned_of) || names_variable(line, &plan.warnings)
    };
    let of = |kind: Kind, lines: &[String]| {
        let unknown = lines.iter().filter(|line| !is_known(line));
        unknown.map(|line| (kind, line.clone())).collect::<Vec<_>>()
    };
    [of(Kind::Refused, &result.errors), of(Kind::Dropped, &result.dropped)].concat()
}

/// Whether a variable is missing that a warning names.
fn names_variable(line: &str, warnings: &[Problem]) -> bool {
    let named =
        line.split_once("Environment variable '").and_then(|(_, rest)| rest.split_once('\''));
    named.is_some_and(|(name, _)| warnings.iter().any(|warning| warning.message.contains(name)))
}

/// What is said of a resource that follows a suggestion about a provider's type.
fn broken_suggestion(trial: &Trial, problem: &Problem) -> Option<String> {
    let Some(Segment::Key(last)) = problem.path.segments().last() else { return None };
    if last != "provider"
        || problem.path.segments().get(1) != Some(&Segment::Key("providers".to_owned()))
    {
        return None;
    }
    let text = format!("{} {}", problem.message, problem.remedy);
    let suggested =
        between(&text, "did you mean ", '?').or_else(|| between(&text, "called `", '`'))?;
    let mut other = trial.clone();
    *place_in(&mut other.spec, &problem.path)? = Value::from(suggested);
    let said = match other.plan() {
        Outcome::Planned(plan) => plan.warnings,
        Outcome::Refused(problems) => problems,
        Outcome::Nothing | Outcome::Panicked(_) => return None,
    };
    let again =
        said.iter().find(|said| said.path == problem.path && said.reason == Reason::NotFound)?;
    Some(format!("{}: {}; and of `{suggested}`: {}", problem.path, problem.message, again.message))
}

fn between<'t>(text: &'t str, before: &str, after: char) -> Option<&'t str> {
    Some(text.split_once(before)?.1.split_once(after)?.0)
}

/// The value of a spec at a path that begins with `spec`.
fn place_in<'v>(spec: &'v mut Value, path: &FieldPath) -> Option<&'v mut Value> {
    path.segments().iter().skip(1).try_fold(spec, |value, segment| match segment {
        Segment::Key(key) => value.get_mut(key),
        Segment::Index(index) => value.get_mut(index),
    })
}
