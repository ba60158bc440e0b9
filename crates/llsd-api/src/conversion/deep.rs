//! Objects that are nested more deeply than `serde_json` reads by itself, and such as hold more values than
//! anybody needs. The API server holds up
//! to ten thousand levels in a provider's `settings`; one object of the kind that could not be
//! converted would stop every list and watch of its version, for all users.
//!
//! All that is done to such a value goes down as deep as it is nested, also its end. So it exists
//! only inside [`on_a_large_stack`]; everybody else reads as deep as is usual.

use serde::Deserialize;
use serde::de::Error as _;
use serde_json::Error;
use serde_json::de::Deserializer;

/// Where `serde_json` gives up by itself is 128; some levels are added on the way into an
/// annotation.
const USUAL: usize = 100;

/// What the API server reads is 10,000 levels; one more annotation around it must fit too.
const DEEPEST: usize = 10_100;

/// The most values that are read. The server of the webhooks is reached by every pod, and three million zeros
/// have six megabytes as a text and hundreds of megabytes as values.
pub(super) const MOST_VALUES: usize = 100_000;

/// Several times what the deepest object takes in an unoptimised build. Only pages that are used
/// cost memory.
const STACK: usize = 64 << 20;

/// How deep texts may be nested where conversion reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    Usual,
    Deep,
}

impl Reading {
    pub(super) fn deserialize<'t, T: Deserialize<'t>>(self, text: &'t str) -> Result<T, Error> {
        if values(text) > MOST_VALUES {
            return Err(Error::custom(format!("more than {MOST_VALUES} values")));
        }
        if self == Self::Usual || nesting(text) > DEEPEST {
            return serde_json::from_str(text);
        }
        let mut reader = Deserializer::from_str(text);
        reader.disable_recursion_limit();
        let value = T::deserialize(&mut reader)?;
        reader.end()?;
        Ok(value)
    }
}

/// How an object must be read, from its text. `None` for what is too deep for the API server too.
pub(super) fn reading(object: &str) -> Option<Reading> {
    let depth = nesting(object);
    // An annotation may hold deep JSON as text.
    if depth <= USUAL && most_openings_in_a_string(object) <= USUAL {
        return Some(Reading::Usual);
    }
    (depth <= DEEPEST).then_some(Reading::Deep)
}

/// Does the work where there is room for it; `None` where no thread can be had.
pub(super) fn on_a_large_stack<T: Send>(work: impl FnOnce() -> Option<T> + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        match thread.ok()?.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// How many lists and objects of a JSON text lie within each other at most.
pub fn nesting(text: &str) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    scan(text, |byte, in_string| match byte {
        b'[' | b'{' if !in_string => {
            now += 1;
            most = most.max(now);
        }
        b']' | b'}' if !in_string => now = now.saturating_sub(1),
        _ => {}
    });
    most
}

/// How many values a JSON text holds, lists and objects included; never less than there are.
pub fn values(text: &str) -> usize {
    let mut separators = 1;
    scan(text, |byte, in_string| {
        separators += usize::from(!in_string && matches!(byte, b',' | b'[' | b'{'));
    });
    separators
}

/// Not how deep they lie: a bracket may stand in a string within the string. The number is never
/// less than the depth.
fn most_openings_in_a_string(text: &str) -> usize {
    let (mut now, mut most) = (0, 0);
    scan(text, |byte, in_string| match byte {
        b'[' | b'{' if in_string => {
            now += 1;
            most = most.max(now);
        }
        _ if !in_string => now = 0,
        _ => {}
    });
    most
}

fn scan(text: &str, mut see: impl FnMut(u8, bool)) {
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ => see(byte, in_string),
        }
    }
}
