//! Kinds that are not served, watches that are forbidden.
