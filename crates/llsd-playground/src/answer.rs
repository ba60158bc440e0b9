//! Everything about a text: what is wrong with it and how to heal it, what would be applied, and its
//! form in the newest version.

use llsd_offline::explain::explain;
use llsd_offline::migrate::migrate;
use llsd_offline::render::stream;
use llsd_offline::{Change, Finding, Input, Known, Plans, Report, Source, healing, validate};
use llsd_plan::problems::Reason;
use serde::Serialize;

use crate::catalogue::base;
use crate::distribution::{Asked, asked};
use crate::question::Request;
use crate::rendered::{Rendered, rendered};

/// The names that the texts go by.
pub(crate) const RESOURCE: &str = "resource.yaml";
const FACTS: &str = "facts.yaml";
const BASE: &str = "base.yaml";
/// Every change is tried, which takes as long as a whole judgement.
const MOST_CHANGES: usize = 20;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Answer {
    distribution: Asked,
    findings: Vec<Item>,
    /// What `llsd render -o dir=…` writes; nothing while there is a problem.
    rendered: Vec<Rendered>,
    /// What `llsd render` prints, on both streams.
    objects: String,
    messages: String,
    /// What `llsd explain` prints.
    explained: String,
    /// What `llsd migrate` prints, for a text that is not of the newest version.
    migrated: Option<Migrated>,
}

#[derive(Debug, Serialize)]
struct Migrated {
    text: Option<String>,
    summary: String,
}

/// A finding and what a click can do about it.
#[derive(Debug, Serialize)]
struct Item {
    kind: &'static str,
    file: String,
    #[serde(flatten)]
    finding: Finding,
    change: Option<Edit>,
}

/// A change as JavaScript counts: in units of UTF-16.
#[derive(Debug, Serialize)]
struct Edit {
    label: String,
    from: usize,
    to: usize,
    inserted: String,
}

impl Answer {
    pub(crate) fn new(request: &Request) -> Self {
        let mut answer = Self {
            distribution: asked(&request.text),
            findings: Vec::new(),
            rendered: Vec::new(),
            objects: String::new(),
            messages: String::new(),
            explained: String::new(),
            migrated: None,
        };
        let report = match Plans::new(request.input(&request.text)) {
            Err(refused) => refused.report,
            Ok(plans) => {
                let configurations = plans.configurations();
                answer.objects = stream(&plans);
                answer.rendered = rendered(&plans, &configurations);
                if configurations.iter().all(Result::is_ok) {
                    answer.explained = explain(&plans, &configurations);
                }
                plans.report(&configurations)
            }
        };
        answer.messages = report.findings();
        answer.findings = request.items(&report);
        answer.migrated = request.migrated(&report);
        answer
    }
}

impl Request {
    fn known(&self) -> Input {
        let mut known = Known::default();
        if let Some(facts) = &self.facts {
            known.add_facts(Source::new(FACTS, facts.clone().into()));
        }
        if let Some(base) = &self.base {
            known.add_base(Source::new(BASE, base.clone().into()));
        } else if let Some((file, text)) = self.release.as_deref().and_then(base) {
            known.add_base(Source::new(file, text.into()));
        }
        if self.release.is_some() {
            known.facts.image.release.clone_from(&self.release);
        }
        known.into_input()
    }

    fn input(&self, text: &str) -> Input {
        let mut input = self.known();
        input.add(&Source::new(RESOURCE, text.into()));
        input
    }

    fn items(&self, report: &Report) -> Vec<Item> {
        let of_resources = report
            .resources
            .iter()
            .map(|found| (&found.file, Some(found.document), &found.problems, &found.warnings));
        let of_remarks = report
            .remarks
            .iter()
            .map(|found| (&found.file, found.document, &found.problems, &found.warnings));
        let mut items = Vec::new();
        for (file, document, problems, warnings) in of_resources.chain(of_remarks) {
            for (findings, kind) in [(problems, "problem"), (warnings, "warning")] {
                for finding in findings {
                    let missing = finding.problem.reason == Reason::Unavailable;
                    let tried = file == RESOURCE && items.len() < MOST_CHANGES;
                    items.push(Item {
                        kind: if missing && kind == "problem" { "missing" } else { kind },
                        file: file.clone(),
                        finding: finding.clone(),
                        change: document
                            .filter(|_| tried)
                            .and_then(|document| self.change(document, finding)),
                    });
                }
            }
        }
        items.sort_by(|left, right| {
            let place = |item: &Item| (item.file == RESOURCE, item.finding.at);
            place(left).cmp(&place(right))
        });
        items
    }

    fn change(&self, document: usize, finding: &Finding) -> Option<Edit> {
        let judge = |text: &str| validate(self.input(text));
        let change = healing(&self.text, document, finding, judge)?;
        let units = |bytes: usize| self.text[..bytes].encode_utf16().count();
        let Change { label, range, inserted } = change;
        Some(Edit { label, from: units(range.start), to: units(range.end), inserted })
    }

    fn migrated(&self, report: &Report) -> Option<Migrated> {
        let newest = "llamastack.io/v1alpha2";
        if report.resources.iter().all(|resource| resource.api_version == newest) {
            return None;
        }
        let source = Source::new(RESOURCE, self.text.clone().into());
        let migrated = migrate(&[source], self.known(), None);
        Some(Migrated { text: migrated.text, summary: migrated.summary })
    }
}
