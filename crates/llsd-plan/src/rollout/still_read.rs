//! What the pods that run read of Secrets, although the resource may not name them any more: while a change is
//! held or was taken back, the template of before stays, and so do the Secrets that it reads.

use crate::facts::Facts;
use crate::live::{DeploymentDetail, LiveObject};
use crate::resource::template_inputs::Inputs;

/// The keys of Secrets on record with the Deployment that the pods which run, or those of a return, read.
pub fn keys_on_record(live: &[LiveObject]) -> Vec<(String, String)> {
    let Some(deployment) = live.iter().find_map(LiveObject::deployment) else { return Vec::new() };
    let DeploymentDetail { inputs, last_good_inputs, rolled_back, state, .. } = deployment;
    let goes_back = rolled_back.is_some() || !state.is_complete();
    let good = last_good_inputs.as_deref().filter(|_| goes_back);
    let records = inputs.as_deref().into_iter().chain(good).map(Inputs::parse);
    let keys = records.flat_map(|record| {
        let keys = record.secret_keys().map(|(name, key)| (name.to_owned(), key.to_owned()));
        keys.collect::<Vec<_>>()
    });
    keys.collect()
}

/// What is in them now, as a record of inputs has it.
pub fn still_read(live: &[LiveObject], facts: &Facts) -> Inputs {
    let mut now = Inputs::default();
    for (name, key) in keys_on_record(live) {
        let known = facts.secrets.get(&name).and_then(|secret| secret.keys.get(&key));
        if let Some(known) = known {
            now.set_secret(&name, &key, &known.hash);
        }
    }
    now
}
