//! Resources that the server registers when it starts: models, tools and shields of the resource, and
//! what kinds there are at all.

mod assignment;
mod item;
mod kinds;
mod models;
mod shields;
mod tools;

use super::draft::Draft;

pub(super) use kinds::{KINDS, ResourceKind};
pub(super) use shields::is_registered as is_registered_shield;

pub(super) fn apply(draft: &mut Draft<'_>) {
    models::apply(draft);
    tools::apply(draft);
    shields::apply(draft);
}
