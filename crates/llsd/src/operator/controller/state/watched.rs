//! What the operator watches, and what can keep a watch from showing it.

use std::fmt;

use llsd_plan::objects::ObjectKind;

/// What a watch shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Watched {
    /// The operator's own resource.
    Resources,
    /// Objects that belong to resources.
    Owned(ObjectKind),
    /// The metadata of all ConfigMaps, for those that resources refer to.
    ConfigMaps,
    /// The metadata of all Secrets, where that is asked for.
    Secrets,
    OperatorConfig,
    /// The cluster's mirror objects with this plural.
    Mirrors(&'static str),
}

/// Why a watch does not show what is there, in words for an administrator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    Forbidden(String),
    NotServed,
    NotAnswering(String),
}

impl Watched {
    /// Whether a cluster may lack its kind.
    pub fn is_optional(self) -> bool {
        match self {
            Self::Owned(kind) => kind.is_optional(),
            Self::Mirrors(_) => true,
            Self::Resources | Self::ConfigMaps | Self::Secrets | Self::OperatorConfig => false,
        }
    }

    /// As figures and logs name it.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Resources => llsd_api::PLURAL,
            Self::Owned(kind) => kind.plural(),
            Self::ConfigMaps | Self::OperatorConfig => ObjectKind::ConfigMap.plural(),
            Self::Secrets => ObjectKind::Secret.plural(),
            Self::Mirrors(plural) => plural,
        }
    }
}

impl Trouble {
    /// The words of one that does not answer change with every try.
    pub fn is_same_kind_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::NotAnswering(_), Self::NotAnswering(_)) => true,
            (one, other) => one == other,
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forbidden(why) => f.write_str(why),
            Self::NotServed => f.write_str("the cluster does not serve it"),
            Self::NotAnswering(why) => write!(f, "the API server does not list it: {why}"),
        }
    }
}
