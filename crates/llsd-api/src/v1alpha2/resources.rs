//! `spec.resources`: what is registered when the server starts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::name_or_entry::NameOrEntry;

/// Models, tools and shields. Each item is a name, or an object that says more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResourcesSpec {
    /// Models. A bare name goes to the first inference provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub models: Option<Vec<NameOrEntry<ModelEntry>>>,
    /// Tool groups, for example `websearch` or `rag`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub tools: Option<Vec<NameOrEntry<ToolEntry>>>,
    /// Shields, registered with the safety provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub shields: Option<Vec<NameOrEntry<ShieldEntry>>>,
}

/// A model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelEntry {
    /// The name by which clients ask for the model.
    #[schemars(length(min = 1, max = 512))]
    pub name: String,
    /// The id of the provider that serves it. Default: the first inference provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub provider: Option<String>,
    /// The provider's own name of the model. Default: `name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub provider_model_id: Option<String>,
    /// What the model does. Default: `llm`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_type: Option<ModelType>,
    /// The context window, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub context_length: Option<i64>,
    /// How the weights are quantised, for example `fp8`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub quantization: Option<String>,
    /// The length of the vectors; required for `modelType: embedding`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub embedding_dimension: Option<i64>,
    /// Further metadata, passed on as it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// Fields that are not understood; validation names them.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: BTreeMap<String, Value>,
}

/// What a model does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ModelType {
    Llm,
    Embedding,
    Rerank,
}

/// A tool group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolEntry {
    /// The tool group, for example `websearch`, `rag`, or any name for an MCP server.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The id of the provider that runs it. Default: the one that can.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub provider: Option<String>,
    /// The Model Context Protocol server behind the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_endpoint: Option<McpEndpoint>,
    /// Arguments of the group, passed on as they stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Map<String, Value>>,
    /// Fields that are not understood; validation names them.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: BTreeMap<String, Value>,
}

/// A Model Context Protocol server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpEndpoint {
    /// Its address, for example `http://mcp:3000/sse`.
    #[schemars(length(min = 1, max = 2048))]
    pub uri: String,
}

/// A shield.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShieldEntry {
    /// The shield's name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The id of the safety provider. Default: the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub provider: Option<String>,
    /// The model behind the shield, by the provider's own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub model: Option<String>,
    /// Parameters of the shield, passed on as they stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<Map<String, Value>>,
    /// Fields that are not understood; validation names them.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: BTreeMap<String, Value>,
}
