//! Which addresses a host named by a tenant may lead to. The check stands where a connection is
//! made, so that a name cannot resolve to one address for the check and to another for its use.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
};

use crate::Error;

/// Ranges of the machine itself, of its link and of clouds' metadata services. Private networks as
/// such stay reachable: clusters keep their registries there.
fn is_forbidden(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_forbidden_v4(address),
        IpAddr::V6(address) => {
            is_forbidden_v6(address) || embedded_v4(address).is_some_and(is_forbidden_v4)
        }
    }
}

fn is_forbidden_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    a == 0
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        // IETF protocol assignments; Oracle's metadata service is among them.
        || (a, b, c) == (192, 0, 0)
        // The metadata services of Alibaba and Azure.
        || address == Ipv4Addr::new(100, 100, 100, 200)
        || address == Ipv4Addr::new(168, 63, 129, 16)
}

fn is_forbidden_v6(address: Ipv6Addr) -> bool {
    address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || address.is_unicast_link_local()
        // The metadata services of AWS, with its time and name services and the credentials of its pods,
        // and of Google.
        || address.segments()[..7] == [0xfd00, 0xec2, 0, 0, 0, 0, 0]
        || address == Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)
}

/// IPv4 that IPv6 carries: mapped, compatible, NAT64 and 6to4.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let joined = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match segments {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0 | 1, .., high, low]
        | [0x2002, high, low, ..] => Some(joined(high, low)),
        _ => None,
    }
}

/// Literal addresses never pass a resolver, so they are looked at before a request is sent.
pub(crate) fn check_literal(url: &Url) -> Result<(), Error> {
    // The parser has already turned forms such as `0x7f.1` into an address; what it keeps as a
    // name goes through the resolver.
    refused(url, literal(url).into_iter())
}

/// The address that stands in the place of a name.
pub(crate) fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str().unwrap_or_default();
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

fn refused(url: &Url, mut addresses: impl Iterator<Item = IpAddr>) -> Result<(), Error> {
    let host = url.host_str().unwrap_or_default().to_owned();
    match addresses.find(|address| is_forbidden(*address)) {
        Some(address) => Err(Error::ForbiddenAddress { host, address: address.to_string() }),
        None => Ok(()),
    }
}

/// Where a proxy is about to be asked for a host, its name is resolved by the proxy and not here, so it is
/// looked at before. One forbidden address is enough, since nobody knows which one the proxy takes. A
/// name that only the proxy can resolve is left to it.
pub(crate) async fn check_name(url: &Url, patience: Duration) -> Result<(), Error> {
    let host = url.host_str().unwrap_or_default();
    let resolved = tokio::time::timeout(patience, tokio::net::lookup_host((host, 0))).await;
    let Ok(Ok(found)) = resolved else { return Ok(()) };
    refused(url, found.map(|address| address.ip()))
}

/// The error that a [`GuardedResolver`] answers with; found again in the client's error chain.
#[derive(Debug, thiserror::Error)]
#[error("{address} is not an allowed address")]
pub(crate) struct Forbidden {
    pub(crate) address: IpAddr,
}

/// The system's resolver without the addresses that are not allowed.
#[derive(Debug)]
pub(crate) struct GuardedResolver;

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let (forbidden, allowed): (Vec<SocketAddr>, Vec<SocketAddr>) =
                found.partition(|address| is_forbidden(address.ip()));
            match (allowed.is_empty(), forbidden.first()) {
                (true, Some(address)) => Err(Forbidden { address: address.ip() }.into()),
                _ => Ok(Box::new(allowed.into_iter()) as Addrs),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_its_link_and_metadata_services_are_forbidden() {
        for address in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "169.254.169.254",
            "169.254.0.1",
            "192.0.0.192",
            "100.100.100.200",
            "168.63.129.16",
            "255.255.255.255",
            "224.0.0.1",
            "::1",
            "::",
            "fe80::1",
            "febf::1",
            "ff02::1",
            "fd00:ec2::254",
            "fd00:ec2::23",
            "fd00:ec2::253",
            "fd20:ce::254",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
        ] {
            assert!(is_forbidden(address.parse().unwrap()), "{address}");
        }
        for address in ["10.0.0.1", "192.168.1.1", "172.16.0.1", "8.8.8.8", "2600::1", "fd12::1"] {
            assert!(!is_forbidden(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn every_spelling_of_a_literal_address_is_seen() {
        for url in [
            "https://127.0.0.1/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://0177.0.0.1/",
            "https://[::1]:5000/",
            "https://[::ffff:7f00:1]/",
            "https://127.1/",
        ] {
            assert!(check_literal(&url.parse().unwrap()).is_err(), "{url}");
        }
        assert!(check_literal(&"https://quay.io/".parse().unwrap()).is_ok());
    }

    #[tokio::test]
    async fn a_name_that_leads_to_loopback_is_refused_when_it_is_resolved() {
        let answer = GuardedResolver.resolve("localhost".parse().unwrap()).await;
        let error = answer.err().expect("localhost is loopback");
        assert!(error.downcast_ref::<Forbidden>().is_some(), "{error}");
        assert!(error.to_string().ends_with("is not an allowed address"), "{error}");
        let mut found = GuardedResolver.resolve("192.0.2.1".parse().unwrap()).await.unwrap();
        assert_eq!(
            found.next().map(|address| address.ip().to_string()).as_deref(),
            Some("192.0.2.1")
        );
    }

    #[tokio::test]
    async fn a_proxy_is_not_asked_for_a_name_that_leads_to_loopback() {
        let asked =
            async |url: &str| check_name(&url.parse().unwrap(), Duration::from_secs(5)).await;
        let refused = asked("https://localhost/v2/").await.unwrap_err();
        assert!(matches!(&refused, Error::ForbiddenAddress { host, .. } if host == "localhost"));
        assert_eq!(asked("https://192.0.2.1/v2/").await, Ok(()));
        // Which only the proxy may know.
        assert_eq!(asked("https://registry.invalid/v2/").await, Ok(()));
    }
}
