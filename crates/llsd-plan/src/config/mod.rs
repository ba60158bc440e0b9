//! Generation: the resource laid over the base configuration of its image, in the layout of the
//! server that the image holds. Pure; the same inputs give the same bytes.

mod access;
mod awaited;
mod base;
mod counts;
mod disabled;
mod draft;
mod environment;
mod external_providers;
mod integrity;
mod merged;
mod providers;
mod registered;
mod removals;
mod server;
mod storage;
mod switched_off;
mod telemetry;
mod variables;
pub mod wiring;

use llsd_api::v1alpha2::LlamaStackDistributionSpec;

use crate::config::wiring::{ExternalInstall, RedisSidecar, Variable};
use crate::facts::{BaseFacts, Facts};
use crate::problems::{Findings, Problem};
use crate::releases::{ConfigDocument, Release, ServerFamily};
use crate::values::connection::Form;
use llsd_yaml::document::{self, Node};

pub use counts::{Counts, ListedProvider, PlannedProvider, listed_providers};
pub use environment::Bound;
pub use merged::{Merged, merge};

use draft::Draft;

/// A generated configuration and what the pod needs for it.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The configuration, in which every node knows its origin.
    pub document: Node,
    pub text: String,
    pub version: u64,
    pub counts: Counts,
    /// The providers that the server has when it runs.
    pub providers: Vec<PlannedProvider>,
    /// How the server that the file is made for is named: `0.7.3`, `OGX 1.5.0`, or the releases of
    /// its layout.
    pub release: &'static str,
    pub server: ServerFamily,
    /// That release, or one of its layout.
    pub layout: &'static Release,
    /// Whether that server turns a variable that looks like a number into one.
    pub coerces_variables: bool,
    /// The secret references of the resource, each with its variable.
    pub secrets: Vec<Bound>,
    pub variables: Vec<Variable>,
    pub redis: Option<RedisSidecar>,
    /// Packages of external providers that are installed in the pod.
    pub external: Vec<ExternalInstall>,
    /// How the file refers to the resource's connection string, where it does.
    pub database: Option<Form>,
}

impl Generated {
    /// The configuration of a provider, by the id that it has when the server runs.
    pub fn provider_config(&self, api: &str, id: &str) -> Option<&Node> {
        let mut entries = self.document.at(&["providers", api])?.items().iter();
        entries.find(|entry| draft::has_id(entry, id))?.get("config")
    }
}

/// A file if there could be one, and everything that was found on the way.
#[derive(Clone, Debug)]
pub struct Drafted<T> {
    file: Option<T>,
    findings: Findings,
    unavailable: Vec<Problem>,
}

impl<T> Drafted<T> {
    fn refused(problem: Problem) -> Self {
        let findings = Findings { problems: vec![problem], warnings: Vec::new() };
        Self { file: None, findings, unavailable: Vec::new() }
    }

    /// The file; what was found goes to what was found before, what only a cluster or a registry
    /// knows to `unavailable`.
    pub fn file(self, findings: &mut Findings, unavailable: &mut Vec<Problem>) -> Option<T> {
        findings.extend(self.findings);
        unavailable.extend(self.unavailable);
        self.file
    }
}

/// Generates the configuration of a resource whose form validation has accepted. `document` is that of
/// the base.
pub fn generate(
    spec: &LlamaStackDistributionSpec,
    facts: &Facts,
    base: &BaseFacts,
    document: ConfigDocument<'_>,
) -> Drafted<Generated> {
    let base = match base::open(base, document) {
        Ok(base) => base,
        Err(problem) => return Drafted::refused(problem),
    };
    let mut draft = Draft::new(spec, facts, base.profile, base.document);
    providers::apply(&mut draft);
    telemetry::apply(&mut draft);
    external_providers::apply(&mut draft);
    removals::settle(&mut draft);
    disabled::apply(&mut draft);
    providers::gone::apply(&mut draft);
    storage::apply(&mut draft);
    registered::apply(&mut draft);
    server::apply(&mut draft);
    access::apply(&mut draft);
    integrity::apply(&mut draft);
    variables::apply(&mut draft);
    awaited::apply(&mut draft);
    finish(draft, base.version)
}

fn finish(mut draft: Draft<'_>, version: u64) -> Drafted<Generated> {
    let (counts, providers) = (counts::count(&draft), counts::providers(&draft));
    let generated = Generated {
        text: document::text(&draft.document),
        version,
        counts,
        providers,
        release: draft.profile.name(),
        server: draft.profile.server(),
        layout: draft.profile.layout,
        coerces_variables: draft.profile.layout.coerces_variables,
        secrets: draft.secrets(),
        variables: draft.plain_variables,
        redis: draft.redis,
        external: draft.external,
        database: draft.database,
        document: draft.document,
    };
    Drafted { file: Some(generated), findings: draft.findings, unavailable: draft.unavailable }
}
