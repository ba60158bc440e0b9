//! The engine of `llsd validate`, `render`, `explain` and `migrate` for a page in a browser: a
//! question as JSON in, an answer as JSON out. What the page shows is what the commands print.

mod answer;
mod catalogue;
mod distribution;
mod question;
mod rendered;
#[cfg(target_arch = "wasm32")]
mod wasm;

use serde_json::json;

use question::Question;

/// Answers a question; one that cannot be read is answered by `{"error": …}`.
pub fn ask(question: &[u8]) -> String {
    let answer = match serde_json::from_slice(question) {
        Ok(Question::Catalogue) => serde_json::to_string(&catalogue::Catalogue::new()),
        Ok(Question::Render(request)) => serde_json::to_string(&answer::Answer::new(&request)),
        Ok(Question::Distribution { text, name }) => {
            serde_json::to_string(&json!({"text": distribution::chosen(&text, &name)}))
        }
        Err(error) => serde_json::to_string(&json!({"error": error.to_string()})),
    };
    answer.expect("answers have string keys only")
}
