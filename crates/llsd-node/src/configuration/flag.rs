//! One flag of a command line.

pub(super) fn flag(name: &str, value: impl std::fmt::Display) -> String {
    format!("--{name}={value}")
}
