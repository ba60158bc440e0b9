//! Where else an image may be found, and what the operator trusts beyond the public web: mirrors,
//! extra certificate authorities, hosts without TLS, hosts at private addresses. Pure; all of it
//! is the operator's own configuration, never a tenant's.

mod allowances;
mod config;
mod location;
mod openshift;

pub use location::{Candidate, HostPattern};
pub(crate) use location::{ImageName, RepositoryPrefix};
pub use openshift::{Converted, mirror_rules};

/// Whether the source itself may be asked after its mirrors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MirrorSourcePolicy {
    #[default]
    AllowContactingSource,
    NeverContactSource,
}

/// Which references a rule is for: a mirror that holds copies by digest need not know the tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PullBy {
    #[default]
    Any,
    Digest,
    Tag,
}

/// Mirrors of one source, in the order to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirrorRule {
    source: RepositoryPrefix,
    mirrors: Vec<String>,
    policy: MirrorSourcePolicy,
    pull_by: PullBy,
}

/// The operator's `registries` configuration: the one place that says how a host may be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registries {
    rules: Vec<MirrorRule>,
    authorities: Vec<(HostPattern, String)>,
    insecure: Vec<HostPattern>,
    private: Vec<HostPattern>,
}

impl Registries {
    /// Adds rules behind the configured ones: those that the cluster's own objects hold.
    pub fn add_rules(&mut self, rules: impl IntoIterator<Item = MirrorRule>) {
        self.rules.extend(rules);
    }

    /// Where to look for an image, in order. Without a rule that is the source alone; with
    /// `NeverContactSource` the source is left out, so an empty list means that the image is
    /// blocked.
    ///
    /// The rule with the most specific source wins: an exact host before a wildcard, then the
    /// longer host, then the longer path. Rules of that same source are taken together, and the
    /// stricter policy holds. Rules for the other kind of reference are not looked at.
    pub fn candidates(&self, reference: &str) -> Vec<Candidate> {
        let image = ImageName::split(reference);
        let matching: Vec<&MirrorRule> = self
            .rules
            .iter()
            .filter(|rule| rule.is_for(&image) && rule.source.covers(&image))
            .collect();
        let best = matching.iter().map(|rule| rule.source.specificity()).max();
        let mut found: Vec<Candidate> = Vec::new();
        let mut contact_source = true;
        for rule in matching.into_iter().filter(|rule| Some(rule.source.specificity()) == best) {
            for mirror in &rule.mirrors {
                let repository = format!("{mirror}{}", rule.source.rest_of(&image));
                if repository != image.repository()
                    && found.iter().all(|c| c.repository != repository)
                {
                    found.push(image.at(repository, true));
                }
            }
            contact_source &= rule.policy == MirrorSourcePolicy::AllowContactingSource;
        }
        if contact_source {
            found.push(image.at(image.repository(), false));
        }
        found
    }
}

impl MirrorRule {
    fn is_for(&self, image: &ImageName<'_>) -> bool {
        match self.pull_by {
            PullBy::Any => true,
            PullBy::Digest => image.has_digest(),
            PullBy::Tag => !image.has_digest(),
        }
    }
}
