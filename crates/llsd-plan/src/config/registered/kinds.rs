//! The kinds of resources that a configuration registers, in one table.

/// A list of registered resources.
pub(in crate::config) struct ResourceKind {
    /// The key of the list.
    pub(in crate::config) list: &'static str,
    /// The field of an entry that holds its id.
    pub(in crate::config) id: &'static str,
    /// The API whose providers serve it.
    pub(in crate::config) api: &'static str,
}

const fn kind(list: &'static str, id: &'static str, api: &'static str) -> ResourceKind {
    ResourceKind { list, id, api }
}

pub(in crate::config) const KINDS: [ResourceKind; 8] = [
    kind("models", "model_id", "inference"),
    kind("shields", "shield_id", "safety"),
    kind("vector_stores", "vector_store_id", "vector_io"),
    kind("vector_dbs", "vector_db_id", "vector_io"),
    kind("tool_groups", "toolgroup_id", "tool_runtime"),
    kind("datasets", "dataset_id", "datasetio"),
    kind("scoring_fns", "scoring_fn_id", "scoring"),
    kind("benchmarks", "benchmark_id", "eval"),
];
