//! What the watches have shown: every resource, packed, and of every owned object what is acted on. Reads
//! never leave the process; a thousand resources take a few megabytes.

mod packed;
mod shared;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use llsd_api::v1alpha2::Phase;
use llsd_plan::fingerprint::Fingerprint;
use llsd_plan::live::{DeploymentDetail, LiveObject};
use llsd_plan::objects::ObjectKind;
use llsd_plan::resource::{Key, Resource};
use llsd_plan::rollout::preflight::JobsUnderWay;
use llsd_plan::rollout::wave::{Member, Source, names_source};
use serde_json::Value;

use crate::operator::telemetry::{Condition, HeldChange};

pub use packed::{Packed, ResourceNews};

/// All resources and owned objects.
#[derive(Debug, Default)]
pub struct Cache(Mutex<CacheState>);

#[derive(Debug, Default)]
struct CacheState {
    /// In the order of their namespaces.
    resources: BTreeMap<Key, Arc<Packed>>,
    /// How many resources a namespace has.
    in_namespaces: HashMap<Arc<str>, usize>,
    /// In the order of their namespaces, too.
    objects: BTreeMap<Key, Vec<LiveObject>>,
    /// Resources by the ConfigMaps that they refer to, each as `namespace/name`.
    users: HashMap<Box<str>, HashSet<Key>>,
    /// ConfigMaps by resource, the other way round.
    used: HashMap<Key, Vec<Box<str>>>,
    /// Resources of which is not known yet what they refer to now.
    unknown: HashSet<Key>,
    /// How many Jobs of a resource have not ended, where any has not.
    jobs: JobsUnderWay,
    /// How often an owned object was forgotten.
    forgotten: u64,
}

impl Cache {
    /// Takes in a resource; what is new about it.
    pub fn put_resource(&self, key: &Key, object: Value) -> ResourceNews {
        let packed = Packed::new(object);
        let mut state = self.lock();
        match state.resources.get(key) {
            Some(known) if known.uid == packed.uid && known.version > packed.version => {
                ResourceNews::Nothing
            }
            known => {
                let news = known.map_or(ResourceNews::Asked, |known| known.news_in(&packed));
                if state.resources.insert(key.clone(), Arc::new(packed)).is_none() {
                    *state.in_namespaces.entry(Arc::clone(&key.namespace)).or_default() += 1;
                }
                if news == ResourceNews::Asked {
                    state.unknown.insert(key.clone());
                }
                news
            }
        }
    }

    pub fn remove_resource(&self, key: &Key) {
        let mut state = self.lock();
        state.unknown.remove(key);
        if state.resources.remove(key).is_none() {
            return;
        }
        if let Some(left) = state.in_namespaces.get_mut(&key.namespace) {
            *left -= 1;
            if *left == 0 {
                state.in_namespaces.remove(&key.namespace);
            }
        }
    }

    /// What a resource that is not there referred to counts no more.
    pub fn forget_uses_of_gone(&self, key: &Key) {
        let mut state = self.lock();
        if !state.resources.contains_key(key) {
            state.set_used(key, Vec::new());
        }
    }

    /// A resource, parsed.
    pub fn resource(&self, key: &Key) -> Option<Resource> {
        // Unpacked outside of the lock.
        let packed = self.lock().resources.get(key).cloned();
        packed.map(|packed| Resource::parse(&packed.unpack()).known_as(key))
    }

    pub fn resource_keys(&self) -> Vec<Key> {
        self.lock().resources.keys().cloned().collect()
    }

    /// How many resources there are.
    pub fn resources(&self) -> usize {
        self.lock().resources.len()
    }

    /// How many resources a namespace has.
    pub fn count_in(&self, namespace: &str) -> usize {
        self.lock().in_namespaces.get(namespace).copied().unwrap_or_default()
    }

    /// Whether another resource names an object, too. Looked for when somebody asks, as that is rare: when an
    /// input has changed that could be shared.
    pub fn is_named_by_another(&self, key: &Key, source: &Source) -> bool {
        let others = self.lock().candidates(key, source);
        // Unpacked outside of the lock.
        others.iter().filter(|(_, packed)| packed.mentions(&source.name)).any(|(other, packed)| {
            let spec = Resource::parse(&packed.unpack()).spec;
            spec.is_some_and(|spec| names_source(&spec, &other.namespace, source))
        })
    }

    /// All servers that a change of shared inputs has reached, and that have not proven themselves with it yet.
    pub fn members(&self, now: i64) -> Vec<(Key, Member)> {
        let state = self.lock();
        let all = state.objects.keys();
        all.filter_map(|key| Some((key.clone(), state.member(key, now)?))).collect()
    }

    /// The same of one.
    pub fn member(&self, key: &Key, now: i64) -> Option<Member> {
        self.lock().member(key, now)
    }

    /// In how many seconds that may be otherwise although nothing happens.
    pub fn member_changes_in(&self, key: &Key, now: i64) -> Option<i64> {
        Member::changes_in(self.lock().deployment(key)?, now)
    }

    /// How many resources are in each phase.
    pub fn phases(&self) -> Vec<(Phase, usize)> {
        let state = self.lock();
        let phases = state.resources.values().filter_map(|packed| packed.phase);
        phases.map(|phase| (phase, 1)).collect()
    }

    /// Why servers run otherwise than is planned, of each that does.
    pub fn held(&self) -> Vec<HeldChange> {
        self.lock().resources.values().filter_map(|packed| packed.held).collect()
    }

    /// The conditions of all resources.
    pub fn conditions(&self) -> Vec<Condition> {
        self.lock()
            .resources
            .values()
            .flat_map(|packed| packed.conditions.iter().copied())
            .collect()
    }

    /// A status is about to be written; its event wakes nobody.
    pub fn expect_status(&self, key: &Key, status: &Value) {
        if let Some(packed) = self.lock().resources.get_mut(key) {
            Arc::make_mut(packed).expect_status(status);
        }
    }

    /// How often an owned object was forgotten; asked before one is written.
    pub fn forgotten(&self) -> u64 {
        self.lock().forgotten
    }

    /// Takes in the answer to a write, and what was applied. If objects were forgotten since it
    /// began, the one that was written may be among them, and the answer older than its end: it
    /// then brings nothing back, and the watch tells what is there.
    pub fn put_written(
        &self,
        kind: ObjectKind,
        object: &Value,
        forgotten_before: u64,
        applied: Option<Fingerprint>,
    ) {
        let Some((key, child)) = LiveObject::parse(kind, object) else { return };
        let mut state = self.lock();
        let may_be_new = state.forgotten == forgotten_before;
        let mut known = state.objects.get(&key).into_iter().flatten();
        if !may_be_new && !known.any(|known| known.is_named(kind, &child.name)) {
            return;
        }
        let (name, fingerprint) = (child.name.clone(), child.fingerprint);
        state.put_object(key.clone(), child);
        let mut known = state.objects.get_mut(&key).into_iter().flatten();
        let known = known.find(|known| known.is_named(kind, &name));
        // The watch may have been faster with the same object, or with another by now.
        if let Some(known) = known.filter(|known| known.fingerprint == fingerprint) {
            known.answered = applied;
        }
    }

    /// Takes in an owned object; which resource it wakes, or for a shared one which namespace.
    pub fn put_object(&self, kind: ObjectKind, object: &Value) -> Option<Key> {
        let (key, child) = LiveObject::parse(kind, object)?;
        self.lock().put_object(key, child)
    }

    /// An owned object is gone; which resource that wakes.
    pub fn remove_object(&self, kind: ObjectKind, object: &Value) -> Option<Key> {
        let (key, gone) = LiveObject::parse(kind, object)?;
        self.forget_object(&key, kind, &gone.name, &gone.uid).then_some(key)
    }

    /// Forgets one owned object, if it is still that one.
    pub fn forget_object(&self, key: &Key, kind: ObjectKind, name: &str, uid: &str) -> bool {
        let mut state = self.lock();
        // Also of one that is not known: the answer to its making may be under way.
        state.forgotten += 1;
        let Some(objects) = state.objects.get_mut(key) else { return false };
        let before = objects.len();
        objects.retain(|child| !(child.is_named(kind, name) && *child.uid == *uid));
        let gone = objects.len() < before;
        if objects.is_empty() {
            state.objects.remove(key);
        }
        state.count_jobs(key);
        gone
    }

    /// Forgets an object of a resource, or of its namespace, that was looked for in vain.
    pub fn forget_missing(&self, key: &Key, kind: ObjectKind, name: &str) {
        let known = self.live(key).into_iter().find(|known| known.is_named(kind, name));
        let Some(known) = known else { return };
        if known.is_shared() {
            self.forget_object(&Key::of_namespace(&key.namespace), kind, name, &known.uid);
        } else {
            self.forget_object(key, kind, name, &known.uid);
        }
    }

    /// Forgets all owned objects of a kind that a new list did not show; which resources that wakes.
    pub fn keep_objects(
        &self,
        kind: ObjectKind,
        listed: &HashSet<Key>,
        covered: impl Fn(&Key) -> bool,
    ) -> Vec<Key> {
        let mut state = self.lock();
        let mut woken = Vec::new();
        state.forgotten += 1;
        state.objects.retain(|key, objects| {
            let before = objects.len();
            objects.retain(|child| {
                child.kind != kind
                    || !covered(key)
                    || listed.contains(&Key::new(&key.namespace, &child.name))
            });
            if objects.len() < before {
                woken.push(key.clone());
            }
            !objects.is_empty()
        });
        for key in &woken {
            state.count_jobs(key);
        }
        woken
    }

    /// The owned objects of a resource, and those that it shares with the others of its namespace.
    pub fn live(&self, key: &Key) -> Vec<LiveObject> {
        let state = self.lock();
        let shared = state.objects.get(&Key::of_namespace(&key.namespace));
        let own = state.objects.get(key);
        own.into_iter().chain(shared).flatten().cloned().collect()
    }

    /// The resources of a namespace.
    pub fn resources_in(&self, namespace: &str) -> Vec<Key> {
        let state = self.lock();
        let from = state.resources.range(Key::of_namespace(namespace)..);
        let keys = from.map(|(key, _)| key).take_while(|key| *key.namespace == *namespace);
        keys.cloned().collect()
    }

    /// How many Jobs of each resource have not ended.
    pub fn jobs_under_way(&self) -> JobsUnderWay {
        self.lock().jobs.clone()
    }

    /// Notes which ConfigMaps, as `namespace/name`, a resource refers to.
    pub fn set_used(&self, key: &Key, config_maps: Vec<Box<str>>) {
        self.lock().set_used(key, config_maps);
    }

    /// The resources that refer to a ConfigMap.
    pub fn users(&self, namespace: &str, name: &str) -> Vec<Key> {
        let state = self.lock();
        let users = state.users.get(format!("{namespace}/{name}").as_str());
        users.into_iter().flatten().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, CacheState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheState {
    fn member(&self, key: &Key, now: i64) -> Option<Member> {
        Member::from_deployment(self.deployment(key)?, now)
    }

    /// The Deployment of a resource. One whose resource is gone, or that goes itself, is nobody's.
    fn deployment(&self, key: &Key) -> Option<&DeploymentDetail> {
        let mut objects =
            self.objects.get(key).filter(|_| self.resources.contains_key(key))?.iter();
        objects.find(|live| !live.deleting && live.deployment().is_some())?.deployment()
    }

    /// The other resources that may name an object: of a Secret those of its namespace, of a ConfigMap those that
    /// refer to it, and all of which is not known yet what they refer to.
    fn candidates(&self, key: &Key, source: &Source) -> Vec<(Key, Arc<Packed>)> {
        let found: Vec<&Key> = if source.kind == ObjectKind::Secret {
            let from = self.resources.range(Key::of_namespace(&source.namespace)..);
            let here = from.take_while(|(other, _)| *other.namespace == *source.namespace);
            here.map(|(other, _)| other).collect()
        } else {
            let name = format!("{}/{}", source.namespace, source.name);
            let users = self.users.get(name.as_str()).into_iter().flatten();
            users.chain(&self.unknown).collect()
        };
        let others = found.into_iter().filter(|other| *other != key);
        others
            .filter_map(|other| Some((other.clone(), Arc::clone(self.resources.get(other)?))))
            .collect()
    }

    fn put_object(&mut self, key: Key, mut child: LiveObject) -> Option<Key> {
        let is_job = child.kind == ObjectKind::Job;
        let objects = self.objects.entry(key.clone()).or_default();
        let place = objects.iter_mut().find(|known| known.is_named(child.kind, &child.name));
        let is_news = match place {
            None => {
                // There are five or six of most resources, and of many resources.
                objects.reserve_exact(1);
                objects.push(child);
                true
            }
            Some(known) if known.uid == child.uid && known.version >= child.version => false,
            Some(known) => {
                if known.uid == child.uid && known.fingerprint == child.fingerprint {
                    child.answered = known.answered;
                }
                let same = known.is_same_as(&child);
                *known = child;
                !same
            }
        };
        if is_job {
            self.count_jobs(&key);
        }
        is_news.then_some(key)
    }

    fn count_jobs(&mut self, key: &Key) {
        let objects = self.objects.get(key).into_iter().flatten();
        let jobs = objects.filter_map(LiveObject::job).filter(|job| job.ended.is_none()).count();
        if jobs > 0 {
            self.jobs.insert(key.clone(), jobs);
        } else {
            self.jobs.remove(key);
        }
    }

    fn set_used(&mut self, key: &Key, config_maps: Vec<Box<str>>) {
        self.unknown.remove(key);
        if self.used.get(key).is_some_and(|used| *used == config_maps) {
            return;
        }
        for old in self.used.remove(key).unwrap_or_default() {
            if let Some(users) = self.users.get_mut(&old) {
                users.remove(key);
                if users.is_empty() {
                    self.users.remove(&old);
                }
            }
        }
        for config_map in &config_maps {
            self.users.entry(config_map.clone()).or_default().insert(key.clone());
        }
        if !config_maps.is_empty() {
            self.used.insert(key.clone(), config_maps);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_config_map_is_shared_if_another_resource_names_it_also_one_that_was_not_looked_at_yet() {
        let cache = Cache::default();
        let [own, other] = ["own", "other"].map(|name| Key::new("ns", name));
        for (key, config) in [(&own, "one"), (&other, "common")] {
            let resource = json!({
                "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
                "metadata": {"name": *key.name, "namespace": "ns", "uid": *key.name},
                "spec": {
                    "distribution": {"name": "starter"},
                    "overrideConfig": {"configMapName": config},
                },
            });
            cache.put_resource(key, resource);
        }
        let source = |name: &str| Source {
            kind: ObjectKind::ConfigMap,
            namespace: "ns".to_owned(),
            name: name.to_owned(),
        };
        let is_shared = |name: &str| cache.is_named_by_another(&own, &source(name));
        assert!(is_shared("common"), "nobody has looked at the other one yet");
        cache.set_used(&other, vec!["ns/common".into()]);
        assert!(is_shared("common") && !is_shared("one"));
        assert!(!cache.is_named_by_another(&other, &source("common")), "no other than itself");
    }

    #[test]
    fn an_answer_that_is_older_than_the_end_of_its_object_brings_nothing_back() {
        let cache = Cache::default();
        let key = Key::new("ns", "llama");
        let service = |version: &str| {
            json!({"metadata": {
                "name": "llama-service", "namespace": "ns", "uid": "1", "resourceVersion": version,
            }})
        };
        let before = cache.forgotten();
        cache.put_written(ObjectKind::Service, &service("1"), before, None);
        assert_eq!(cache.live(&key).len(), 1);
        // Written, seen and deleted by somebody, before the answer to the write is in.
        let before = cache.forgotten();
        cache.put_object(ObjectKind::Service, &service("2"));
        cache.remove_object(ObjectKind::Service, &service("3"));
        cache.put_written(ObjectKind::Service, &service("2"), before, None);
        assert!(cache.live(&key).is_empty());
        // Made, and deleted before anything was known of it.
        let before = cache.forgotten();
        cache.remove_object(ObjectKind::Service, &service("5"));
        cache.put_written(ObjectKind::Service, &service("4"), before, None);
        assert!(cache.live(&key).is_empty());
        // Another object's end does not keep one that is known from being brought up to date.
        cache.put_object(ObjectKind::Service, &service("6"));
        cache.keep_objects(ObjectKind::Ingress, &HashSet::new(), |_| true);
        cache.put_written(ObjectKind::Service, &service("7"), before, None);
        assert_eq!(cache.live(&key)[0].version, 7);
    }

    #[test]
    fn jobs_are_counted_until_they_end_or_are_gone() {
        let cache = Cache::default();
        let job = |name: &str, version: &str, ended: bool| {
            let conditions = json!([{"type": "Complete", "status": "True"}]);
            json!({
                "metadata": {
                    "name": name, "namespace": "ns", "uid": name, "resourceVersion": version,
                    "ownerReferences": [{
                        "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
                        "name": "llama", "uid": "1", "controller": true,
                    }],
                },
                "status": if ended { json!({"conditions": conditions}) } else { json!({}) },
            })
        };
        let under_way = || cache.jobs_under_way().values().sum::<usize>();
        cache.put_object(ObjectKind::Job, &job("llama-preflight-1", "1", false));
        cache.put_object(ObjectKind::Job, &job("llama-preflight-2", "2", false));
        assert_eq!(under_way(), 2);
        cache.put_object(ObjectKind::Job, &job("llama-preflight-1", "3", true));
        assert_eq!(under_way(), 1);
        cache.remove_object(ObjectKind::Job, &job("llama-preflight-2", "4", false));
        assert_eq!(under_way(), 0);
        cache.put_object(ObjectKind::Job, &job("llama-preflight-3", "5", false));
        cache.keep_objects(ObjectKind::Job, &HashSet::new(), |_| true);
        assert!(cache.jobs_under_way().is_empty(), "a resource without Jobs takes no room");
    }
}
