//! Who calls, as the server knows them.

use std::collections::BTreeMap;

/// Values by the name of the attribute.
pub type Attributes = BTreeMap<String, Vec<String>>;

/// Somebody whom the server knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    pub principal: String,
    pub attributes: Attributes,
    /// As far as one is told.
    pub tenant: Option<String>,
}

/// Why a caller is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stranger {
    /// The server answers 401.
    Refused(String),
    /// The server fails, and answers 500.
    Failed(String),
    /// What the server makes of this is not known here.
    Undecided(String),
}

impl Stranger {
    pub(super) fn refused(message: impl Into<String>) -> Self {
        Self::Refused(message.into())
    }
}

impl Caller {
    /// The values of an attribute; none where it is not there.
    pub fn values(&self, name: &str) -> &[String] {
        self.attributes.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether two are of different tenants. Who is of none is a stranger to nobody.
    pub(super) fn is_of_another_tenant(&self, other: &Self) -> bool {
        match (&self.tenant, &other.tenant) {
            (Some(one), Some(other)) => one != other,
            _ => false,
        }
    }
}
