//! Which paths a release serves, and under which other names, as `routes.yaml` says.

use super::number::{Number, Span};
use super::set::Releases;

impl Releases {
    /// The paths that a release serves; a name in braces stands for a part, or with `:path` for the rest.
    pub fn routes(&self, release: Number) -> impl Iterator<Item = &str> {
        let served = move |spans: &[Span]| spans.iter().any(|span| span.contains(release));
        self.routes.routes.iter().filter(move |(_, spans)| served(spans)).map(|(path, _)| &**path)
    }

    /// Paths that are served under another name in some release, each with the other one.
    pub fn aliases(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.routes.aliases.iter();
        pairs.flat_map(|(one, other)| [(&**one, &**other), (&**other, &**one)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_two_names_is_served_under_both_by_some_release() {
        let releases = Releases::shipped();
        for (one, other) in releases.aliases() {
            let both = |release: Number| {
                [one, other].iter().all(|name| releases.routes(release).any(|path| path == *name))
            };
            assert!(releases.all().iter().any(|row| both(row.number)), "{one} and {other}");
        }
    }
}
