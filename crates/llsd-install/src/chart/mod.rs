//! Two Helm charts, made from the same objects as the install files: `llsd-crds` with what a cluster has
//! once, and `llsd` with the operator. With default values they give what `llsd manifests` prints; the
//! namespace is Helm's to make.

mod contents;
mod definitions;
mod deployment;
mod operator;
mod operator_values;
mod template;
mod value;

use crate::named_text::NamedText;
use contents::Chart;

/// Both charts; paths are below `charts/`.
pub fn charts() -> Vec<NamedText> {
    [definitions::chart(), operator::chart()].iter().flat_map(Chart::files).collect()
}
