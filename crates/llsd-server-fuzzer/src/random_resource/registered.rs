//! `spec.resources`: models, tools and shields.

use serde_json::{Map, Value, json};

use super::maker::Maker;

const MODELS: [&str; 6] =
    ["llama3.2-8b", "meta-llama/Llama-3.1-8B", "all-minilm:l6-v2", "m", "gpt-4o", "embed"];
const TOOLS: [&str; 8] = [
    "websearch",
    "rag",
    "builtin::websearch",
    "builtin::rag",
    "wolfram_alpha",
    "file-search",
    "web_search",
    "my-tool",
];
const SHIELDS: [&str; 4] = ["content-safety", "llama-guard", "code-scanner", "s"];

impl Maker<'_> {
    pub(super) fn registered(&mut self) {
        let mut resources = Map::new();
        for (kind, share) in [("models", 55), ("tools", 25), ("shields", 20)] {
            if !self.random.chance(share) {
                continue;
            }
            let count = 1 + self.random.below(3);
            let mut entries: Vec<Value> = Vec::new();
            for _ in 0..count {
                let entry = match kind {
                    "models" => self.model(),
                    "tools" => self.tool(),
                    _ => self.shield(),
                };
                // What is listed twice is refused, which says nothing about servers.
                let name = |entry: &Value| {
                    let name = entry.get("name").unwrap_or(entry).as_str().unwrap_or_default();
                    name.rsplit("::").next().unwrap_or_default().replace(['_', '-'], "")
                };
                if entries.iter().all(|other| name(other) != name(&entry)) {
                    entries.push(entry);
                }
            }
            resources.insert(kind.to_owned(), entries.into());
        }
        if !resources.is_empty() {
            self.spec.insert("resources".to_owned(), resources.into());
        }
    }

    /// A provider of the resource or of the base, now and then one that is not there.
    fn provider(&mut self, own: &[String], api: &str) -> String {
        let of_base = self.base.providers().into_iter().filter(|one| one.api == api);
        let all: Vec<String> = own.iter().cloned().chain(of_base.map(|one| one.id)).collect();
        let chosen = self.random.one_of(&all).cloned().filter(|_| self.random.chance(98));
        chosen.unwrap_or_else(|| "nonesuch".to_owned())
    }

    fn model(&mut self) -> Value {
        let name = self.random.text(&MODELS);
        if self.random.chance(40) {
            return json!(name);
        }
        let mut model = json!({"name": name});
        if self.random.chance(70) {
            let own = self.inference.clone();
            model["provider"] = self.provider(&own, "inference").into();
        }
        if self.random.chance(30) {
            model["providerModelId"] = self.random.text(&MODELS).into();
        }
        match self.random.below(10) {
            0 => model["modelType"] = json!("llm"),
            1 | 2 => {
                model["modelType"] = json!("embedding");
                model["embeddingDimension"] = json!(768);
            }
            3 => model["modelType"] = json!("rerank"),
            _ => {}
        }
        if self.random.chance(15) {
            model["contextLength"] = json!(128_000);
        }
        if self.random.chance(15) {
            model["quantization"] = json!("fp8");
        }
        if self.random.chance(15) {
            model["metadata"] =
                json!({"team": "yes", "numbers": [0, 1.5, null], "on": {"a": "012"}});
        }
        model
    }

    fn tool(&mut self) -> Value {
        let mcp = self.random.chance(35);
        let prefix = if self.random.chance(50) { "mcp::" } else { "" };
        let name = if mcp { format!("{prefix}orders") } else { self.random.text(&TOOLS) };
        if !mcp && self.random.chance(60) {
            return json!(name);
        }
        let mut tool = json!({"name": name});
        if mcp {
            tool["mcpEndpoint"] = json!({"uri": "http://mcp.example.com:3000/sse"});
        }
        if self.random.chance(if mcp { 20 } else { 60 }) {
            tool["provider"] = self.provider(&[], "tool_runtime").into();
        }
        if self.random.chance(15) {
            tool["args"] = json!({"depth": 2});
        }
        tool
    }

    fn shield(&mut self) -> Value {
        let name = self.random.text(&SHIELDS);
        if self.random.chance(40) {
            return json!(name);
        }
        let mut shield = json!({"name": name});
        if self.random.chance(60) {
            let own = self.safety.clone();
            shield["provider"] = self.provider(&own, "safety").into();
        }
        if self.random.chance(60) {
            shield["model"] = json!("vllm/meta-llama/Llama-Guard-3-8B");
        }
        if self.random.chance(20) {
            shield["params"] = json!({"strict": true});
        }
        shield
    }
}
