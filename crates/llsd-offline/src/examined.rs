//! One resource examined from all sides: checked by itself, then planned with the facts, and every
//! finding at its line of the file and in the fields of its version.

use std::collections::HashSet;

use llsd_api::conversion::{Version, convert};
use llsd_plan::facts::{Facts, ImageFacts};
use llsd_plan::plan::{self, Plan};
use llsd_plan::problems::{FieldPath, Findings, Problem, Reason};
use llsd_plan::validate::{v1alpha1_path, validate};
use serde_json::Value;

use crate::finding::Finding;
use crate::resource::{Resource, Summary};

/// A resource and all that was found in it.
#[derive(Clone, Debug)]
pub struct Examined {
    pub resource: Resource,
    /// What only a cluster or a registry could tell.
    pub missing: Vec<Finding>,
    /// There without problems and with nothing missing.
    pub planned: Option<Planned>,
}

/// A plan, and what it was made from.
#[derive(Clone, Debug)]
pub struct Planned {
    pub plan: Plan,
    /// The v1alpha2 form of the resource.
    pub object: Value,
    /// What was known of the server's image.
    pub image: ImageFacts,
}

impl Examined {
    pub fn new(resource: Resource, facts: Option<&Facts>) -> Self {
        let mut examined = Self { resource, missing: Vec::new(), planned: None };
        if let Some(version) = examined.resource.version {
            examined.check(version, facts);
        }
        examined
    }

    fn check(&mut self, version: Version, facts: Option<&Facts>) {
        let written = self.resource.to_json();
        let mut findings = validate(&written);
        // A v1alpha1 resource whose form is wrong becomes nothing that is worth planning.
        let sound = version == Version::V1Alpha2 || findings.problems.is_empty();
        let sound = sound && !findings.exceed_a_limit();
        if let Some(facts) = facts.filter(|_| sound) {
            let object = convert(written, Version::V1Alpha2);
            let planning = plan::parse_and_plan(&object, facts);
            findings.extend(self.found_by_planning(planning, object, &facts.image));
        }
        self.take(findings);
    }

    /// Takes in what planning came to elsewhere, with the facts of a cluster.
    pub fn planned_as(&mut self, planning: plan::Planning, object: Value, image: &ImageFacts) {
        let findings = self.found_by_planning(planning, object, image);
        self.take(findings);
    }

    fn found_by_planning(
        &mut self,
        planning: plan::Planning,
        object: Value,
        image: &ImageFacts,
    ) -> Findings {
        let mut findings = Findings::default();
        match planning {
            plan::Planning::Planned(plan) => {
                let remarks = plan.warnings.iter().chain(&plan.withheld).cloned().collect();
                findings.warnings = self.in_own_fields(remarks);
                self.planned = Some(Planned { plan: *plan, object, image: image.clone() });
            }
            plan::Planning::Refused(found) => {
                findings.problems = self.in_own_fields(found.problems);
                findings.warnings = self.in_own_fields(found.warnings);
                if findings.problems.is_empty() {
                    findings.problems.push(unreadable());
                }
            }
            plan::Planning::Unavailable { missing, warnings } => {
                self.missing = self.located(self.in_own_fields(missing));
                findings.warnings = self.in_own_fields(warnings);
            }
        }
        findings
    }

    /// Planning checks by itself too, so most findings come twice.
    fn take(&mut self, mut findings: Findings) {
        findings.sort();
        let Findings { mut problems, mut warnings } = findings;
        let said = Said::in_problems(&problems);
        warnings.retain(|warning| !said.covers(warning));
        if problems.len() > 1 {
            // The others say why it cannot be read.
            problems.retain(|problem| *problem != unreadable());
        }
        let (problems, warnings) = (self.located(problems), self.located(warnings));
        let summary = &mut self.resource.summary;
        add(&mut summary.problems, problems);
        add(&mut summary.warnings, warnings);
        if !summary.problems.is_empty() {
            self.planned = None;
        }
    }

    /// A problem that is found when the resource is to be used.
    pub fn refuse(&mut self, problem: Problem) {
        let problems = self.located(self.in_own_fields(vec![problem]));
        self.resource.summary.problems.extend(problems);
        self.planned = None;
    }

    /// Something that is worth saying when the resource is to be used.
    pub fn warn(&mut self, warning: Problem) {
        let warnings = self.located(self.in_own_fields(vec![warning]));
        self.resource.summary.warnings.extend(warnings);
    }

    /// Something that only a cluster or a registry has is asked for.
    pub fn miss(&mut self, problem: Problem) {
        let missing = self.located(self.in_own_fields(vec![problem]));
        self.missing.extend(missing);
    }

    /// `NAMESPACE/NAME`, or as much of it as the file says.
    pub fn title(&self) -> String {
        self.resource.summary.title()
    }

    /// The path of a finding or an origin in the fields that the file's author wrote.
    pub fn own_path(&self, path: &FieldPath) -> FieldPath {
        match self.resource.version {
            Some(Version::V1Alpha1) => v1alpha1_path(path),
            _ => path.clone(),
        }
    }

    fn located(&self, problems: Vec<Problem>) -> Vec<Finding> {
        problems.into_iter().map(|problem| Finding::locate(problem, &self.resource.tree)).collect()
    }

    fn in_own_fields(&self, problems: Vec<Problem>) -> Vec<Problem> {
        problems
            .into_iter()
            .map(|problem| Problem { path: self.own_path(&problem.path), ..problem })
            .collect()
    }

    pub(crate) fn summary(&self) -> Summary {
        let mut summary = self.resource.summary.clone();
        summary.problems.extend(self.missing.iter().cloned());
        summary
    }
}

/// What problems say, so that no warning repeats it: planning only warns of what it would still accept from a
/// cluster.
pub(crate) struct Said {
    problems: HashSet<Problem>,
    /// Fields that name what no release knows. Planning knows the release, and says it in other words.
    unknown: HashSet<FieldPath>,
}

impl Said {
    pub(crate) fn in_problems(problems: &[Problem]) -> Self {
        let unknown = problems.iter().filter(|problem| problem.reason == Reason::NotFound);
        Self {
            problems: problems.iter().cloned().collect(),
            unknown: unknown.map(|problem| problem.path.clone()).collect(),
        }
    }

    pub(crate) fn covers(&self, warning: &Problem) -> bool {
        self.problems.contains(warning)
            || warning.reason == Reason::NotFound && self.unknown.contains(&warning.path)
    }
}

/// Adds findings that are not there yet, in the order of the file.
fn add(list: &mut Vec<Finding>, found: Vec<Finding>) {
    let mut known: HashSet<Finding> = list.iter().cloned().collect();
    list.extend(found.into_iter().filter(|finding| known.insert(finding.clone())));
    list.sort_by_key(|finding| finding.at);
}

/// Planning reads the resource into types; what validation accepts, they are meant to take.
fn unreadable() -> Problem {
    Problem {
        path: FieldPath::spec(),
        reason: Reason::Invalid,
        message: "the resource has a form that planning cannot read".to_owned(),
        remedy: "please report it, with the resource".to_owned(),
    }
}
