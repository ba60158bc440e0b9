//! `status.externalProviders`: how far each external provider is. What is wrong with the resource or the
//! image counts first, then what the preflight of a change said, then the pod, and then the running server.

use llsd_api::v1alpha2::{ExternalPhase, ExternalProviderStatus};

use super::messages;
use super::observed::StatusInputs;
use super::rollout::Progress;
use super::situation::Situation;
use super::stage::Stage;
use crate::live::installation::Installation;
use crate::problems::Problem;
use crate::resource::external::{self, Listed};
use crate::rollout::preflight::State;

/// What one provider has come to, and why.
type Come = (ExternalPhase, String);

/// What was told last of the same image.
type Known<'a> = Option<&'a ExternalProviderStatus>;

pub(super) fn external_providers(situation: &Situation<'_>) -> Option<Vec<ExternalProviderStatus>> {
    let Situation { observed, stage, previous, now, .. } = situation;
    let before = previous.external.as_deref().unwrap_or_default();
    if matches!(stage, Stage::Deleting | Stage::Paused { .. } | Stage::Unreadable(_)) {
        return previous.external.clone();
    }
    let spec = observed.resource.spec.as_ref()?;
    let statuses: Vec<ExternalProviderStatus> = external::listed(spec)
        .into_iter()
        .filter_map(|listed| {
            let id = listed.provider.provider_id.as_str();
            let known = before.iter().find(|known| known.provider_id == id);
            let image = image(&listed, stage)
                .or_else(|| known.map(|known| known.image.clone()))
                .unwrap_or_else(|| listed.provider.image.clone());
            let known = known.filter(|known| known.image == image);
            let (phase, message) = come(situation, &listed, known)?;
            let since = known.filter(|known| known.phase == phase);
            let since = since.and_then(|known| known.last_transition_time.clone());
            Some(ExternalProviderStatus {
                provider_id: id.to_owned(),
                image,
                phase,
                message: Some(message).filter(|message| !message.is_empty()),
                init_container_name: listed.container.clone(),
                last_transition_time: Some(since.unwrap_or_else(|| now.clone())),
            })
        })
        .collect();
    Some(statuses).filter(|statuses| !statuses.is_empty())
}

/// The image as it is planned, with its digest.
fn image(listed: &Listed<'_>, stage: &Stage<'_>) -> Option<String> {
    let external = &stage.plan()?.external;
    let planned = external.iter().find(|install| install.container == listed.container)?;
    Some(planned.image.clone())
}

fn come(situation: &Situation<'_>, listed: &Listed<'_>, known: Known<'_>) -> Option<Come> {
    let stage = &situation.stage;
    let own = listed.path.segments();
    let of_it = |problem: &&Problem| problem.path.segments().starts_with(own);
    let Some(plan) = stage.plan() else {
        return Some(match stage {
            Stage::Refused(refusal) => {
                let all = refusal.others.iter().chain(&refusal.secrets).copied();
                match messages::problems(all.filter(of_it)) {
                    none if none.is_empty() => as_before(known, "the resource is refused"),
                    problems => (ExternalPhase::Failed, problems),
                }
            }
            Stage::Unavailable(missing) => match messages::problems(missing.iter().filter(of_it)) {
                none if none.is_empty() => as_before(known, "the resource is not planned yet"),
                problems => (ExternalPhase::Pending, problems),
            },
            _ => as_before(known, "the resource is not planned yet"),
        });
    };
    // One of an API that is switched off is not installed.
    plan.external.iter().find(|install| install.container == listed.container)?;
    if let Some(preflight) = stage.preflight() {
        let field = listed.path.to_string();
        match &preflight.state {
            State::Checked(checked) if preflight.is_refused() => {
                let problems = checked.problems.iter().flatten();
                let own = problems.filter(|problem| problem.field.starts_with(&field));
                let mut all: Vec<&str> = Vec::new();
                for message in own.map(|problem| problem.message.as_str()) {
                    if !all.contains(&message) {
                        all.push(message);
                    }
                }
                let own = all;
                return Some(if own.is_empty() {
                    as_before(known, "the change was refused before it reached the pods")
                } else {
                    (ExternalPhase::Failed, own.join("; "))
                });
            }
            State::ToBeAsked(_) | State::Waiting(_) | State::Asking(..) => {
                return Some(as_before(known, "the change is judged first"));
            }
            State::Checked(_) => {}
        }
    }
    if stage.keeps_template() {
        return Some(as_before(known, "the server runs as before"));
    }
    Some(in_pod(situation, listed, known))
}

/// By the newest pod, and by the server once its pods are new.
fn in_pod(situation: &Situation<'_>, listed: &Listed<'_>, known: Known<'_>) -> Come {
    let (observed, container) = (situation.observed, &listed.container);
    if situation.rollout.progress == Progress::Complete {
        return serving(observed, listed, known);
    }
    match observed.live.installations.get(container) {
        Some(Installation::Failed(why)) => (ExternalPhase::Failed, format!("{container}: {why}")),
        Some(Installation::Running) => (ExternalPhase::Installing, String::new()),
        Some(Installation::Done) => {
            (ExternalPhase::Installing, "installed; the server starts".to_owned())
        }
        Some(Installation::Waiting) => (ExternalPhase::Pending, String::new()),
        None => as_before(known, "no pod was looked at yet"),
    }
}

fn serving(observed: &StatusInputs<'_>, listed: &Listed<'_>, known: Known<'_>) -> Come {
    let Some(answers) = observed.server.answers() else {
        return as_before(known, "the server was not asked yet");
    };
    let Some(providers) = &answers.providers else {
        return as_before(known, "the server does not tell its providers");
    };
    let id = listed.provider.provider_id.as_str();
    if providers.iter().any(|provider| provider.provider_id == id) {
        return (ExternalPhase::Ready, String::new());
    }
    let message = format!(
        "the server runs without it: get_provider_spec() gives no provider of its type, or its API is \
         not served ({}: see the server's log)",
        listed.path
    );
    (ExternalPhase::Failed, message)
}

/// What was told last of the same image, else that it waits and for what.
fn as_before(known: Known<'_>, waits_for: &str) -> Come {
    match known {
        Some(known) => (known.phase, known.message.clone().unwrap_or_default()),
        None => (ExternalPhase::Pending, waits_for.to_owned()),
    }
}
