//! The engine of `llsd validate`, `render`, `explain`, `schema`, `migrate`, `access test` and `up`: texts of resources in, findings
//! with their lines, objects, configurations and migrated texts out. No I/O: files, flags and exit
//! codes are the command line's.

pub mod access;
mod change;
mod configuration;
mod editor_schema;
mod examined;
pub mod explain;
mod facts_file;
pub mod field_help;
mod finding;
mod input;
mod known;
pub mod laptop;
pub mod migrate;
mod pick;
mod plans;
pub mod render;
mod report;
mod resource;
mod source;
mod validate;

pub use change::{Change, healing};
pub use configuration::Configuration;
pub use editor_schema::editor_schema;
pub use examined::{Examined, Planned};
pub use facts_file::{base, facts};
pub use finding::Finding;
pub use input::Input;
pub use known::Known;
pub use plans::{Plans, Refused};
pub use report::{Report, StreamTexts};
pub use resource::{Contents, Remark, Resource, Summary};
pub use source::Source;
pub use validate::validate;
