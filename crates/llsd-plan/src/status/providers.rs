//! `status.distributionConfig.providers`: which providers run and how they are comes from the
//! server; their configuration is the planned one, because the server's answer shows some secrets, and
//! what is said of one that is ill is our own, because the server's message may quote one.

use llsd_api::v1alpha2::ProviderStatus;
use serde_json::Value;

use super::observed::{ProviderState, ServerProvider};
use super::previous::no_config;
use super::situation::Situation;
use super::stage::Stage;
use llsd_yaml::document::Node;

pub(super) fn providers(situation: &Situation<'_>) -> Option<Vec<ProviderStatus>> {
    let Situation { observed, stage, rollout, previous, .. } = situation;
    let before = previous.distribution.providers.as_deref();
    let answered = observed.server.answers().and_then(|answers| answers.providers.as_deref());
    let mut now: Vec<ProviderStatus> = match answered {
        Some(answered) => {
            answered.iter().map(|provider| provider_status(provider, before)).collect()
        }
        None if observed.asks_callers() && rollout.ready > 0 => match planned(stage) {
            Some(planned) => planned,
            None => before?.to_vec(),
        },
        // A server that runs and is not reached is still the one that answered before.
        None if rollout.ready > 0 => before?.to_vec(),
        None => return None,
    };
    // Where no plan took effect, what was planned before is what runs.
    if let Some(plan) = stage.plan_in_effect() {
        for provider in &mut now {
            let generated = plan.generated.as_ref();
            let planned = generated
                .and_then(|file| file.provider_config(&provider.api, &provider.provider_id));
            provider.config = planned.map_or_else(no_config, Node::to_value);
        }
    }
    // The server's own order may be another after each start.
    now.sort_by(|a, b| (&a.api, &a.provider_id).cmp(&(&b.api, &b.provider_id)));
    Some(now)
}

/// Where the server lists its providers only to its callers, of whom the operator is none.
fn planned(stage: &Stage<'_>) -> Option<Vec<ProviderStatus>> {
    let generated = stage.plan_in_effect()?.generated.as_ref()?;
    let planned = generated.providers.iter().map(|provider| ProviderStatus {
        api: provider.api.clone(),
        provider_id: provider.id.clone(),
        provider_type: provider.kind.clone(),
        config: no_config(),
        health: ProviderState::Unknown.told(&provider.id),
    });
    Some(planned.collect())
}

fn provider_status(provider: &ServerProvider, before: Option<&[ProviderStatus]>) -> ProviderStatus {
    ProviderStatus {
        api: provider.api.clone(),
        provider_id: provider.provider_id.clone(),
        provider_type: provider.provider_type.clone(),
        config: config_before(provider, before),
        health: provider.health.told(&provider.provider_id),
    }
}

fn config_before(provider: &ServerProvider, before: Option<&[ProviderStatus]>) -> Value {
    let mut before = before.into_iter().flatten();
    before
        .find(|known| known.api == provider.api && known.provider_id == provider.provider_id)
        .map_or_else(no_config, |known| known.config.clone())
}
