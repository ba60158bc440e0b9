//! What the tests of several crates read: the golden cases, the cases about objects, the tables of
//! verdicts and the samples. Each has one reader, here.
//!
//! | module | reads | used to |
//! |---|---|---|
//! | [`golden`] | `llsd-plan/tests/cases` | plan, and compare with what is expected |
//! | [`specification`] | the same | write their README |
//! | [`objects`] | `llsd-plan/tests/objects` and `object_rules.yaml` | make objects, and apply them |
//! | [`programs`] | | name programs instead of comparing their texts |
//! | [`verdicts`] | `llsd-plan/tests/verdicts` | judge resources, with and without an API server |
//! | [`secret_fields`] | the schema of v1alpha2 | check that every list of such fields is whole |
//! | [`samples`] | `deploy/samples` | plan, render, apply and migrate |

pub mod files;
pub mod golden;
pub mod objects;
pub mod programs;
pub mod samples;
pub mod secret_fields;
pub mod specification;
pub mod verdicts;
