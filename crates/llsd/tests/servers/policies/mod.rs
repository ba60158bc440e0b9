//! The server's own decisions about callers, and ours.

mod agreement;
mod cases;
mod routes;
mod sentences;
