//! The APIs of the server that have providers, in one place: the structs with a field for each are
//! made from the list here.

/// The fields of `providers` and `externalProviders`, in the order of the schema.
pub const PROVIDER_APIS: [&str; 14] = [
    "inference",
    "safety",
    "vectorIo",
    "toolRuntime",
    "telemetry",
    "agents",
    "responses",
    "files",
    "fileProcessors",
    "batches",
    "datasetio",
    "scoring",
    "eval",
    "postTraining",
];

/// A struct with one optional field of the same type for each API.
macro_rules! per_provider_api {
    (
        $(#[$outer:meta])*
        pub struct $name:ident { $(#[$field:meta])* pub _: $type:ty, }
    ) => {
        $(#[$outer])*
        pub struct $name {
            /// Model servers: `vllm`, `ollama`, `openai`, `sentence-transformers` and others.
            #[serde(skip_serializing_if = "Option::is_none")]
            $(#[$field])* pub inference: $type,
            /// Guards that check what goes in and comes out, for example `llama-guard`. Fields as in `inference`.
            #[serde(skip_serializing_if = "Option::is_none")]
            $(#[$field])* pub safety: $type,
            /// Vector databases: `pgvector`, `milvus`, `faiss` and others. Fields as in `inference`.
            #[serde(skip_serializing_if = "Option::is_none")]
            $(#[$field])* pub vector_io: $type,
            /// What runs tools: web search, retrieval, the Model Context Protocol. Fields as in `inference`.
            #[serde(skip_serializing_if = "Option::is_none")]
            $(#[$field])* pub tool_runtime: $type,
            /// Where traces and metrics go. Servers since 0.3 take this as OpenTelemetry environment. Fields as in `inference`.
            #[serde(skip_serializing_if = "Option::is_none")]
            $(#[$field])* pub telemetry: $type,
            /// Agents. The same API as `responses`, under the name that servers up to 0.6 use. Fields as in `inference`.
            #[serde(skip_serializing_if = "Option::is_none")]
            $(#[$field])* pub agents: $type,
            /// Responses. The same API as `agents`, under the name that servers since 0.7 use. Fields as in `inference`.
            #[serde(skip_serializing_if = "Option::is_none")]
            $(#[$field])* pub responses: $type,
            /// File storage. Fields as in `inference`.
            #[serde(skip_serializing_if = "Option::is_none")]
            $(#[$field])* pub files: $type,
            /// What turns files into text. Fields as in `inference`.
            #[serde(skip_serializing_if = "Option::is_none")]
            $(#[$field])* pub file_processors: $type,
            /// Batch processing. Fields as in `inference`.
            #[serde(skip_serializing_if = "Option::is_none")]
            $(#[$field])* pub batches: $type,
            /// Data sets. Fields as in `inference`.
            #[serde(skip_serializing_if = "Option::is_none")]
            $(#[$field])* pub datasetio: $type,
            /// Scoring functions. Fields as in `inference`.
            #[serde(skip_serializing_if = "Option::is_none")]
            $(#[$field])* pub scoring: $type,
            /// Evaluation. Fields as in `inference`.
            #[serde(skip_serializing_if = "Option::is_none")]
            $(#[$field])* pub eval: $type,
            /// Fine-tuning. Fields as in `inference`.
            #[serde(skip_serializing_if = "Option::is_none")]
            $(#[$field])* pub post_training: $type,
        }

        impl $name {
            /// Every API with what the resource says of it, in the order of the schema.
            pub fn by_api(&self) -> [(&'static str, &$type); PROVIDER_APIS.len()] {
                let fields = [
                    &self.inference,
                    &self.safety,
                    &self.vector_io,
                    &self.tool_runtime,
                    &self.telemetry,
                    &self.agents,
                    &self.responses,
                    &self.files,
                    &self.file_processors,
                    &self.batches,
                    &self.datasetio,
                    &self.scoring,
                    &self.eval,
                    &self.post_training,
                ];
                std::array::from_fn(|index| (PROVIDER_APIS[index], fields[index]))
            }
        }
    };
}
pub(crate) use per_provider_api;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;

    #[test]
    fn the_list_names_the_fields_of_both_structs() {
        for described in [
            schema::described::<crate::v1alpha2::ProvidersSpec>(),
            schema::described::<crate::v1alpha2::ExternalProvidersSpec>(),
        ] {
            let fields: Vec<&String> =
                described["properties"].as_object().unwrap().keys().collect();
            assert_eq!(fields, PROVIDER_APIS);
        }
    }

    #[test]
    fn each_api_is_paired_with_its_own_field() {
        for api in PROVIDER_APIS {
            let value = serde_json::json!({ api: [] });
            let spec: crate::v1alpha2::ExternalProvidersSpec =
                serde_json::from_value(value).unwrap();
            let given: Vec<&str> = spec
                .by_api()
                .into_iter()
                .filter(|(_, entries)| entries.is_some())
                .map(|(api, _)| api)
                .collect();
            assert_eq!(given, [api]);
        }
    }
}
