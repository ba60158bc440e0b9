//! What the program knows of servers, to look up: `llsd providers` and `llsd distributions`.

pub(super) mod distributions;
pub(super) mod providers;
