//! The reference pages of the documentation, made from what the program itself knows: the resource's
//! schema, the command line's definition, the words of a status, labels and figures, provider types and
//! distributions.

mod commands;
mod fields;
mod labels;
mod metrics;
mod page;
mod providers;
mod words;

pub use commands::commands;
pub use fields::fields;
pub use labels::labels;
pub use metrics::metrics;
pub use providers::{distributions, providers};
pub use words::{conditions, events};

/// Every page by its name under `docs/reference`.
pub fn pages() -> Vec<(&'static str, String)> {
    vec![
        ("commands.md", commands(llsd::command::definition())),
        ("conditions.md", conditions()),
        ("distributions.md", distributions()),
        ("events.md", events()),
        ("fields.md", fields()),
        ("labels.md", labels()),
        ("metrics.md", metrics()),
        ("providers.md", providers()),
    ]
}
