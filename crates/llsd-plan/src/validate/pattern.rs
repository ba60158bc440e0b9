//! The patterns of the schemas, each compiled once: compiling one takes longer than all other checks
//! of a resource together.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use regex_lite::Regex;

/// As many as the schemas have at most.
static COMPILED: LazyLock<RwLock<HashMap<String, Arc<Regex>>>> = LazyLock::new(RwLock::default);

/// Whether the text is as the pattern of a schema asks for.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    compiled(pattern).is_match(text)
}

fn compiled(pattern: &str) -> Arc<Regex> {
    let known = COMPILED.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.get(pattern) {
        return Arc::clone(known);
    }
    drop(known);
    let new = Arc::new(compile(pattern));
    let mut known = COMPILED.write().unwrap_or_else(PoisonError::into_inner);
    known.insert(pattern.to_owned(), Arc::clone(&new));
    new
}

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("patterns of the schema are valid")
}
