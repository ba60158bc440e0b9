//! Puts together the certificates that a server trusts.
