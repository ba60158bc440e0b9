//! As many servers as the largest clusters have.

use std::fs::read_to_string;
use std::time::Duration;

use super::*;

const WAITERS: usize = 20_000;
const MEMBERS: usize = 2_000;
const NAMESPACES: usize = 4_000;
const IN_EACH: usize = WAITERS / NAMESPACES;

/// It takes a tenth of this, and minutes where work grows with the square of the servers.
const SOON: Duration = Duration::from_secs(5);

/// How long this thread has worked. Other work of the machine does not count.
fn worked() -> Option<Duration> {
    let told = read_to_string("/proc/thread-self/schedstat").ok()?;
    told.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

#[test]
fn a_reconcile_costs_as_little_among_thousands_of_servers_as_among_a_few() {
    let begun = worked();
    let key = |n: usize, name: &str| Key::new(&format!("ns{}", n % NAMESPACES), name);
    let changing: Vec<Key> = (0..MEMBERS).map(|n| key(n, "first")).collect();
    let members = changing.iter().map(|key| (key.clone(), member("image=1", CHANGING)));
    let mut waves = Waves::of_members(members, fleet(WAITERS + MEMBERS, MEMBERS, 1), 0);
    for waiter in (0..WAITERS).map(|n| key(n, &format!("llama{n}"))) {
        assert!(waves.ask(&candidate(&waiter, "image=1", IN_EACH)).is_err());
        waves.ended(&waiter, None);
    }
    assert_eq!(waves.progress().waiting, WAITERS);

    // Each that is done lets another one go.
    for (done, key) in changing.iter().enumerate() {
        waves.ended(key, None);
        let [next] = &waves.take_woken()[..] else { panic!("{done}") };
        assert!(waves.ask(&candidate(next, "image=1", IN_EACH)).is_ok());
        waves.ended(next, Some(member("image=1", CHANGING)));
        assert_eq!(waves.course().1, Course::UnderWay);
    }
    assert_eq!(waves.progress().waiting, WAITERS - MEMBERS);

    // All others are told once that it is stopped, and each reads why.
    let failed: Vec<Key> = waves.members.keys().take(2).cloned().collect();
    for key in &failed {
        waves.ended(key, Some(member("image=1", SERVES)));
    }
    let told = waves.take_woken();
    assert_eq!(told.len(), WAITERS - MEMBERS);
    for key in &told {
        assert!(waves.ask(&candidate(key, "image=1", IN_EACH)).unwrap_err().is_stopped());
        waves.ended(key, None);
    }
    assert!(waves.take_woken().is_empty());
    let Some((before, now)) = begun.zip(worked()) else { return };
    let taken = now.saturating_sub(before);
    assert!(taken < SOON, "{taken:?}");
}
