//! Registries that are slow, gone or emptied.
