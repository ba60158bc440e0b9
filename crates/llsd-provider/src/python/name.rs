//! Names of distributions.

/// A distribution's name as it is compared: `Acme.Provider` and `acme_provider` are one.
pub fn normalised(name: &str) -> String {
    let mut normal = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '-' | '_' | '.' if normal.ends_with('-') => {}
            '-' | '_' | '.' => normal.push('-'),
            c => normal.push(c.to_ascii_lowercase()),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_distribution_are_one() {
        for name in ["Acme.Provider", "acme_provider", "acme--provider", "ACME-.provider"] {
            assert_eq!(normalised(name), "acme-provider");
        }
    }
}
