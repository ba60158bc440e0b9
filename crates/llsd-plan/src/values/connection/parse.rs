//! Reads a Postgres connection string, as a URL or as pairs of keys and values. What is wrong with
//! one continues the sentence "the value …".

use std::fmt;

/// The parts of a Postgres connection string, decoded.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Connection {
    pub(super) host: String,
    pub(super) port: Option<u16>,
    pub(super) database: String,
    pub(super) user: String,
    pub(super) password: String,
    pub(super) ssl_mode: Option<String>,
    /// Parameters that the server has no place for, by name.
    ignored: Vec<String>,
}

const MODES: [&str; 6] = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connection(secret)")
    }
}

impl Connection {
    /// Reads `postgresql://USER:PASSWORD@HOST:PORT/DB?sslmode=…`, with or without a driver in the
    /// scheme, or the `key=value` form.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        let connection = match text.split_once("://") {
            Some((scheme, rest)) => {
                let base = scheme.split('+').next().unwrap_or_default();
                if !matches!(base, "postgres" | "postgresql") {
                    return Err("is not a Postgres connection string");
                }
                from_url(rest)?
            }
            None if text.contains('=') => from_pairs(text)?,
            None => return Err("is not a Postgres connection string"),
        };
        connection.checked()
    }

    /// Names of parameters that have no effect.
    pub fn ignored(&self) -> &[String] {
        &self.ignored
    }

    fn checked(mut self) -> Result<Self, &'static str> {
        if self.user.is_empty() {
            return Err("names no user");
        }
        if self.host.is_empty() || self.host.starts_with('/') || self.host.starts_with('@') {
            return Err("names no host; a socket cannot be reached from the pod");
        }
        if self.host.contains(',') {
            return Err("names several hosts, and the server takes one");
        }
        if self.host.contains(|c: char| c.is_whitespace() || "/?#@".contains(c)) {
            return Err("names a host that is none");
        }
        if self.database.is_empty() {
            self.database.clone_from(&self.user);
        }
        if self.database.contains(|c: char| c.is_whitespace() || "/?#".contains(c)) {
            return Err("names a database whose name has no place in a URL");
        }
        if self.ssl_mode.as_deref().is_some_and(|mode| !MODES.contains(&mode)) {
            return Err(
                "has an sslmode other than disable, allow, prefer, require, verify-ca, verify-full",
            );
        }
        Ok(self)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), &'static str> {
        match name {
            "host" | "hostaddr" => self.host = value,
            "port" if value.contains(',') => {
                return Err("names several hosts, and the server takes one");
            }
            "port" => {
                self.port = Some(value.parse().map_err(|_| "has a port that is none")?);
            }
            "dbname" | "database" => self.database = value,
            "user" => self.user = value,
            "password" => self.password = value,
            "sslmode" | "ssl" => self.ssl_mode = Some(value),
            other => self.ignored.push(other.to_owned()),
        }
        Ok(())
    }
}

fn from_url(rest: &str) -> Result<Connection, &'static str> {
    let mut connection = Connection::default();
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    connection.database = decode(database)?;
    // The last `@` ends the credentials: passwords are often written unescaped.
    let address = match authority.rsplit_once('@') {
        Some((credentials, address)) => {
            let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
            connection.user = decode(user)?;
            connection.password = decode(password)?;
            address
        }
        None => authority,
    };
    if address.contains(',') {
        return Err("names several hosts, and the server takes one");
    }
    let (host, port) = match address.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
        _ => (address, None),
    };
    connection.host = decode(host.trim_matches(['[', ']']))?;
    if let Some(port) = port.filter(|port| !port.is_empty()) {
        connection.set("port", port.to_owned())?;
    }
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        connection.set(&decode(name)?, decode(value)?)?;
    }
    Ok(connection)
}

/// libpq's form: `key = value`, the value in single quotes where it holds blanks.
fn from_pairs(text: &str) -> Result<Connection, &'static str> {
    let mut connection = Connection::default();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=').ok_or("has a parameter without a value")?;
        let (value, after) = pair_value(after.trim_start())?;
        connection.set(name.trim(), value)?;
        rest = after.trim_start();
    }
    Ok(connection)
}

fn pair_value(text: &str) -> Result<(String, &str), &'static str> {
    let (quoted, body) = match text.strip_prefix('\'') {
        Some(body) => (true, body),
        None => (false, text),
    };
    let mut value = String::new();
    let mut characters = body.char_indices();
    while let Some((index, c)) = characters.next() {
        match c {
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            '\'' if quoted => return Ok((value, &body[index + 1..])),
            c if !quoted && c.is_whitespace() => return Ok((value, &body[index..])),
            c => value.push(c),
        }
    }
    if quoted { Err("has a quote that is not closed") } else { Ok((value, "")) }
}

pub(super) fn decode(text: &str) -> Result<String, &'static str> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = (*first == b'%')
            .then(|| after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok()))
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).map_err(|_| "is not UTF-8")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("mysql://u:geheim@db/x")]
    #[case("postgresql://u:geheim@a,b/x")]
    #[case("postgresql://u:geheim@/x?host=/var/run")]
    #[case("host=/tmp user=u password=geheim")]
    #[case("postgresql://:geheim@db/x")]
    #[case("postgresql://u:geheim@db:port/x")]
    #[case("geheim")]
    #[case("host='geheim")]
    #[case("postgresql://u:geheim@db/x?sslmode=geheim")]
    fn what_the_server_cannot_use_is_refused_without_repeating_it(#[case] text: &str) {
        let message = Connection::parse(text).unwrap_err();
        assert!(!message.contains("geheim"), "{message}");
    }
}
