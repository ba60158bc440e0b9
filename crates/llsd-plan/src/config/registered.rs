//! The kinds of resources that a configuration registers, in one table.

/// A list of registered resources.
pub(super) struct Kind {
    /// The key of the list.
    pub(super) list: &'static str,
    /// The field of an entry that holds its id.
    pub(super) id: &'static str,
    /// The API whose providers serve it.
    pub(super) api: &'static str,
}

const fn kind(list: &'static str, id: &'static str, api: &'static str) -> Kind {
    Kind { list, id, api }
}

pub(super) const KINDS: [Kind; 8] = [
    kind("models", "model_id", "inference"),
    kind("shields", "shield_id", "safety"),
    kind("vector_stores", "vector_store_id", "vector_io"),
    kind("vector_dbs", "vector_db_id", "vector_io"),
    kind("tool_groups", "toolgroup_id", "tool_runtime"),
    kind("datasets", "dataset_id", "datasetio"),
    kind("scoring_fns", "scoring_fn_id", "scoring"),
    kind("benchmarks", "benchmark_id", "eval"),
];
