//! The API server that a command asks, as its messages name it.

use std::fmt;

use http::Uri;

/// The API server that is asked, as messages name it.
#[derive(Clone, Debug)]
pub(super) struct AskedServer {
    address: String,
    context: Option<String>,
}

impl fmt::Display for AskedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.context {
            Some(context) => write!(f, "server {}, context {context}", self.address),
            None => write!(f, "server {}, as this pod", self.address),
        }
    }
}

impl AskedServer {
    /// An address may hold a password, which is not for messages.
    pub(super) fn new(url: &Uri, context: Option<String>) -> Self {
        let host = url.authority().map_or("", |whole| whole.as_str());
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        let scheme = url.scheme_str().unwrap_or("https");
        let path = url.path().trim_end_matches('/');
        Self { address: format!("{scheme}://{host}{path}"), context }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_named_without_credentials() {
        let server = |url: &str, context: Option<&str>| {
            AskedServer::new(&url.parse().unwrap(), context.map(str::to_owned)).to_string()
        };
        assert_eq!(
            server("https://u:p@10.0.0.1:6443/", Some("dev")),
            "server https://10.0.0.1:6443, context dev"
        );
        assert_eq!(server("https://k8s/c/1", None), "server https://k8s/c/1, as this pod");
    }
}
