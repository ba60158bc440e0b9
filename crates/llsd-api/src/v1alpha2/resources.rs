//! `spec.resources`: what is registered when the server starts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with_macros::skip_serializing_none;

use crate::name_or_entry::NameOrEntry;

/// Models, tools and shields. Each item is a name, or an object that says more.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResourcesSpec {
    /// Models. A bare name goes to the first inference provider.
    #[schemars(length(max = 256))]
    pub models: Option<Vec<NameOrEntry<ModelEntry>>>,
    /// Tool groups, for example `websearch` or `rag`.
    #[schemars(length(max = 128))]
    pub tools: Option<Vec<NameOrEntry<ToolEntry>>>,
    /// Shields, registered with the safety provider.
    #[schemars(length(max = 128))]
    pub shields: Option<Vec<NameOrEntry<ShieldEntry>>>,
}

/// A model.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelEntry {
    /// The name by which clients ask for the model.
    #[schemars(length(min = 1, max = 512))]
    pub name: String,
    /// The id of the provider that serves it. Default: the first inference provider.
    #[schemars(length(min = 1, max = 63))]
    pub provider: Option<String>,
    /// The provider's own name of the model. Default: `name`.
    #[schemars(length(min = 1, max = 512))]
    pub provider_model_id: Option<String>,
    /// What the model does. Default: `llm`.
    pub model_type: Option<ModelType>,
    /// The context window, in tokens.
    #[schemars(range(min = 1))]
    pub context_length: Option<i64>,
    /// How the weights are quantised, for example `fp8`.
    #[schemars(length(min = 1, max = 253))]
    pub quantization: Option<String>,
    /// The length of the vectors; required for `modelType: embedding`.
    #[schemars(range(min = 1))]
    pub embedding_dimension: Option<i64>,
    /// Further metadata, passed on unchanged.
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
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolEntry {
    /// The tool group, for example `websearch`, `rag`, or any name for an MCP server.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The id of the provider that runs it. Default: the one that can.
    #[schemars(length(min = 1, max = 63))]
    pub provider: Option<String>,
    /// The Model Context Protocol server behind the group.
    pub mcp_endpoint: Option<McpEndpoint>,
    /// Arguments of the group, passed on as they stand.
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
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShieldEntry {
    /// The shield's name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The id of the safety provider. Default: the first one.
    #[schemars(length(min = 1, max = 63))]
    pub provider: Option<String>,
    /// The model behind the shield, by the provider's own name.
    #[schemars(length(min = 1, max = 512))]
    pub model: Option<String>,
    /// Parameters of the shield, passed on as they stand.
    pub params: Option<Map<String, Value>>,
    /// Fields that are not understood; validation names them.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: BTreeMap<String, Value>,
}
