//! The operator's own ConfigMap, broken, edited and gone.
