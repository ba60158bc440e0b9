//! The start programs of earlier operators, by the names of their copies. A name stands for the content, so one that
//! was seen in any namespace can be made again in another.

use std::sync::{Mutex, MutexGuard, PoisonError};

use llsd_plan::objects::{PlannedObject, start_program};
use llsd_plan::rollout::shared::remade;
use serde_json::Value;

/// So many are kept: operators of so many versions have made what runs. A copy takes 84 KB.
const MOST: usize = 8;

#[derive(Debug, Default)]
pub struct StartPrograms(Mutex<Vec<Program>>);

#[derive(Debug)]
struct Program {
    name: Box<str>,
    data: Value,
}

impl StartPrograms {
    /// Keeps what a ConfigMap holds, if it is a copy of other programs than this operator's. Where there are too many,
    /// one goes that no server mounts.
    pub fn learn(&self, config_map: &Value, is_mounted: impl Fn(&str) -> bool) {
        let Some(name) = config_map["metadata"]["name"].as_str() else { return };
        let is_another = start_program::is_copy(name) && name != start_program::name();
        if !is_another || self.knows(name) || !start_program::is_intact(config_map) {
            return;
        }
        let full = self.lock().len() >= MOST;
        let needed = full.then(|| self.names().into_iter().filter(|name| is_mounted(name)));
        let needed: Vec<Box<str>> = needed.into_iter().flatten().collect();
        let mut programs = self.lock();
        if programs.len() >= MOST {
            let Some(place) = programs.iter().position(|known| !needed.contains(&known.name))
            else {
                return;
            };
            programs.remove(place);
        }
        programs.push(Program { name: name.into(), data: config_map["data"].clone() });
    }

    /// A copy of this name as it is applied, where its content is known.
    pub fn remade(&self, namespace: &str, name: &str) -> Option<PlannedObject> {
        if name == start_program::name() {
            let data = start_program::FILES.into_iter().collect();
            return Some(remade(namespace, name, &data));
        }
        let programs = self.lock();
        let known = programs.iter().find(|known| *known.name == *name)?;
        Some(remade(namespace, name, &known.data))
    }

    fn knows(&self, name: &str) -> bool {
        self.lock().iter().any(|known| *known.name == *name)
    }

    fn names(&self) -> Vec<Box<str>> {
        self.lock().iter().map(|known| known.name.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Program>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn copy(text: &str) -> Value {
        let data = BTreeMap::from([("launch.py", text)]);
        remade("ns", &start_program::name_for(&data), &json!(data)).json
    }

    fn name(copy: &Value) -> &str {
        copy["metadata"]["name"].as_str().unwrap()
    }

    #[test]
    fn what_was_seen_in_one_namespace_can_be_made_in_another() {
        let (programs, earlier) = (StartPrograms::default(), copy("earlier"));
        assert!(programs.remade("other", name(&earlier)).is_none());
        programs.learn(&earlier, |_| true);
        let again = programs.remade("other", name(&earlier)).unwrap();
        assert_eq!(again.json["data"], earlier["data"]);
        assert_eq!(again.json["metadata"]["namespace"], "other");
        assert!(start_program::is_intact(&again.json));
    }

    #[test]
    fn this_operators_own_can_always_be_made() {
        let own = StartPrograms::default().remade("ns", start_program::name()).unwrap();
        assert!(start_program::is_intact(&own.json));
    }

    #[test]
    fn what_is_not_intact_is_not_kept() {
        let (programs, mut theirs) = (StartPrograms::default(), copy("earlier"));
        theirs["data"]["json.py"] = json!("theirs");
        programs.learn(&theirs, |_| true);
        assert!(programs.remade("ns", name(&theirs)).is_none());
    }

    #[test]
    fn there_are_never_many_and_those_that_servers_mount_stay() {
        let (programs, mounted) = (StartPrograms::default(), copy("mounted"));
        let is_mounted = |of: &str| of == name(&mounted);
        programs.learn(&mounted, is_mounted);
        let others: Vec<Value> = (0..20).map(|index| copy(&index.to_string())).collect();
        for copy in &others {
            programs.learn(copy, is_mounted);
        }
        assert_eq!(programs.lock().len(), MOST);
        assert!(programs.remade("ns", name(&mounted)).is_some());
        assert!(programs.remade("ns", name(&others[19])).is_some(), "the newest one");
        let full = StartPrograms::default();
        for copy in &others {
            full.learn(copy, |_| true);
        }
        assert!(full.remade("ns", name(&others[0])).is_some(), "each of them is needed");
    }
}
