//! A database's connection string taken apart, because most servers have no place for a whole one.
//! The parts are secrets: the type can be neither printed nor serialised, and no message here
//! repeats a piece of the text.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use serde::Deserialize;

use crate::coercion::coerced;

/// The parts of a Postgres connection string, decoded.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Connection {
    host: String,
    port: Option<u16>,
    database: String,
    user: String,
    password: String,
    ssl_mode: Option<String>,
    /// Parameters that the server has no place for, by name.
    ignored: Vec<String>,
}

/// How a server takes the address of its database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// In parts that it pastes into a URL unescaped.
    Encoded,
    /// In parts that it takes as they are.
    Plain,
    /// As one URL.
    Whole,
}

impl Form {
    /// The keys of the owned Secret.
    pub fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Encoded | Self::Plain => &["host", "port", "db", "user", "password"],
            Self::Whole => &["url"],
        }
    }
}

/// What a server can be told of TLS with in parts alone: nothing, which is `prefer`.
const MODES_WITHOUT_TLS: [&str; 3] = ["disable", "allow", "prefer"];
const MODES: [&str; 6] = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connection(secret)")
    }
}

impl Connection {
    /// Reads `postgresql://USER:PASSWORD@HOST:PORT/DB?sslmode=…`, with or without a driver in the
    /// scheme, or the `key=value` form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let connection = match text.split_once("://") {
            Some((scheme, rest)) => {
                let base = scheme.split('+').next().unwrap_or_default();
                if !matches!(base, "postgres" | "postgresql") {
                    return Err("is not a Postgres connection string".to_owned());
                }
                from_url(rest)?
            }
            None if text.contains('=') => from_pairs(text)?,
            None => return Err("is not a Postgres connection string".to_owned()),
        };
        connection.checked()
    }

    /// Names of parameters that have no effect.
    pub fn ignored(&self) -> &[String] {
        &self.ignored
    }

    /// The values of the owned Secret, or why the server cannot take them.
    pub fn values(&self, form: Form) -> Result<BTreeMap<&'static str, String>, &'static str> {
        match form {
            Form::Encoded => Ok(self.parts()),
            Form::Plain => self.plain_parts(),
            Form::Whole => Ok(BTreeMap::from([("url", self.url())])),
        }
    }

    /// User and password are percent-encoded, every byte of them, which also keeps an all-digit
    /// password from being read as a number.
    fn url(&self) -> String {
        let mut url = format!("postgresql://{}", encode(&self.user));
        if !self.password.is_empty() {
            let _ = write!(url, ":{}", encode(&self.password));
        }
        let port = self.port.unwrap_or(5432);
        let _ = write!(url, "@{}:{port}/{}", self.host_in_url(), self.database);
        if let Some(mode) = &self.ssl_mode {
            let _ = write!(url, "?sslmode={mode}");
        }
        url
    }

    fn plain_parts(&self) -> Result<BTreeMap<&'static str, String>, &'static str> {
        if [&self.host, &self.database, &self.user, &self.password]
            .into_iter()
            .any(|part| coerced(part))
        {
            return Err(
                "has a part that looks like a number or boolean, and the server would take it for one",
            );
        }
        if self.ssl_mode.as_deref().is_some_and(|mode| !MODES_WITHOUT_TLS.contains(&mode)) {
            return Err("asks for TLS, which this release of the server cannot be told");
        }
        Ok(BTreeMap::from([
            ("host", self.host.clone()),
            ("port", self.port.unwrap_or(5432).to_string()),
            ("db", self.database.clone()),
            ("user", self.user.clone()),
            ("password", self.password.clone()),
        ]))
    }

    fn host_in_url(&self) -> String {
        if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() }
    }

    /// The server pastes these into a URL unescaped: see [`url`](Self::url).
    fn parts(&self) -> BTreeMap<&'static str, String> {
        let host = self.host_in_url();
        let mut database = self.database.clone();
        if let Some(mode) = &self.ssl_mode {
            database.push_str("?ssl=");
            database.push_str(mode);
        } else if coerced(&database) {
            // An empty query changes nothing, except that the text is no number any more.
            database.push('?');
        }
        BTreeMap::from([
            ("host", host),
            ("port", self.port.unwrap_or(5432).to_string()),
            ("db", database),
            ("user", encode(&self.user)),
            ("password", encode(&self.password)),
        ])
    }

    fn checked(mut self) -> Result<Self, String> {
        if self.user.is_empty() {
            return Err("names no user".to_owned());
        }
        if self.host.is_empty() || self.host.starts_with('/') || self.host.starts_with('@') {
            return Err("names no host; a socket cannot be reached from the pod".to_owned());
        }
        if self.host.contains(',') {
            return Err("names several hosts, and the server takes one".to_owned());
        }
        if self.host.contains(|c: char| c.is_whitespace() || "/?#@".contains(c)) {
            return Err("names a host that is none".to_owned());
        }
        if self.database.is_empty() {
            self.database.clone_from(&self.user);
        }
        if self.database.contains(|c: char| c.is_whitespace() || "/?#".contains(c)) {
            return Err("names a database whose name has no place in a URL".to_owned());
        }
        if self.ssl_mode.as_deref().is_some_and(|mode| !MODES.contains(&mode)) {
            return Err(format!("has an sslmode other than {}", MODES.join(", ")));
        }
        Ok(self)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), String> {
        match name {
            "host" | "hostaddr" => self.host = value,
            "port" if value.contains(',') => {
                return Err("names several hosts, and the server takes one".to_owned());
            }
            "port" => {
                self.port = Some(value.parse().map_err(|_| "has a port that is none".to_owned())?);
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

fn from_url(rest: &str) -> Result<Connection, String> {
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
        return Err("names several hosts, and the server takes one".to_owned());
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
fn from_pairs(text: &str) -> Result<Connection, String> {
    let mut connection = Connection::default();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) =
            rest.split_once('=').ok_or_else(|| "has a parameter without a value".to_owned())?;
        let (value, after) = pair_value(after.trim_start())?;
        connection.set(name.trim(), value)?;
        rest = after.trim_start();
    }
    Ok(connection)
}

fn pair_value(text: &str) -> Result<(String, &str), String> {
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
    if quoted { Err("has a quote that is not closed".to_owned()) } else { Ok((value, "")) }
}

fn decode(text: &str) -> Result<String, String> {
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
    String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())
}

fn encode(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        let _ = write!(encoded, "%{byte:02X}");
        encoded
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn parts(text: &str) -> Vec<String> {
        let parts = Connection::parse(text).unwrap().parts();
        let decoded = |key: &str| decode(&parts[key]).unwrap();
        vec![
            parts["host"].clone(),
            parts["port"].clone(),
            parts["db"].clone(),
            decoded("user"),
            decoded("password"),
        ]
    }

    #[rstest]
    #[case("postgresql://u:p@db:5433/llama", ["db", "5433", "llama", "u", "p"])]
    #[case("postgres://u:p@db", ["db", "5432", "u", "u", "p"])]
    #[case("postgresql+asyncpg://u:p@db/x?sslmode=require", ["db", "5432", "x?ssl=require", "u", "p"])]
    #[case("postgresql://u:p%40s%3As@db/x", ["db", "5432", "x", "u", "p@s:s"])]
    #[case("postgresql://u:p@s@db/x", ["db", "5432", "x", "u", "p@s"])]
    #[case("postgresql://u:1@[::1]:5/x", ["[::1]", "5", "x", "u", "1"])]
    #[case("host=db port=5433 dbname='my db' user=u", ["", "", "", "", ""])]
    #[case(r"host=db dbname=x user=u password='a b\'c'", ["db", "5432", "x", "u", "a b'c"])]
    #[case("postgresql://u:p@db/123", ["db", "5432", "123?", "u", "p"])]
    #[case("postgresql://u:p%@db/x", ["db", "5432", "x", "u", "p%"])]
    fn connection_strings_are_taken_apart(#[case] text: &str, #[case] expected: [&str; 5]) {
        if expected[0].is_empty() {
            assert!(Connection::parse(text).is_err());
        } else {
            assert_eq!(parts(text), expected);
        }
    }

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

    #[test]
    fn nothing_of_it_can_be_printed() {
        let connection =
            Connection::parse("postgresql://u:geheim@db/x?application_name=y").unwrap();
        assert_eq!(format!("{connection:?}"), "Connection(secret)");
        assert_eq!(connection.ignored(), ["application_name"]);
        assert!(connection.parts()["password"].starts_with("%67%65"));
    }

    #[rstest]
    #[case(
        "postgresql://u:p%40s@db:5433/x",
        Ok("db 5433 x u p@s"),
        "postgresql://%75:%70%40%73@db:5433/x"
    )]
    #[case(
        "postgresql+asyncpg://u@[::1]/x?sslmode=prefer",
        Ok("::1 5432 x u "),
        "postgresql://%75@[::1]:5432/x?sslmode=prefer"
    )]
    #[case("postgresql://u:1@db/x", Err("number"), "postgresql://%75:%31@db:5432/x")]
    #[case(
        "postgresql://u:p@db/x?sslmode=require",
        Err("TLS"),
        "postgresql://%75:%70@db:5432/x?sslmode=require"
    )]
    fn other_servers_take_plain_parts_or_all_in_one(
        #[case] text: &str,
        #[case] plain: Result<&str, &str>,
        #[case] whole: &str,
    ) {
        let connection = Connection::parse(text).unwrap();
        let values = connection.values(Form::Plain);
        match plain {
            Ok(expected) => {
                let values = values.unwrap();
                let parts: Vec<&str> =
                    Form::Plain.keys().iter().map(|key| values[key].as_str()).collect();
                assert_eq!(parts.join(" "), expected);
            }
            Err(why) => assert!(values.unwrap_err().contains(why)),
        }
        assert_eq!(connection.values(Form::Whole).unwrap()["url"], whole);
    }
}
