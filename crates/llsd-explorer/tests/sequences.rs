//! Sequences that once failed, each in the shortest form that the explorer found, and a small part of what
//! `make explore` tries.

use llsd_explorer::explore::{
    Finding, Share, as_test, endings, exhaustive, minimised, random, run,
};
use llsd_explorer::shown::SHOWN;
use llsd_explorer::step::Step;
use llsd_explorer::wish::{Mood, Volume};

/// Panics with all sequences that fail, as tests.
fn none(found: Vec<Finding>) {
    let shortest: Vec<String> =
        found.into_iter().take(5).map(|finding| as_test(&minimised(finding))).collect();
    assert!(shortest.is_empty(), "{}", shortest.join("\n"));
}

#[test]
fn every_two_things_at_once_leave_the_server_right() {
    let mut found = Vec::new();
    for length in 1..=2 {
        exhaustive(length, Share::WHOLE, |finding| found.push(finding));
    }
    none(found);
}

#[test]
fn random_sequences_leave_the_server_right() {
    let mut found = Vec::new();
    random(200, 1, |finding| found.push(finding));
    none(found);
}

#[test]
fn what_leads_to_the_pods_follows_those_that_serve() {
    assert_eq!(run(&[Step::Edit(Mood::Refused), Step::EditPort]), Ok(()));
    assert_eq!(run(&[Step::Edit(Mood::Broken), Step::EditPort]), Ok(()));
    let asleep = [Step::Scale(0), Step::Edit(Mood::Broken), Step::EditPort, Step::Tick];
    assert_eq!(run(&[&asleep[..], &[Step::Retry, Step::LeaveScale]].concat()), Ok(()));
}

#[test]
fn what_leads_to_the_pods_follows_those_that_serve_also_while_nothing_can_be_planned() {
    let moved = [Step::EditPort, Step::Upgrade, Step::Settle];
    let back = [&moved[..], &[Step::Registry, Step::RollBack]].concat();
    assert_eq!(run(&back), Ok(()));
    // What people change meanwhile waits, and does not keep it from that.
    assert_eq!(run(&[&back[..], &[Step::Tick, Step::EditHost]].concat()), Ok(()));
    // Once pods are missing again, it does not lead back to those of before.
    let missing = [Step::Settle, Step::LeaveScale, Step::Quota, Step::Tick, Step::Autoscale(2)];
    let planned = [Step::Tick, Step::Tick, Step::Registry];
    assert_eq!(run(&[&back[..], &missing, &planned].concat()), Ok(()));
}

#[test]
fn a_lost_label_rolls_out_nothing_that_was_refused() {
    assert_eq!(run(&[Step::Edit(Mood::Refused), Step::LoseLabel]), Ok(()));
    assert_eq!(run(&[Step::Edit(Mood::Broken), Step::Settle, Step::LoseLabel]), Ok(()));
}

#[test]
fn a_rotated_secret_reaches_a_server_that_was_rolled_back_and_undoes_nothing() {
    assert_eq!(run(&[Step::Edit(Mood::Broken), Step::Settle, Step::Rotate(0)]), Ok(()));
    let at_once = [Step::Scale(2), Step::Edit(Mood::Broken), Step::Tick, Step::Rotate(0)];
    assert_eq!(run(&at_once), Ok(()));
}

#[test]
fn a_rotated_secret_reaches_a_server_whose_next_change_is_refused() {
    assert_eq!(run(&[Step::Edit(Mood::Refused), Step::Rotate(0)]), Ok(()));
    assert_eq!(run(&[Step::Edit(Mood::Refused), Step::LoseKey, Step::Rotate(0)]), Ok(()));
}

#[test]
fn what_never_ran_is_not_good() {
    let at_zero = [Step::Scale(0), Step::Settle, Step::Edit(Mood::Broken), Step::Settle];
    assert_eq!(run(&[&at_zero[..], &[Step::Edit(Mood::Good)]].concat()), Ok(()));
    assert_eq!(run(&[&at_zero[..], &[Step::Scale(1)]].concat()), Ok(()));
}

#[test]
fn what_slept_is_good_also_where_it_is_woken_while_a_change_waits() {
    let at_once = [Step::EditVolume(Volume::Retain), Step::Scale(1), Step::Edit(Mood::Broken)];
    assert_eq!(run(&[&[Step::Scale(0), Step::Settle], &at_once[..]].concat()), Ok(()));
    let by_others = [Step::Autoscale(2), Step::LeaveScale, Step::Edit(Mood::Refused)];
    assert_eq!(run(&[&[Step::Scale(0), Step::Tick], &by_others[..]].concat()), Ok(()));
}

#[test]
fn a_server_goes_back_although_more_pods_were_wanted_for_a_moment_before() {
    let scaled = [Step::Autoscale(2), Step::Edit(Mood::Broken)];
    assert_eq!(run(&[&[Step::EditVolume(Volume::Delete)], &scaled[..]].concat()), Ok(()));
    assert_eq!(run(&[&scaled[..], &[Step::Rotate(0)]].concat()), Ok(()));
}

#[test]
fn what_never_ran_goes_back_also_if_kubernetes_does_not_see_the_return_in_between() {
    let unproven = [Step::Edit(Mood::Broken), Step::Scale(0), Step::Settle, Step::RollBack];
    let volume = Step::EditVolume(Volume::Delete);
    let woken = [volume, Step::LeaveScale, Step::StallLeader, volume, Step::WakeStalled];
    assert_eq!(run(&[&unproven[..], &woken].concat()), Ok(()));
}

#[test]
fn another_key_of_the_operator_restarts_nothing() {
    assert_eq!(run(&[Step::LoseKey]), Ok(()));
}

#[test]
fn what_failed_goes_back_whatever_became_of_the_next_change() {
    let broken = [Step::Edit(Mood::Broken), Step::Tick, Step::Tick, Step::Tick];
    assert_eq!(run(&[&broken[..], &[Step::Edit(Mood::Refused)]].concat()), Ok(()));
}

#[test]
fn a_former_leader_undoes_nothing() {
    let sequence = [
        Step::Edit(Mood::Good),
        Step::StallLeader,
        Step::Edit(Mood::Good),
        Step::Settle,
        Step::WakeStalled,
    ];
    assert_eq!(run(&sequence), Ok(()));
}

#[test]
fn a_claim_that_is_to_be_kept_survives_its_resource_and_another_goes_with_it() {
    let volume = [Step::EditVolume(Volume::Retain), Step::Settle, Step::Delete, Step::Settle];
    assert_eq!(run(&volume), Ok(()));
    assert_eq!(run(&[&volume[..], &[Step::Create]].concat()), Ok(()));
    let meanwhile = [
        Step::EditVolume(Volume::Delete),
        Step::Settle,
        Step::Pause,
        Step::EditVolume(Volume::Retain),
        Step::Tick,
        Step::Delete,
    ];
    assert_eq!(run(&meanwhile), Ok(()));
    assert_eq!(run(&[Step::EditVolume(Volume::Delete), Step::Settle, Step::Delete]), Ok(()));
    // The operator stopped before it acted on the last edit.
    let stalled = [Step::EditVolume(Volume::Retain), Step::StallLeader, Step::Delete];
    let before = [Step::EditVolume(Volume::Delete), Step::Settle];
    assert_eq!(run(&[&before[..], &stalled].concat()), Ok(()));
}

#[test]
fn an_upgrade_of_the_operator_waits_for_its_approval_and_no_longer() {
    assert_eq!(run(&[Step::Upgrade, Step::EditHost]), Ok(()));
    assert_eq!(run(&[Step::Upgrade, Step::Settle, Step::Approve]), Ok(()));
    assert_eq!(run(&[Step::Approve, Step::Settle, Step::Upgrade, Step::LoseLabel]), Ok(()));
}

#[test]
fn an_upgrade_of_the_operator_reaches_a_server_that_never_ran() {
    let asleep = [Step::Scale(0), Step::Settle, Step::Edit(Mood::Good), Step::Settle];
    assert_eq!(
        run(&[&asleep[..], &[Step::Upgrade, Step::Settle, Step::Scale(1)]].concat()),
        Ok(())
    );
    assert_eq!(run(&[Step::Edit(Mood::Good), Step::Scale(0), Step::LoseKey]), Ok(()));
    let new = [Step::Delete, Step::Settle, Step::Edit(Mood::Broken), Step::Create, Step::Settle];
    assert_eq!(run(&[&new[..], &[Step::Upgrade, Step::Settle]].concat()), Ok(()));
    assert_eq!(run(&[&new[..], &[Step::Edit(Mood::Good)]].concat()), Ok(()));
}

#[test]
fn a_state_that_a_person_names_runs_until_something_else_is_asked_for() {
    let back = [Step::Edit(Mood::Good), Step::Settle, Step::RollBack, Step::Settle];
    assert_eq!(run(&[&back[..], &[Step::Upgrade, Step::Rotate(0)]].concat()), Ok(()));
    assert_eq!(run(&[&back[..], &[Step::Edit(Mood::Broken)]].concat()), Ok(()));
}

#[test]
fn a_quota_takes_no_server_down() {
    let denied = [Step::Quota, Step::Edit(Mood::Good), Step::Settle];
    assert_eq!(run(&denied), Ok(()));
    assert_eq!(run(&[&denied[..], &[Step::Quota, Step::Retry]].concat()), Ok(()));
}

#[test]
fn a_registry_that_is_away_takes_no_server_down() {
    let pulled = [Step::MoveTag, Step::Edit(Mood::Good), Step::Tick, Step::Registry, Step::Settle];
    assert_eq!(run(&pulled), Ok(()));
    assert_eq!(run(&[&pulled[..], &[Step::Registry, Step::Retry]].concat()), Ok(()));
    assert_eq!(run(&[Step::Registry, Step::Refresh, Step::Settle, Step::Registry]), Ok(()));
}

#[test]
fn what_never_ran_is_not_good_where_an_autoscaler_says_how_many_run() {
    let at_zero = [Step::LeaveScale, Step::Settle, Step::Autoscale(0), Step::Settle];
    let woken = [Step::Edit(Mood::Broken), Step::Settle, Step::Autoscale(2)];
    assert_eq!(run(&[&at_zero[..], &woken[..]].concat()), Ok(()));
}

#[test]
fn what_is_shown_on_a_real_control_plane_ends_well() {
    for (name, steps) in SHOWN {
        let rests = steps.iter().filter(|step| **step == Step::Settle).count();
        assert_eq!(endings(steps).map(|endings| endings.len()), Ok(rests + 2), "{name}");
    }
}

#[test]
fn a_former_leader_that_leaves_the_number_of_pods_to_others_undoes_no_return() {
    let scaled = [Step::Scale(2), Step::Settle, Step::LeaveScale, Step::Edit(Mood::Broken)];
    let woken = [Step::StallLeader, Step::LoseKey, Step::WakeStalled];
    assert_eq!(run(&[&scaled[..], &woken[..]].concat()), Ok(()));
}

#[test]
fn a_return_by_hand_to_pods_with_an_old_value_starts_them_again() {
    let rotated = [Step::Edit(Mood::Refused), Step::Rotate(0), Step::Tick, Step::Tick];
    assert_eq!(run(&[&rotated[..], &[Step::RollBack]].concat()), Ok(()));
}

#[test]
fn a_return_by_hand_to_pods_with_an_old_value_starts_them_again_also_with_another_key() {
    let denied = [Step::Quota, Step::Rotate(0), Step::LoseKey, Step::RollBack, Step::Quota];
    assert_eq!(run(&denied), Ok(()));
    let refused = [Step::Edit(Mood::Refused), Step::Rotate(0), Step::Tick, Step::Tick];
    assert_eq!(run(&[&refused[..], &[Step::LoseKey, Step::RollBack]].concat()), Ok(()));
}

#[test]
fn a_change_that_failed_without_a_preflight_has_one_before_it_is_rolled_out_again() {
    let failed = [Step::Quota, Step::Edit(Mood::Refused), Step::Settle];
    assert_eq!(run(&[&failed[..], &[Step::Refresh, Step::Quota]].concat()), Ok(()));
}

#[test]
fn a_change_that_was_refused_stays_refused_while_nothing_can_be_asked() {
    let refused = [Step::Edit(Mood::Refused), Step::MoveTag, Step::Rotate(0), Step::Settle];
    assert_eq!(run(&[&refused[..], &[Step::Quota, Step::Registry]].concat()), Ok(()));
    let scaled = [Step::Scale(2), Step::Quota, Step::Registry];
    assert_eq!(run(&[&refused[..], &scaled[..]].concat()), Ok(()));
}

#[test]
fn a_server_that_slept_before_it_was_good_takes_no_refused_change_when_its_label_is_lost() {
    let asleep = [Step::Rotate(1), Step::Delete, Step::Create, Step::Tick, Step::Tick];
    let refused = [Step::Autoscale(0), Step::Edit(Mood::Refused), Step::LoseLabel];
    assert_eq!(run(&[&asleep[..], &refused[..]].concat()), Ok(()));
}

#[test]
fn a_value_that_is_rotated_around_an_upgrade_reaches_the_pods_or_is_told() {
    let upgraded = [Step::Edit(Mood::Broken), Step::Rotate(0), Step::Upgrade, Step::Rotate(0)];
    let asked = [Step::Autoscale(2), Step::Registry, Step::LoseKey, Step::Registry];
    assert_eq!(run(&[&upgraded[..], &asked[..]].concat()), Ok(()));
}

#[test]
fn a_server_whose_image_was_never_pulled_may_start_again_with_another_key() {
    let never_ran = [Step::Autoscale(2), Step::Delete, Step::Create, Step::Approve];
    let other_key = [Step::Registry, Step::LoseKey, Step::Settle];
    assert_eq!(run(&[&never_ran[..], &other_key[..]].concat()), Ok(()));
}
