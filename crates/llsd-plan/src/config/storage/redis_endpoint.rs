//! The address of a Redis, as `storage.kv.endpoint` gives it.

/// A Redis server, taken apart because the server's configuration has no place for a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RedisEndpoint {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) database: u32,
    pub(super) tls: bool,
}

impl RedisEndpoint {
    /// Reads `redis://HOST[:PORT][/DATABASE]`, `rediss://…`, or a bare `HOST[:PORT]`.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let (tls, rest) = match text.split_once("://") {
            Some(("redis", rest)) => (false, rest),
            Some(("rediss", rest)) => (true, rest),
            Some(_) => return Err("is neither redis:// nor rediss://"),
            None => (false, text),
        };
        if rest.contains('@') {
            return Err("holds credentials");
        }
        if rest.contains(['?', '#']) {
            return Err("holds parameters, which have no place in the server's configuration");
        }
        let (address, database) = match rest.trim_end_matches('/').split_once('/') {
            Some((address, database)) => {
                (address, database.parse().map_err(|_| "names a database that is not a number")?)
            }
            None => (rest.trim_end_matches('/'), 0),
        };
        let (host, port) = match address.rsplit_once(':') {
            // The colons of a bare IPv6 address are not before a port.
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                (host, port.parse().map_err(|_| "has no valid port")?)
            }
            Some(_) => return Err("has an IPv6 address without brackets"),
            None => (address, 6379),
        };
        if host.is_empty() || host.contains(char::is_whitespace) || port == 0 {
            return Err("has no host");
        }
        Ok(Self { host: host.trim_matches(['[', ']']).to_owned(), port, database, tls })
    }

    /// The URL, without credentials, that the sidecar connects to.
    pub(super) fn url(&self) -> String {
        let scheme = if self.tls { "rediss" } else { "redis" };
        let host =
            if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let database =
            if self.database == 0 { String::new() } else { format!("/{}", self.database) };
        format!("{scheme}://{host}:{}{database}", self.port)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("redis://redis:6379", "redis://redis:6379")]
    #[case("redis://redis", "redis://redis:6379")]
    #[case("redis.default.svc:6380", "redis://redis.default.svc:6380")]
    #[case("rediss://r/2", "rediss://r:6379/2")]
    #[case("redis://[::1]:7000/", "redis://[::1]:7000")]
    fn addresses_are_understood(#[case] written: &str, #[case] meant: &str) {
        assert_eq!(RedisEndpoint::parse(written).unwrap().url(), meant);
    }

    #[rstest]
    #[case("http://redis:6379")]
    #[case("redis://:secret@redis")]
    #[case("redis://redis:x")]
    #[case("redis://redis/first")]
    #[case("redis://")]
    #[case("redis://redis?ssl=true")]
    #[case("::1")]
    fn what_is_no_redis_is_refused(#[case] written: &str) {
        assert!(RedisEndpoint::parse(written).is_err());
    }
}
