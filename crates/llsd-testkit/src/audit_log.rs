//! The audit log of an API server, as far as it was read.

use std::{
    collections::HashSet,
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::Path,
};

use serde::Deserialize;

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
    /// Its line in the log.
    pub(crate) position: usize,
}

impl Request {
    pub fn is_read(&self) -> bool {
        matches!(self.verb.as_str(), "get" | "list" | "watch")
    }
}

/// What was read of the log so far. It grows to tens of megabytes, and is looked at many times.
#[derive(Debug, Default)]
pub(crate) struct AuditLog {
    bytes: u64,
    lines: usize,
    /// The end of a watch is recorded too, under the identity of its start.
    seen: HashSet<String>,
    pub(crate) requests: Vec<Request>,
}

impl AuditLog {
    /// Reads what was written since the last time.
    pub(crate) fn read_on(&mut self, path: &Path) -> anyhow::Result<()> {
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

/// The part of `audit.k8s.io/v1` `Event` that is used here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    #[serde(rename = "auditID")]
    audit_id: String,
    verb: String,
    user: AuditUser,
    #[serde(rename = "requestURI")]
    request_uri: String,
    #[serde(default)]
    object_ref: ObjectRef,
    #[serde(default)]
    response_status: ResponseStatus,
}

#[derive(Deserialize)]
struct AuditUser {
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
