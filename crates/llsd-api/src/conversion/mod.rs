//! Conversion between `llamastack.io/v1alpha1` and `v1alpha2`: the pure part of the webhook.
//!
//! It works on JSON and is total. One object that cannot be converted makes every list and watch
//! of that version fail, for all users; so there is no error here, and nothing is too malformed:
//! what has no place in the other version travels in an annotation and comes back.
//!
//! - `table` says which field is which, as data;
//! - `exchange` moves them, and takes the steps of a conversion one after the other;
//! - `carried` finds what moving alone would lose, and puts it back;
//! - `extras` is the annotation in which that travels, `annotations` takes it off an object and puts
//!   it on, and `older` reads the spellings it once had;
//! - `review` answers a whole `ConversionReview`, and `deep` reads what is nested beyond measure.
//!
//! # What holds
//! - There and back, in either direction, yields the object as it was, also when the API server
//!   has filled in its schema defaults in between.
//! - A change made through one version wins over what was carried for the other, and loses
//!   nothing else.
//! - `overrideConfig` never appears beside a section that it excludes, unless the stored object
//!   had both: what v1alpha1's `userConfig` displaces waits in the annotation, and returns with
//!   its removal. The details of an exposure wait in the same way while `exposeRoute` is false.
//! - Metadata other than annotations is never touched. An object whose metadata is no object has
//!   nowhere to carry anything.

mod annotations;
mod carried;
mod deep;
mod exchange;
mod extras;
mod older;
mod paths;
pub mod review;
mod table;
mod version;

pub use deep::{nesting, values};
pub use exchange::{carried_container_name, convert, down, dropped, up};
pub use extras::{V1ALPHA1_EXTRAS, V1ALPHA2_EXTRAS};
pub use table::{v1alpha1_field, v1alpha2_field};
pub use version::Version;
