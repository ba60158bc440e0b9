//! The smallest resource and base that still show a finding.

use serde_json::Value;

use crate::base::Base;
use crate::examine::Examiner;
use crate::finding::Finding;
use crate::trial::Trial;

/// How often the server is asked at most.
const TRIES: usize = 600;

/// A step into a value.
#[derive(Clone, Debug)]
enum Step {
    Key(String),
    Index(usize),
}

/// Leaves out part after part as long as the same is found.
pub fn minimised(finding: &Finding, examiner: &mut Examiner) -> anyhow::Result<Finding> {
    let mut smallest = finding.clone();
    let mut tries = 0;
    let mut next = 0;
    // Of the resource, the largest parts first.
    while tries < TRIES {
        let places = places(&smallest.trial.spec);
        let Some(place) = places.get(next) else { break };
        let mut trial = smallest.trial.clone();
        remove(&mut trial.spec, place);
        tries += 1;
        match same(&smallest, &trial, examiner)? {
            Some(smaller) => smallest = smaller,
            None => next += 1,
        }
    }
    next = 0;
    while tries < TRIES {
        let document = (*smallest.trial.base.document).clone();
        let places: Vec<Vec<Step>> =
            places(&document).into_iter().filter(|place| is_dispensable(place)).collect();
        let Some(place) = places.get(next) else { break };
        let mut document = document;
        remove(&mut document, place);
        let mut trial = smallest.trial.clone();
        trial.base = Base::of(document);
        tries += 1;
        match same(&smallest, &trial, examiner)? {
            Some(smaller) => smallest = smaller,
            None => next += 1,
        }
    }
    Ok(smallest)
}

/// The same finding of another trial.
fn same(
    wanted: &Finding,
    trial: &Trial,
    examiner: &mut Examiner,
) -> anyhow::Result<Option<Finding>> {
    let signature = wanted.signature();
    for finding in examiner.examine(std::slice::from_ref(trial))?.findings {
        if finding.signature() == signature && examiner.confirms(&finding)? {
            return Ok(Some(finding));
        }
    }
    Ok(None)
}

/// Whole sections, APIs, providers and resources of a base; what is in them stays.
fn is_dispensable(place: &[Step]) -> bool {
    match place.first() {
        Some(Step::Key(key)) if key == "providers" => (2..=3).contains(&place.len()),
        Some(Step::Key(key)) if key == "apis" => place.len() == 2,
        Some(Step::Key(key)) => {
            let needed = ["version", "image_name", "distro_name", "storage", "metadata_store"];
            !needed.contains(&key.as_str()) && place.len() <= 3
        }
        _ => false,
    }
}

/// Every part of a value, what holds others first.
fn places(value: &Value) -> Vec<Vec<Step>> {
    let mut found = Vec::new();
    let mut level = vec![(Vec::new(), value)];
    while !level.is_empty() {
        let mut below = Vec::new();
        for (path, value) in level {
            let with = |step: Step| [&path[..], &[step]].concat();
            match value {
                Value::Object(fields) => {
                    let inner =
                        fields.iter().map(|(key, inner)| (with(Step::Key(key.clone())), inner));
                    below.extend(inner);
                }
                Value::Array(items) => {
                    let inner = items
                        .iter()
                        .enumerate()
                        .map(|(index, inner)| (with(Step::Index(index)), inner));
                    below.extend(inner);
                }
                _ => {}
            }
        }
        found.extend(below.iter().map(|(path, _)| path.clone()));
        level = below;
    }
    found
}

fn remove(value: &mut Value, place: &[Step]) {
    let Some((last, above)) = place.split_last() else { return };
    let holder = above.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(index) => value.get_mut(index),
    });
    match (holder, last) {
        (Some(Value::Object(fields)), Step::Key(key)) => drop(fields.shift_remove(key)),
        (Some(Value::Array(items)), Step::Index(index)) => drop(items.remove(*index)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_part_can_be_left_out_the_largest_first() {
        let whole = json!({"a": [1, {"b": 2}], "c": 3});
        let left: Vec<Value> = places(&whole)
            .iter()
            .map(|place| {
                let mut rest = whole.clone();
                remove(&mut rest, place);
                rest
            })
            .collect();
        let expected = [
            json!({"c": 3}),
            json!({"a": [1, {"b": 2}]}),
            json!({"a": [{"b": 2}], "c": 3}),
            json!({"a": [1], "c": 3}),
            json!({"a": [1, {}], "c": 3}),
        ];
        assert_eq!(left, expected);
    }
}
