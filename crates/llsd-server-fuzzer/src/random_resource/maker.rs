//! What a random resource is made from.

use llsd_testkit::InstalledType;
use serde_json::{Map, Value};

use crate::base::Base;
use crate::random::Random;

/// A resource in the making. The files beside this one have a group of fields each.
#[derive(Debug)]
pub(super) struct Maker<'a> {
    pub(super) random: Random,
    pub(super) types: &'a [InstalledType],
    pub(super) base: &'a Base,
    pub(super) spec: Map<String, Value>,
    /// The ids of inference and of safety that the resource has itself.
    pub(super) inference: Vec<String>,
    pub(super) safety: Vec<String>,
}

impl<'a> Maker<'a> {
    pub(super) fn new(seed: u64, types: &'a [InstalledType], base: &'a Base) -> Self {
        Self {
            random: Random::new(seed),
            types,
            base,
            spec: Map::new(),
            inference: Vec::new(),
            safety: Vec::new(),
        }
    }
}
