//! What people and the cluster around the operator say, as steps.

use crate::step::Step;
use crate::world::{Ask, Given, News};

/// Notes what a step says. One that does more changes nothing here.
pub fn say(given: &mut Given, step: Step) {
    match step {
        Step::Edit(mood) => {
            given.renew(News::Edition);
            given.wish.mood = mood;
            given.renew(News::Generation);
        }
        Step::EditPort => given.edit(|wish| wish.other_port = !wish.other_port),
        Step::EditHost => given.edit(|wish| wish.other_host = !wish.other_host),
        Step::Scale(number) => given.edit(|wish| wish.replicas = Some(number)),
        Step::LeaveScale => given.edit(|wish| wish.replicas = None),
        Step::EditSecrets => given.edit(|wish| wish.second_secret = !wish.second_secret),
        Step::EditVolume(volume) => given.edit(|wish| {
            wish.volume = Some(volume).filter(|volume| wish.volume != Some(*volume));
        }),
        Step::Rotate(which) => given.renew(News::Secret(usize::from(which))),
        Step::Pause => given.paused = true,
        Step::Resume => given.paused = false,
        Step::Retry => given.ask(Ask::Retry),
        Step::Refresh => given.ask(Ask::Refresh),
        Step::Approve => given.ask(Ask::Approve),
        Step::Delete => given.delete(),
        Step::Create => given.create(),
        Step::MoveTag => given.renew(News::Digest),
        Step::Upgrade => given.renew(News::Operator),
        Step::Quota => given.trouble.quota = !given.trouble.quota,
        Step::Registry => given.trouble.registry_away = !given.trouble.registry_away,
        Step::Autoscale(_)
        | Step::LoseLabel
        | Step::RollBack
        | Step::StallLeader
        | Step::WakeStalled
        | Step::LoseKey
        | Step::Tick
        | Step::Settle => {}
    }
}
