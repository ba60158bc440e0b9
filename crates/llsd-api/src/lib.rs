//! The `LlamaStackDistribution` resource: both versions, their schemas, and the conversion between them.

pub mod conversion;
