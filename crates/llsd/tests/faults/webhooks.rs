//! Callers of the webhooks who are not the API server.
