//! A configuration and the server that it is for. Both are found out when they are first asked for, and
//! only once.

use std::borrow::Cow;
use std::cell::OnceCell;

use serde_json::Value;

use super::detection::{NoProfile, ServerProfile, detect};
use super::set::Releases;
use llsd_yaml::Fault;
use llsd_yaml::document::{self, Node, Origin};

/// The text of a configuration, with the release that its image states.
#[derive(Debug)]
pub struct ConfigDocument<'a> {
    pub releases: &'static Releases,
    text: Cow<'a, str>,
    release: Option<String>,
    opened: OnceCell<Result<OpenedDocument, Fault>>,
}

/// A configuration as the server reads it.
#[derive(Clone, Debug)]
pub struct OpenedDocument {
    pub value: Cow<'static, Value>,
    pub profile: Result<ServerProfile, NoProfile>,
    node: Option<&'static Node>,
}

impl<'a> ConfigDocument<'a> {
    pub fn new(
        releases: &'static Releases,
        text: impl Into<Cow<'a, str>>,
        release: Option<String>,
    ) -> Self {
        Self { releases, text: text.into(), release, opened: OnceCell::new() }
    }

    /// The server that the configuration is for, where it can be told.
    pub fn profile(&self) -> Option<ServerProfile> {
        let opened = self.opened.get_or_init(|| self.read()).as_ref().ok()?;
        opened.profile.as_ref().ok().copied()
    }

    /// Why it cannot be read, where it cannot.
    pub fn fault(&self) -> Option<&Fault> {
        self.opened.get_or_init(|| self.read()).as_ref().err()
    }

    pub fn open(mut self) -> Result<OpenedDocument, Fault> {
        self.opened.take().unwrap_or_else(|| self.read())
    }

    fn read(&self) -> Result<OpenedDocument, Fault> {
        let (value, node) = match self.releases.already_read(&self.text) {
            Some((value, node)) => (Cow::Borrowed(value), Some(node)),
            None => (Cow::Owned(document::read(&self.text)?), None),
        };
        let profile = detect(self.releases, &value, self.release.as_deref());
        Ok(OpenedDocument { value, profile, node })
    }
}

impl OpenedDocument {
    /// The document to build on: every node of it comes from the base.
    pub fn into_node(self) -> Node {
        match self.node {
            Some(node) => node.clone(),
            None => Node::from_value(self.value.into_owned(), &Origin::Base),
        }
    }
}
