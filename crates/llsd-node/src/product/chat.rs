//! Questions to a model through a server.

use anyhow::Context;
use serde_json::{Value, json};

use super::model::SERVED_MODEL;
use super::on_node::Product;

impl Product {
    /// Asks the model a question through a server.
    pub fn chat(&self, url: &str, question: &str) -> anyhow::Result<String> {
        self.chat_with(url, SERVED_MODEL, question)
    }

    /// Asks another model.
    pub fn chat_with(&self, url: &str, model: &str, question: &str) -> anyhow::Result<String> {
        self.chat_by(&[], url, model, question)
    }

    /// The same with further flags for curl.
    pub fn chat_by(
        &self,
        flags: &[&str],
        url: &str,
        model: &str,
        question: &str,
    ) -> anyhow::Result<String> {
        let messages = json!([{"role": "user", "content": question}]);
        let body = json!({"model": model, "messages": messages}).to_string();
        let chat = format!("{url}/v1/chat/completions");
        let ask = ["--header", "content-type: application/json", "--data", &body, &chat];
        let answer = self.curl(&[flags, &ask].concat())?;
        let parsed: Value = serde_json::from_str(&answer).context("the server answers in JSON")?;
        let content = parsed["choices"][0]["message"]["content"].as_str();
        content.map(str::to_owned).with_context(|| format!("no answer: {answer}"))
    }
}
