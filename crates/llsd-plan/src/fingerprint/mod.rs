//! Whether a live object is exactly what would be applied, decided from sixteen bytes on each side.
//! What we applied is read from the object's own `managedFields`; the cluster is not asked
//! here, and nothing of an object is kept.
//!
//! Both sides are brought to one normal form, in which
//! - only the fields count that we own: what others add, what the server sets by itself and what
//!   identifies the object are left out;
//! - a value that Kubernetes does not store (`""`, `0`, `false`, an empty list or map) is there as
//!   an empty value, because our ownership of it is stored. Somebody who sets it takes that away;
//! - quantities are numbers, and what the server adds inside of an atomic list or map is left out;
//! - the order of a map's keys does not matter, and that of a list's items does: applying restores
//!   it, and variables may refer only to earlier ones.
//!
//! `stringData` of a Secret cannot be read back, so such a Secret never equals its live object.

mod desired;
mod live;
mod normal;
mod owned;
pub mod schema;

use std::fmt;

use serde_json::{Value, json};

pub use live::FIELD_MANAGER;
use normal::Normal;

/// Stands for an object in its normal form. Equal ones mean that applying would change nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 16]);

/// Of what we would apply.
pub fn of_desired(desired: &Value) -> Fingerprint {
    let mut normal = Normal::default();
    desired::write(desired, &mut normal);
    Fingerprint(normal.finish())
}

/// Of what is live of what we applied; `None` where we never applied to it.
pub fn of_live(live: &Value) -> Option<Fingerprint> {
    let owned = live::applied(live)?;
    let mut normal = Normal::default();
    live::write(owned, live, &mut normal);
    Some(Fingerprint(normal.finish()))
}

/// Of a pod template that we would apply.
pub fn of_template(template: &Value) -> Fingerprint {
    of_desired(&json!({"spec": {"template": template}}))
}

/// The pod template of a live Deployment, as far as we applied it: what can be applied again and changes
/// nothing. `None` where we never applied one.
pub fn owned_template(live: &Value) -> Option<Value> {
    let fields = live::applied(live)?.get("f:spec")?.get("f:template")?.as_object()?;
    owned::value("template", fields, live.get("spec")?.get("template"))
}

/// A live object as far as we applied it, with its name: what can be applied again and changes nothing. `None`
/// where we never applied to it.
pub fn owned(live: &Value) -> Option<Value> {
    let mut json = owned::value("", live::applied(live)?, Some(live))?;
    for identity in ["apiVersion", "kind"] {
        json[identity] = live[identity].clone();
    }
    for identity in ["name", "namespace"] {
        json["metadata"][identity] = live["metadata"][identity].clone();
    }
    Some(json)
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}

/// Whether we applied the field at this path, as `managedFields` spells it.
pub fn is_applied(live: &Value, path: &[&str]) -> bool {
    let mut fields = live::applied(live);
    for step in path {
        fields = fields.and_then(|fields| fields.get(*step)?.as_object());
    }
    fields.is_some()
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests;
