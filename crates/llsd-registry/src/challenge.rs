//! What a registry asks for in `WWW-Authenticate`.

use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};

/// The longest header that is looked at; real ones have some hundred bytes.
const LONGEST: usize = 8 << 10;

/// One way to authenticate that this client knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Challenge {
    Basic,
    Bearer { realm: String, service: Option<String>, scope: Option<String> },
}

impl Challenge {
    pub(crate) fn without_scope(self) -> Self {
        match self {
            Self::Bearer { realm, service, .. } => Self::Bearer { realm, service, scope: None },
            Self::Basic => Self::Basic,
        }
    }
}

/// The best known challenge among all headers: a token where one is offered, else the password
/// itself. What cannot be parsed asks for nothing.
pub fn strongest(headers: &HeaderMap) -> Option<Challenge> {
    let all: Vec<Challenge> = headers
        .get_all(WWW_AUTHENTICATE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(parse)
        .collect();
    all.iter()
        .find(|challenge| matches!(challenge, Challenge::Bearer { .. }))
        .or(all.first())
        .cloned()
}

/// All challenges of one header that this client knows.
pub fn parse(header: &str) -> Vec<Challenge> {
    if header.len() > LONGEST {
        return Vec::new();
    }
    let Ok(challenges) = http_auth::parse_challenges(header) else { return Vec::new() };
    challenges
        .iter()
        .filter_map(|challenge| {
            let parameter = |name: &str| {
                let found = challenge.params.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
                found.map(|(_, value)| value.to_unescaped()).filter(|value| !value.is_empty())
            };
            if challenge.scheme.eq_ignore_ascii_case("basic") {
                Some(Challenge::Basic)
            } else if challenge.scheme.eq_ignore_ascii_case("bearer") {
                let (service, scope) = (parameter("service"), parameter("scope"));
                Some(Challenge::Bearer { realm: parameter("realm")?, service, scope })
            } else {
                None
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearer(realm: &str, service: Option<&str>, scope: Option<&str>) -> Challenge {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Challenge::Bearer { realm: realm.to_owned(), service: owned(service), scope: owned(scope) }
    }

    #[test]
    fn challenges_of_real_registries_are_understood() {
        assert_eq!(
            parse(r#"Bearer realm="https://auth.docker.io/token",service="registry.docker.io""#),
            [bearer("https://auth.docker.io/token", Some("registry.docker.io"), None)]
        );
        assert_eq!(
            parse(r#"bearer realm="https://q/a?b=\"c\"", scope="repository:a/b:pull,push""#),
            [bearer("https://q/a?b=\"c\"", None, Some("repository:a/b:pull,push"))]
        );
        assert_eq!(parse(r#"Basic realm="Registry""#), [Challenge::Basic]);
        assert_eq!(
            parse(r#"Negotiate, Basic realm="a", Bearer realm="https://t""#),
            [Challenge::Basic, bearer("https://t", None, None)]
        );
    }

    #[test]
    fn a_token_is_preferred_over_the_password_itself() {
        let mut headers = HeaderMap::new();
        assert_eq!(strongest(&headers), None);
        headers.append(WWW_AUTHENTICATE, r#"Basic realm="a""#.parse().unwrap());
        assert_eq!(strongest(&headers), Some(Challenge::Basic));
        headers.append(WWW_AUTHENTICATE, r#"Bearer realm="https://t""#.parse().unwrap());
        assert_eq!(strongest(&headers), Some(bearer("https://t", None, None)));
    }

    #[test]
    fn nonsense_asks_for_nothing() {
        let long = format!("Bearer realm=\"{}\"", "x".repeat(9 << 10));
        for header in
            ["", "Bearer", "Bearer realm=", "Bearer realm=\"", ",,,=", "Digest a=b", &long]
        {
            assert_eq!(parse(header), [], "{header}");
        }
    }
}
