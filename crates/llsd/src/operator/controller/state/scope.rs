//! What the operator looks after: the whole cluster, or some namespaces.

use std::fmt::{self, Debug};

use k8s_openapi::NamespaceResourceScope;
use kube::core::ApiResource;
use kube::{Api, Client, Resource};

use crate::operator::controller::requests::object::Object;

/// All that is looked after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    Cluster,
    Namespaces(Vec<String>),
}

impl Scope {
    /// From `WATCH_NAMESPACE`: names with commas between them, or nothing for the whole cluster.
    pub fn parse(text: &str) -> Self {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort();
        names.dedup();
        if names.is_empty() { Self::Cluster } else { Self::Namespaces(names) }
    }

    /// What one watch can cover.
    pub fn parts(&self) -> Vec<Part> {
        match self {
            Self::Cluster => vec![Part::Cluster],
            Self::Namespaces(names) => names.iter().cloned().map(Part::Namespace).collect(),
        }
    }
}

/// A part of it that one watch covers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    Cluster,
    Namespace(String),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster => f.write_str("cluster"),
            Self::Namespace(name) => write!(f, "namespace {name}"),
        }
    }
}

impl Part {
    pub fn holds(&self, namespace: &str) -> bool {
        match self {
            Self::Cluster => true,
            Self::Namespace(name) => name == namespace,
        }
    }

    pub fn api(&self, client: &Client, resource: &ApiResource) -> Api<Object> {
        match self {
            Self::Cluster => Api::all_with(client.clone(), resource),
            Self::Namespace(name) => Api::namespaced_with(client.clone(), name, resource),
        }
    }

    pub fn typed<K>(&self, client: &Client) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default + Debug + Clone,
    {
        match self {
            Self::Cluster => Api::all(client.clone()),
            Self::Namespace(name) => Api::namespaced(client.clone(), name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_means_the_whole_cluster() {
        assert_eq!(Scope::parse(""), Scope::Cluster);
        assert_eq!(Scope::parse(" , "), Scope::Cluster);
        assert_eq!(Scope::parse("b, a,b"), Scope::Namespaces(vec!["a".into(), "b".into()]));
        assert!(Part::Namespace("a".into()).holds("a"));
        assert!(!Part::Namespace("a".into()).holds("b"));
    }
}
