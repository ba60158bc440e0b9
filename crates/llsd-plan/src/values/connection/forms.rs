//! A connection as the servers take it: in parts or as one URL, as values of the owned Secret.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Deserialize;

use super::parse::Connection;
use crate::server::coercion::coerced;

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

/// The modes that need no word of TLS: parts alone have no room for one, and mean `prefer`.
const MODES_WITHOUT_TLS: [&str; 3] = ["disable", "allow", "prefer"];

impl Connection {
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

    use super::super::parse::decode;
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
