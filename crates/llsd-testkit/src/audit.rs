//! Counts of what was asked of the API server, per user, from its audit log. Recorded are all users
//! but the control plane's own: the API server, the controllers and the kubelet stand-in. Of the
//! test's own user only what it writes.

use std::{
    collections::{BTreeMap, HashSet},
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::Path,
    sync::{
        PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::ensure;
use serde::Deserialize;
use tokio::time::{Instant, sleep};

use crate::{access::Access, flags};

/// Who asks for marks. It has no rights and needs none: a refusal is recorded as well.
const MARKER: &str = "audit-marker";

/// The audit log of one control plane.
#[derive(Debug)]
pub struct Audit<'a> {
    access: &'a Access,
}

/// A moment in the audit log: all requests answered before it stand before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(usize);

/// One request, as the API server recorded it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub user: String,
    pub verb: String,
    /// `configmaps`, or `deployments/status`; empty for paths such as `/version`.
    pub resource: String,
    pub namespace: String,
    pub name: String,
    pub uri: String,
    /// The status of the answer; 0 while a watch is open.
    pub code: u16,
    position: usize,
}

/// Requests in the order in which they were answered. Every method narrows it down.
#[derive(Debug, Clone, Default)]
pub struct Requests(Vec<Request>);

impl<'a> Audit<'a> {
    pub(crate) fn of(access: &'a Access) -> Self {
        Self { access }
    }

    /// Waits until everything answered so far is in the log.
    pub async fn mark(&self) -> anyhow::Result<Mark> {
        static MARKS: AtomicUsize = AtomicUsize::new(0);
        let number = MARKS.fetch_add(1, Ordering::Relaxed);
        let name = format!("mark-{}-{number}", std::process::id());
        let uri = format!("/api/v1/namespaces/default/configmaps/{name}");
        let client = self.access.client(MARKER, &[])?;
        // Refused, which is an answer.
        let request = http::Request::get(&uri).body(Vec::new())?;
        let _ = client.request_text(request).await;
        let asked = Instant::now();
        loop {
            let found = self.look(|requests| {
                // Near the end, if it is there at all.
                requests.iter().rev().find(|request| request.uri == uri).map(|it| it.position)
            })?;
            if let Some(position) = found {
                return Ok(Mark(position));
            }
            ensure!(asked.elapsed() < Duration::from_secs(20), "{name} was not recorded");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// All requests of one user that were answered until now.
    pub async fn requests_of(&self, user: &str) -> anyhow::Result<Requests> {
        self.mark().await?;
        self.look(|requests| {
            Requests(requests.iter().filter(|request| request.user == user).cloned().collect())
        })
    }

    fn look<T>(&self, at: impl FnOnce(&[Request]) -> T) -> anyhow::Result<T> {
        let mut log = self.access.audit_log.lock().unwrap_or_else(PoisonError::into_inner);
        log.read_on(&flags::audit_log(&self.access.dir))?;
        Ok(at(&log.requests))
    }
}

/// What was read of the log so far. It grows to tens of megabytes, and is looked at many times.
#[derive(Debug, Default)]
pub(crate) struct AuditLog {
    bytes: u64,
    lines: usize,
    /// The end of a watch is recorded too, under the identity of its start.
    seen: HashSet<String>,
    requests: Vec<Request>,
}

impl AuditLog {
    fn read_on(&mut self, path: &Path) -> anyhow::Result<()> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(self.bytes))?;
        let mut added = Vec::new();
        file.read_to_end(&mut added)?;
        for line in added.split_inclusive(|byte| *byte == b'\n') {
            // The last line may be half written.
            if !line.ends_with(b"\n") {
                break;
            }
            let event: Event = serde_json::from_slice(line)?;
            if self.seen.insert(event.audit_id.clone()) {
                self.requests.push(event.into_request(self.lines));
            }
            self.lines += 1;
            self.bytes += line.len() as u64;
        }
        Ok(())
    }
}

impl Requests {
    /// Those that change something: create, update, patch, delete, deletecollection.
    #[must_use]
    pub fn writes(&self) -> Self {
        self.only(|request| !request.is_read())
    }

    /// Those that only look: get, list, watch.
    #[must_use]
    pub fn reads(&self) -> Self {
        self.only(Request::is_read)
    }

    /// Those answered after a mark.
    #[must_use]
    pub fn since(&self, mark: Mark) -> Self {
        self.only(|request| request.position > mark.0)
    }

    #[must_use]
    pub fn except_watches(&self) -> Self {
        self.only(|request| request.verb != "watch")
    }

    /// Without leader election, which writes for ever.
    #[must_use]
    pub fn except_leases(&self) -> Self {
        self.only(|request| request.resource != "leases")
    }

    #[must_use]
    pub fn only(&self, wanted: impl Fn(&Request) -> bool) -> Self {
        Self(self.0.iter().filter(|r| wanted(r)).cloned().collect())
    }

    pub fn by_verb(&self) -> BTreeMap<&str, usize> {
        self.count(|request| request.verb.as_str())
    }

    /// Under `verb resource`, such as `patch deployments/status`.
    pub fn by_verb_and_resource(&self) -> BTreeMap<String, usize> {
        self.count(|request| format!("{} {}", request.verb, request.resource))
    }

    fn count<'s, K: Ord>(&'s self, key: impl Fn(&'s Request) -> K) -> BTreeMap<K, usize> {
        let mut counts = BTreeMap::new();
        for request in &self.0 {
            *counts.entry(key(request)).or_default() += 1;
        }
        counts
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Request> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a Requests {
    type Item = &'a Request;
    type IntoIter = std::slice::Iter<'a, Request>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Request {
    pub fn is_read(&self) -> bool {
        matches!(self.verb.as_str(), "get" | "list" | "watch")
    }
}

/// The part of `audit.k8s.io/v1` `Event` that is used here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    #[serde(rename = "auditID")]
    audit_id: String,
    verb: String,
    user: User,
    #[serde(rename = "requestURI")]
    request_uri: String,
    #[serde(default)]
    object_ref: ObjectRef,
    #[serde(default)]
    response_status: ResponseStatus,
}

#[derive(Deserialize)]
struct User {
    username: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ObjectRef {
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ResponseStatus {
    code: u16,
}

impl Event {
    fn into_request(self, position: usize) -> Request {
        let mut resource = self.object_ref.resource;
        if !self.object_ref.subresource.is_empty() {
            resource = format!("{resource}/{}", self.object_ref.subresource);
        }
        Request {
            user: self.user.username,
            verb: self.verb,
            resource,
            namespace: self.object_ref.namespace,
            name: self.object_ref.name,
            uri: self.request_uri,
            code: self.response_status.code,
            position,
        }
    }
}
