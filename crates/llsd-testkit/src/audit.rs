//! Counts of what was asked of the API server, per user, from its audit log. Recorded are all users
//! but the control plane's own: the API server, the controllers and the kubelet stand-in. Of the
//! test's own user only what it writes.

use std::{
    collections::BTreeMap,
    sync::{
        PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::ensure;
use tokio::time::{Instant, sleep};

use crate::{access::Access, audit_log::Request, flags};

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

/// Requests in the order in which they were answered. Every method narrows it down.
#[derive(Debug, Clone, Default)]
pub struct Requests(Vec<Request>);

impl<'a> Audit<'a> {
    pub(crate) fn through(access: &'a Access) -> Self {
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

    /// Forgets all requests that were answered until now.
    pub(crate) async fn forget(&self) -> anyhow::Result<()> {
        self.mark().await?;
        let mut log = self.access.audit_log.lock().unwrap_or_else(PoisonError::into_inner);
        log.requests.clear();
        Ok(())
    }

    fn look<T>(&self, at: impl FnOnce(&[Request]) -> T) -> anyhow::Result<T> {
        let mut log = self.access.audit_log.lock().unwrap_or_else(PoisonError::into_inner);
        log.read_on(&flags::audit_log(&self.access.dir))?;
        Ok(at(&log.requests))
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
