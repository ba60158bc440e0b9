//! What watches the operator: figures, alerts, the dashboard, and what GitOps tools make of a status.

mod alerts;
mod health_rules;
mod pages;
mod picture;
mod scraped;
mod service_monitor;
mod top;
mod traces;
