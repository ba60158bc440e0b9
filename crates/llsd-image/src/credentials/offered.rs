//! The pull secrets of one pod: what they offer to a registry, and which of them is to blame where the registry
//! refuses.

use super::{Credential, Keyring, PullSecret};

/// The pull secrets that a pod names, in order.
#[derive(Clone, Debug, Default)]
pub struct OfferedSecrets {
    all: Keyring,
    each: Vec<Offered>,
}

#[derive(Clone, Debug)]
struct Offered {
    name: String,
    /// Nothing where there is no such Secret, or it may not be read.
    keyring: Option<Keyring>,
}

impl OfferedSecrets {
    /// Adds the Secret of this name behind the others; without content where it is not there.
    pub fn add(&mut self, name: &str, read: Option<&PullSecret>) {
        let keyring = read.map(|read| {
            read.add_to(&mut self.all);
            let mut own = Keyring::new();
            read.add_to(&mut own);
            own
        });
        self.each.push(Offered { name: name.to_owned(), keyring });
    }

    /// The credentials to try for an image given as `host[:port]/repository/path`, in order.
    pub fn candidates(&self, image: &str) -> Vec<Credential> {
        self.all.candidates(image)
    }

    /// Why a registry does not let the pod read `at`, in a sentence; `image` is the same as
    /// `host[:port]/repository/path`.
    pub fn refusal(&self, at: &str, image: &str) -> String {
        let named = |is_meant: &dyn Fn(Option<&Keyring>) -> bool| {
            let meant = self.each.iter().filter(|secret| is_meant(secret.keyring.as_ref()));
            let names = meant.map(|secret| format!("Secret {}", secret.name));
            names.collect::<Vec<_>>()
        };
        let offers = |keyring: &Keyring| !keyring.candidates(image).is_empty();
        let refused = named(&|keyring| keyring.is_some_and(offers));
        let missing = named(&|keyring| keyring.is_none());
        let host = image.split('/').next().unwrap_or_default();
        let is_not_there = |missing: &[String]| match missing {
            [one] => format!("{one} does not exist"),
            several => format!("{} do not exist", several.join(" and ")),
        };
        match (&refused[..], &missing[..]) {
            ([], []) if self.each.is_empty() => {
                format!("{at}: the registry asks for credentials, and there is no pull secret")
            }
            ([], []) => {
                let others = named(&|_| true).join(" and ");
                format!("{at}: the registry asks for credentials, and {others} has none for {host}")
            }
            ([], missing) => {
                format!("{at}: the registry asks for credentials, and {}", is_not_there(missing))
            }
            (refused, []) => {
                format!("{at}: the registry refuses the credentials of {}", refused.join(" and "))
            }
            (refused, missing) => format!(
                "{at}: the registry refuses the credentials of {}, and {}",
                refused.join(" and "),
                is_not_there(missing)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: &str = "r.io/team/llama:1";

    fn secret(host: &str) -> PullSecret {
        let config = format!(r#"{{"auths": {{"{host}": {{"username": "u", "password": "p"}}}}}}"#);
        PullSecret::docker_config("Secret", config.as_bytes())
    }

    fn refusal(secrets: &[(&str, Option<&str>)]) -> String {
        let mut all = OfferedSecrets::default();
        for (name, host) in secrets {
            all.add(name, host.map(secret).as_ref());
        }
        let told = all.refusal(AT, "r.io/team/llama");
        told.strip_prefix("r.io/team/llama:1: the registry ").unwrap().to_owned()
    }

    #[test]
    fn a_missing_pull_secret_and_a_wrong_one_are_told_apart() {
        assert_eq!(refusal(&[]), "asks for credentials, and there is no pull secret");
        assert_eq!(
            refusal(&[("pull", None)]),
            "asks for credentials, and Secret pull does not exist"
        );
        assert_eq!(refusal(&[("pull", Some("r.io"))]), "refuses the credentials of Secret pull");
        assert_eq!(
            refusal(&[("pull", Some("quay.io"))]),
            "asks for credentials, and Secret pull has none for r.io"
        );
        assert_eq!(
            refusal(&[("pull", Some("r.io")), ("other", None)]),
            "refuses the credentials of Secret pull, and Secret other does not exist"
        );
    }

    #[test]
    fn secrets_are_offered_in_their_order() {
        let mut all = OfferedSecrets::default();
        all.add("missing", None);
        all.add("pull", Some(&secret("r.io")));
        assert_eq!(all.candidates("r.io/team/llama").len(), 1);
        assert!(all.candidates("quay.io/team/llama").is_empty());
    }
}
