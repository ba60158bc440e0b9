//! Python's own rules: names, requirements, what a wheel is made for, and what a server is.

mod name;
mod requirement;
mod server;
mod tags;

pub use name::normalised;
pub use requirement::{NoRequirement, Requirement};
pub use server::{Server, TELL, WrongVersion};
pub use tags::{Architecture, Libc, Tag};
