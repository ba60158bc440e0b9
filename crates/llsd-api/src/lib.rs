//! The `LlamaStackDistribution` resource: both versions, their schemas, the admission policy, and
//! the conversion between the versions. No client and no I/O live here.

pub mod conversion;
pub mod crd;
pub mod env_name;
pub mod expose;
pub mod lenient;
pub mod name_or_entry;
pub mod one_or_many;
pub mod patterns;
pub mod policy;
pub mod provider_id;
pub mod review;
pub mod rules;
pub mod schema;
pub mod secret_ref;
mod text_or_list;
pub mod v1alpha1;
pub mod v1alpha2;

/// The API group of the resource.
pub const GROUP: &str = "llamastack.io";
/// The resource's kind.
pub const KIND: &str = "LlamaStackDistribution";
/// The resource's plural, as it stands in URLs and in the name of the CRD.
pub const PLURAL: &str = "llamastackdistributions";
/// Groups that older documents use; the command line reads them, the API server never serves them.
pub const FORMER_GROUPS: [&str; 2] = ["llamastack.ai", "llama.meta.com"];
