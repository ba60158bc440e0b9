//! Makes a release out of built programs: the operator's image with its bill of materials, provenance
//! and signatures, and archives of the command line. The same inputs give the same bytes; only signatures
//! differ. Nothing here is part of the shipped program.

pub mod archive;
mod attached;
pub mod attestation;
pub mod bill_of_materials;
pub mod image;
pub mod layout;
pub mod manual;
pub mod plugin_index;
pub mod provenance;
pub mod push;
pub mod reference;
pub mod root;
pub mod signing;
pub mod verify;
