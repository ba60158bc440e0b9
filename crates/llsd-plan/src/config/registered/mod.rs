//! Resources that the server registers when it starts: models, tools and shields of the resource, and
//! what kinds there are at all.

mod assignment;
mod default_shield;
mod item;
mod kinds;
mod models;
mod shields;
mod tools;

use super::draft::Draft;

pub(super) use default_shield::settle as settle_default_shield;
pub(super) use kinds::{KINDS, ResourceKind};

pub(super) fn apply(draft: &mut Draft<'_>) {
    models::apply(draft);
    tools::apply(draft);
    shields::apply(draft);
}
