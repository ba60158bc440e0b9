//! What the explorer remembers from one tick to the next.

use std::rc::Rc;

use crate::wish::Wish;
use crate::world::{BackTo, Given, Template, World};

/// What was seen before.
#[derive(Clone, Debug, Default)]
pub struct Watcher {
    /// For how many ticks in a row pods served without being reachable.
    pub(super) unreached: u32,
    /// Templates that failed, by what they are, and what was asked for at that time.
    pub(super) failed: Vec<(String, Word)>,
    /// The template that the Deployment had last, and why it came to have it.
    pub(super) template: Option<Rc<Template>>,
    pub(super) cause: Option<Cause>,
    /// A pod was available.
    pub(super) served: bool,
    /// There was a claim.
    pub(super) had_claim: bool,
}

/// What a person says about a server: its spec, and the annotations that ask for something; and the values of
/// the Secrets that the running pods do not read.
pub(super) type Word = (i64, [u8; 3], Option<BackTo>, [Option<u8>; 2]);

/// What may change a pod template: what of the spec pods are made from, and the rest of a person's word.
pub(super) type Cause = (Wish, [u8; 3], Option<BackTo>, [u8; 2]);

impl Watcher {
    /// Something was written from what was given before.
    pub fn note(&mut self, world: &World, given: &Given) {
        let now = world.template();
        if now.map(|now| &now.hash) != self.template.as_ref().map(|before| &before.hash) {
            (self.template, self.cause) = (now.cloned(), Some(cause(given)));
        }
    }

    /// The server is gone, and what it was with it.
    pub(super) fn forget(&mut self) {
        *self = Self { had_claim: self.had_claim, ..Self::default() };
    }
}

/// What is said where pods of this template run.
pub(super) fn word(world: &World, runs: &Template) -> Word {
    let Given { generation, asks, back_to, secrets, .. } = &world.given;
    let unread = [0, 1].map(|which| Some(secrets[which]).filter(|_| !runs.reads[which]));
    (*generation, *asks, back_to.clone(), unread)
}

pub(super) fn cause(given: &Given) -> Cause {
    let Given { wish, asks, back_to, secrets, .. } = given;
    (wish.of_pods(), *asks, back_to.clone(), *secrets)
}
