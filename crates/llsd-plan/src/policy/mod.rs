//! What a server answers to whom by the rules of `spec.access`: its own two policies, read word by word
//! as each release reads them, and decided without asking anybody. `access` beside this folder is about
//! something else: what the operator itself may do in the cluster. Releases without a part of it are not
//! met here, nor those before 0.3, which ask the probes of their own pods for a token.

mod answer;
pub mod audience;
mod authentication;
mod caller;
mod claims;
pub mod condition;
mod forbidden;
mod gateway;
mod pattern;
mod policies;
mod resource;
mod route;
mod route_policy;
mod rule;
mod scope;
mod spelling;
mod tenant;

pub use answer::{Answer, Request, answer};
pub use authentication::caller;
pub use caller::{Attributes, Caller, Stranger};
pub use condition::{Condition, Mistake};
pub use forbidden::warn_of_gaps;
pub use policies::{Policies, parse_policies};
pub use resource::decide_resource;
pub use route::decide_route;
pub use route_policy::{ServerRule, route_policy};
pub use rule::{DecidedBy, Outcome, RuleDecision};
pub use scope::RESOURCE_TYPES;
