//! What to do about the certificates, purely: from the time, what the Secret holds, and who asks.
//! The module above describes the protocol that these steps make up.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::Times;
use super::certificate::{Authority, Leaf, Trusted};
use super::material::Material;

/// Certificates begin so long before they are made, for clocks that are behind.
pub(super) const BACKDATED: Duration = Duration::from_mins(5);

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A replica that serves nothing yet.
    Starting,
    /// One that serves, and leaves the Secret to the leader.
    Following,
    Leading {
        /// Whether the API servers have trusted all authorities of the Secret for long enough.
        settled: bool,
    },
}

/// What the replica that asks knows of itself.
#[derive(Clone, Copy, Debug)]
pub struct Replica<'a> {
    pub standing: Standing,
    /// The authority of what it serves.
    pub serving: Option<&'a Trusted>,
    /// What it is called by.
    pub names: &'a BTreeSet<String>,
}

/// What to write into the Secret, if anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Keep,
    /// Everything, with what is served now among the previous ones.
    MakeAnew,
    /// A certificate of the authority that is there.
    MakeLeaf,
    /// An authority that will sign.
    PrepareNext,
    /// The next authority signs from now on.
    HandOver,
    /// What is served now was forgotten, and is trusted again.
    TrustServed,
    /// The previous authorities are no longer trusted.
    Retire,
    /// What cannot be understood goes.
    Tidy,
}

pub fn decide(now: Timestamp, found: &Material, own: &Replica<'_>, times: &Times) -> Step {
    if own.standing == Standing::Following {
        return Step::Keep;
    }
    let Some(authority) = found.authority.as_ref().filter(|authority| now < authority.until())
    else {
        return Step::MakeAnew;
    };
    let leaf = found.leaf.as_ref();
    let Some(leaf) = leaf.filter(|leaf| now < leaf.until && own.names.is_subset(&leaf.names))
    else {
        return Step::MakeLeaf;
    };
    let Standing::Leading { settled } = own.standing else { return Step::Keep };
    let is_served = |trusted: &Trusted| own.serving.is_some_and(|serving| serving == trusted);
    if own.serving.is_some_and(|serving| now < serving.until) && !found.trusted().any(is_served) {
        return Step::TrustServed;
    }
    if !found.flaws.is_empty() {
        return Step::Tidy;
    }
    if is_due(now, leaf.from, leaf.until) {
        return Step::MakeLeaf;
    }
    match found.next.as_ref().filter(|next| now < next.until()) {
        Some(_) if settled => return Step::HandOver,
        None if is_due(now, authority.trusted.from, authority.until()) => {
            return Step::PrepareNext;
        }
        _ => {}
    }
    let retired = now >= made(leaf.from) + signed(times.retire);
    if retired && !found.previous.is_empty() && !found.previous.iter().any(is_served) {
        return Step::Retire;
    }
    Step::Keep
}

/// Whether what a replica found may take the place of what it serves: at once if the API server
/// trusts it already, else when its authority has been `seen_for` long enough.
pub fn may_serve(
    now: Timestamp,
    serving: Option<(&Leaf, &Trusted)>,
    authority: &Authority,
    seen_for: Duration,
    times: &Times,
) -> bool {
    match serving {
        None => true,
        Some((leaf, _)) if now >= leaf.until => true,
        Some((_, trusted)) => *trusted == authority.trusted || seen_for >= times.settle,
    }
}

impl Authority {
    fn until(&self) -> Timestamp {
        self.trusted.until
    }
}

/// At two thirds of a life.
fn is_due(now: Timestamp, from: Timestamp, until: Timestamp) -> bool {
    let made = made(from);
    now >= made + (until.duration_since(made) * 2) / 3
}

fn made(from: Timestamp) -> Timestamp {
    from + signed(BACKDATED)
}

fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::make::{self, carry_out};
    use super::*;

    const LEADING: Standing = Standing::Leading { settled: false };
    const SETTLED: Standing = Standing::Leading { settled: true };

    /// The Secret, the clock, and one replica after the other.
    struct Scene {
        now: Timestamp,
        found: Material,
        names: BTreeSet<String>,
        times: Times,
    }

    impl Scene {
        fn new() -> Self {
            let now = Timestamp::from_second(1_800_000_000).unwrap();
            let names = ["webhooks.home.svc".to_owned()].into();
            Self { now, found: Material::default(), names, times: Times::default() }
        }

        fn started() -> Self {
            let mut scene = Self::new();
            assert_eq!(scene.step(Standing::Starting, None), Step::MakeAnew);
            scene
        }

        fn decide(&self, standing: Standing, serving: Option<&Trusted>) -> Step {
            decide(self.now, &self.found, &self.own(standing, serving), &self.times)
        }

        fn own<'a>(&'a self, standing: Standing, serving: Option<&'a Trusted>) -> Replica<'a> {
            Replica { standing, serving, names: &self.names }
        }

        /// Decides and does it.
        fn step(&mut self, standing: Standing, serving: Option<&Trusted>) -> Step {
            let step = self.decide(standing, serving);
            let own = self.own(standing, serving);
            let made = carry_out(&step, self.now, &self.found, &own, &self.times).unwrap();
            // Through the Secret and back.
            let data = made.write().into_iter().map(|(field, text)| {
                let text = secrecy::ExposeSecret::expose_secret(&text).as_bytes().to_vec();
                (field.to_owned(), k8s_openapi::ByteString(text))
            });
            self.found = Material::parse(&data.collect());
            assert_eq!(self.found.flaws, Vec::<String>::new());
            step
        }

        fn authority(&self) -> Trusted {
            self.found.authority.as_ref().unwrap().trusted.clone()
        }

        fn pass(&mut self, time: Duration) {
            self.now += time;
        }
    }

    #[test]
    fn a_new_certificate_is_of_the_same_authority_and_made_at_two_thirds() {
        let mut scene = Scene::started();
        let authority = scene.authority();
        let leaf = scene.found.leaf.clone().unwrap();
        let begun = scene.now;
        scene.pass(scene.times.leaf * 3 / 5);
        assert_eq!(scene.decide(LEADING, Some(&authority)), Step::Keep);
        scene.now = begun + scene.times.leaf * 2 / 3;
        assert_eq!(scene.decide(Standing::Starting, None), Step::Keep, "the leader does it");
        assert_eq!(scene.decide(Standing::Following, Some(&authority)), Step::Keep);
        assert_eq!(scene.step(LEADING, Some(&authority)), Step::MakeLeaf);
        assert_ne!(scene.found.leaf.as_ref().unwrap().pem, leaf.pem);
        assert_eq!(scene.authority(), authority);
        assert_eq!(scene.decide(LEADING, Some(&authority)), Step::Keep);
    }

    #[test]
    fn a_new_authority_is_trusted_before_it_signs_and_the_old_one_for_a_while_after() {
        let mut scene = Scene::started();
        let old = scene.authority();
        while !is_due(scene.now, old.from, old.until) {
            assert!(matches!(scene.step(LEADING, Some(&old)), Step::MakeLeaf | Step::Keep));
            scene.pass(Duration::from_hours(24));
        }
        scene.step(LEADING, Some(&old));
        if scene.found.next.is_none() {
            assert_eq!(scene.step(LEADING, Some(&old)), Step::PrepareNext);
        }
        assert_eq!(scene.found.trusted().count(), 2);
        assert_eq!(scene.authority(), old, "it does not sign yet");
        assert_eq!(scene.decide(LEADING, Some(&old)), Step::Keep, "it is not trusted yet");

        assert_eq!(scene.step(SETTLED, Some(&old)), Step::HandOver);
        let new = scene.authority();
        assert_ne!(new, old);
        assert_eq!(scene.found.previous, std::slice::from_ref(&old));
        let handed_over = scene.now;
        scene.pass(scene.times.retire * 9 / 10);
        assert_eq!(scene.decide(LEADING, Some(&new)), Step::Keep);
        scene.now = handed_over + scene.times.retire;
        assert_eq!(scene.decide(LEADING, Some(&old)), Step::Keep, "this replica still serves it");
        assert_eq!(scene.step(LEADING, Some(&new)), Step::Retire);
        assert_eq!(scene.found.bundle(), new.pem);
    }

    #[test]
    fn what_is_lost_or_broken_is_made_anew_without_distrusting_what_is_served() {
        let mut scene = Scene::started();
        let served = scene.authority();
        for standing in [Standing::Following, LEADING, Standing::Starting] {
            scene.found = Material::default();
            let expected =
                if standing == Standing::Following { Step::Keep } else { Step::MakeAnew };
            assert_eq!(scene.decide(standing, Some(&served)), expected);
        }
        // Another replica has just started and knows of nothing.
        assert_eq!(scene.step(Standing::Starting, None), Step::MakeAnew);
        assert!(!scene.found.trusted().any(|trusted| *trusted == served));
        assert_eq!(scene.step(LEADING, Some(&served)), Step::TrustServed);
        assert!(scene.found.trusted().any(|trusted| *trusted == served));
        assert_eq!(scene.decide(LEADING, Some(&served)), Step::Keep);
    }

    #[test]
    fn a_certificate_for_other_names_or_of_the_past_is_replaced_at_start() {
        let mut scene = Scene::started();
        scene.names.insert("10.0.0.5".to_owned());
        assert_eq!(scene.step(Standing::Starting, None), Step::MakeLeaf);
        assert_eq!(scene.found.leaf.as_ref().unwrap().names, scene.names);
        scene.pass(scene.times.leaf);
        assert_eq!(scene.step(Standing::Starting, None), Step::MakeLeaf);
        scene.pass(scene.times.authority);
        assert_eq!(scene.step(Standing::Starting, None), Step::MakeAnew);
    }

    #[test]
    fn a_certificate_never_outlives_its_authority() {
        let scene = Scene::started();
        let authority = scene.found.authority.clone().unwrap();
        let late = authority.trusted.until - Duration::from_hours(1);
        let leaf = make::leaf(late, &authority, &scene.names, &scene.times).unwrap();
        assert_eq!(leaf.until, authority.trusted.until);
    }

    #[test]
    fn a_replica_waits_with_a_certificate_whose_authority_it_has_just_seen() {
        let mut scene = Scene::started();
        let (leaf, served) = (scene.found.leaf.clone().unwrap(), scene.authority());
        scene.found = Material::default();
        scene.step(Standing::Starting, None);
        let new = scene.found.authority.clone().unwrap();
        let may =
            |seen_for| may_serve(scene.now, Some((&leaf, &served)), &new, seen_for, &scene.times);
        assert!(!may(Duration::ZERO));
        assert!(may(scene.times.settle));
        assert!(may_serve(scene.now, None, &new, Duration::ZERO, &scene.times));
        let expired = leaf.until;
        let now = may_serve(expired, Some((&leaf, &served)), &new, Duration::ZERO, &scene.times);
        assert!(now, "anything is better than an expired one");
    }
}
