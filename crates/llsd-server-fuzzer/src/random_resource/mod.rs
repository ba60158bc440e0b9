//! A random resource: every group of fields that has a part in the configuration.

mod access;
mod maker;
mod pods;
mod providers;
mod registered;
mod state;

use llsd_testkit::InstalledType;
use serde_json::Value;

use crate::base::Base;
use maker::Maker;

/// The spec of a random resource.
pub fn spec(seed: u64, types: &[InstalledType], base: &Base) -> Value {
    let mut maker = Maker::new(seed, types, base);
    maker.providers();
    maker.external_providers();
    maker.registered();
    maker.storage();
    maker.disabled();
    maker.pods();
    if maker.random.chance(12) {
        let access = access::access(&mut maker.random);
        maker.spec.insert("access".to_owned(), access);
    }
    Value::Object(maker.spec)
}
