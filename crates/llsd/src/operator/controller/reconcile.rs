//! One resource from what is asked to what is there, in six steps: parse, references and gather,
//! plan, apply, prune, report. Nothing is kept from one time to the next but what is cheap to lose.

use std::time::Duration;

use llsd_plan::facts::ConfigMapFacts;
use llsd_plan::plan::{Outcome, Plan, account, plan};
use llsd_plan::status::{Applied, Applying, Live, Planning, Refused, Server};
use serde_json::Value;

use super::api_error::told;
use super::cache::Child;
use super::gather::{Gathered, gather};
use super::key::Key;
use super::queue::Next;
use super::report::{self, Findings};
use super::{Context, apply, collisions, prune};
use crate::operator::telemetry::{Generation, Reconcile};
use llsd_plan::objects::ObjectKind;

/// After this time without readiness it is asked why.
const PATIENCE: Duration = Duration::from_secs(10);
/// How soon an object that stands in the way is looked for again.
const IN_THE_WAY: Duration = Duration::from_secs(10);

/// Works on one resource.
pub async fn reconcile(context: &Context, key: &Key) -> (Reconcile, Next) {
    let Some(resource) = context.cache.resource(key) else {
        return (Reconcile::Deleted, Next::Rest);
    };
    let work = Work { context, key, resource: &resource, children: context.cache.children(key) };
    match Box::pin(work.run()).await {
        Ok(done) => done,
        Err(error) => {
            tracing::warn!(resource = %key, error = told(&error), "the API server is in the way");
            (Reconcile::Unavailable, Next::Retry)
        }
    }
}

struct Work<'a> {
    context: &'a Context,
    key: &'a Key,
    resource: &'a Value,
    children: Vec<Child>,
}

impl Work<'_> {
    async fn run(&self) -> kube::Result<(Reconcile, Next)> {
        if self.resource["metadata"]["deletionTimestamp"].is_string() {
            return self.terminating().await;
        }
        let mut gathered = gather(self.context, self.key, self.resource, &self.children).await?;
        let mut outcome = plan(self.resource, &gathered.facts);
        if let Outcome::Planned(planned) = &outcome
            && let Some(taken) = collisions::taken(planned, &self.children)
        {
            gathered.facts.config_maps.insert(taken, ConfigMapFacts::default());
            outcome = plan(self.resource, &gathered.facts);
        }
        self.context.secrets.set_waiting(self.key, waits_for_a_secret(&outcome));
        match &outcome {
            Outcome::Planned(planned) => self.planned(planned, &gathered).await,
            Outcome::Refused(findings) => {
                let Context { metrics, .. } = self.context;
                for problem in &findings.problems {
                    metrics.problem(problem.reason);
                }
                metrics.config_generation(Generation::Failed);
                self.stopped(Planning::Refused(findings), &gathered).await?;
                Ok((Reconcile::Refused, self.settled()))
            }
            Outcome::Unavailable { missing, warnings } => {
                self.make_account(&gathered).await;
                self.stopped(Planning::Unavailable { missing, warnings }, &gathered).await?;
                Ok((Reconcile::Unavailable, Next::Retry))
            }
        }
    }

    async fn planned(&self, plan: &Plan, gathered: &Gathered) -> kube::Result<(Reconcile, Next)> {
        let planning = Planning::Planned(plan);
        let applied =
            apply::apply(self.context, self.key, self.resource, plan, &self.children).await;
        let mut applied = match applied {
            Ok(applied) => applied,
            Err(failed) => {
                let applying = Applying::Failed {
                    object: &failed.object,
                    message: &failed.message,
                    refused: failed.refused,
                };
                self.tell(planning, applying, gathered, Some(plan)).await?;
                return Ok(match failed.refused {
                    Refused::NotOurs => (Reconcile::Refused, Next::After(IN_THE_WAY)),
                    Refused::Invalid => (Reconcile::Refused, self.settled()),
                    Refused::Unavailable => (Reconcile::Unavailable, Next::Retry),
                });
            }
        };
        if let Some(config) = &plan.objects.config_map {
            let name = config.metadata.name.as_deref().unwrap_or_default();
            let written = applied.written.contains(&format!("ConfigMap {name}"));
            let result = if written { Generation::Written } else { Generation::Unchanged };
            self.context.metrics.config_generation(result);
        }
        let children = self.context.cache.children(self.key);
        applied.deleted =
            prune::prune(self.context, self.key, self.resource, plan, &children).await?;
        log(self.key, &applied);
        if self.may_be_told_later(&applied) {
            self.context.notes.set_untold(self.key, applied.written);
            return Ok((Reconcile::Planned, Next::After(Duration::ZERO)));
        }
        applied.written.extend(self.context.notes.take_untold(self.key));
        let next = self.tell(planning, Applying::Applied(&applied), gathered, Some(plan)).await?;
        Ok((Reconcile::Planned, next))
    }

    /// Of a new resource whose objects are made now there is nothing to say yet but that. While
    /// others wait for their servers that has time until its next turn, which comes after theirs.
    fn may_be_told_later(&self, applied: &Applied) -> bool {
        let is_new = self.resource["status"].is_null();
        is_new && !applied.written.is_empty() && self.context.queue.is_busy()
    }

    /// Nothing is applied: what runs goes on running, and the status says what is in the way.
    async fn stopped(&self, planning: Planning<'_>, gathered: &Gathered) -> kube::Result<()> {
        self.tell(planning, Applying::Nothing, gathered, None).await.map(|_| ())
    }

    /// Makes the pods' account, which a cluster may give the pull secrets that are missing.
    async fn make_account(&self, gathered: &Gathered) {
        let is_there = self.children.iter().any(|child| child.kind == ObjectKind::ServiceAccount);
        let account = account(self.resource, &gathered.facts).filter(|_| !is_there);
        let Some(account) = account else { return };
        let applied =
            apply::first(self.context, self.key, self.resource, account, &self.children).await;
        if let Err(failed) = applied {
            tracing::debug!(resource = %self.key, object = failed.object, why = failed.message, "not made yet");
        }
    }

    async fn terminating(&self) -> kube::Result<(Reconcile, Next)> {
        let findings = Findings {
            planning: Planning::Refused(&llsd_plan::problem::Findings::default()),
            applying: Applying::Nothing,
            live: &report::live(&self.children, self.key, false),
            server: &Server::NotAsked,
            newer_digest: None,
        };
        report::report(self.context, self.key, self.resource, findings).await?;
        Ok((Reconcile::Deleted, Next::Rest))
    }

    /// Looks at what is there now, and writes the status.
    async fn tell(
        &self,
        planning: Planning<'_>,
        applying: Applying<'_>,
        gathered: &Gathered,
        plan: Option<&Plan>,
    ) -> kube::Result<Next> {
        let Context { client, cache, notes, .. } = self.context;
        let exposed = plan.map_or_else(
            || self.resource["status"]["routeURL"].is_string(),
            |plan| plan.objects.is_exposed(),
        );
        let mut live = report::live(&cache.children(self.key), self.key, exposed);
        let ready = is_ready(&live);
        if notes.unready_for(self.key, ready) >= PATIENCE && live.deployment.is_some() {
            live.pod_trouble = report::pod_trouble(client, self.key).await?;
        }
        let (server, unreachable) = self.ask(&live, plan).await;
        let newer_digest = gathered.newer_digest.as_deref();
        let findings = Findings { planning, applying, live: &live, server: &server, newer_digest };
        report::report(self.context, self.key, self.resource, findings).await?;
        Ok(if !ready {
            Next::After(PATIENCE)
        } else if unreachable > 0 {
            // A server that has just started; later, one that this operator cannot reach at all.
            Next::After(Duration::from_secs(5 << unreachable.min(6)))
        } else {
            self.settled()
        })
    }

    /// Asks the server, if a pod of it is ready; how often in a row it could not be reached.
    async fn ask(&self, live: &Live, plan: Option<&Plan>) -> (Server, u32) {
        let Context { notes, servers, .. } = self.context;
        let url = plan.map(|plan| plan.url.as_str());
        let url = url.or_else(|| self.resource["status"]["serviceURL"].as_str());
        let ready = live.deployment.as_ref().is_some_and(|deployment| deployment.ready > 0);
        let Some(url) = url.filter(|_| ready) else {
            notes.not_asked(self.key);
            return (Server::NotAsked, 0);
        };
        let secret = self.resource["spec"]["networking"]["tls"]["secretName"].as_str();
        let certificate = self.context.certificate(self.key, secret);
        let server = servers.ask(self.key, url, certificate.as_deref()).await;
        let unreachable = notes.asked(self.key, url, secret, &server);
        (server, unreachable)
    }

    fn settled(&self) -> Next {
        let resync = self.context.settings.resync;
        Next::After(resync.mul_f64(1.0 + 0.1 * fastrand::f64()))
    }
}

/// Whether only a change of a Secret can bring the resource on.
fn waits_for_a_secret(outcome: &Outcome) -> bool {
    let Outcome::Refused(findings) = outcome else { return false };
    findings.problems.iter().any(|problem| problem.reason.is_of_a_secret())
}

fn is_ready(live: &Live) -> bool {
    live.deployment.as_ref().is_some_and(|deployment| {
        deployment.observed_generation >= deployment.generation
            && deployment.available >= deployment.wanted
            && deployment.updated >= deployment.wanted
    })
}

fn log(key: &Key, applied: &Applied) {
    if !applied.written.is_empty() || !applied.deleted.is_empty() {
        let (written, deleted) = (applied.written.join(", "), applied.deleted.join(", "));
        tracing::info!(resource = %key, written, deleted, "applied");
    }
}
