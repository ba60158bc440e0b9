//! How `uv` is told of the package index that pip is configured with: it does not read pip's settings.

/// pip's settings, and the variables by which `uv` takes the same.
const SETTINGS: [(&str, &str); 6] = [
    ("index-url", "UV_DEFAULT_INDEX"),
    ("extra-index-url", "UV_INDEX"),
    ("find-links", "UV_FIND_LINKS"),
    ("trusted-host", "UV_INSECURE_HOST"),
    ("no-index", "UV_NO_INDEX"),
    ("cert", "SSL_CERT_FILE"),
];

/// The variables for what `pip config list` prints. `is_set` says which of them the environment has, and those stay
/// as they are.
pub fn settings_of_pip(listed: &str, is_set: impl Fn(&str) -> bool) -> Vec<(&'static str, String)> {
    let mut settings: Vec<(&'static str, String)> = Vec::new();
    for (name, value) in listed.lines().filter_map(|line| line.split_once('=')) {
        let key = name.trim().rsplit('.').next().unwrap_or_default();
        let Some((_, variable)) = SETTINGS.iter().find(|(setting, _)| *setting == key) else {
            continue;
        };
        let value = value.trim().trim_matches(['\'', '"']).replace("\\n", " ");
        if value.is_empty() || is_set(variable) {
            continue;
        }
        // The last one wins, as it does for pip.
        settings.retain(|(earlier, _)| earlier != variable);
        settings.push((variable, value.trim().to_owned()));
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pip_is_configured_with_becomes_variables_unless_they_are_set() {
        let listed = "global.index-url='https://mirror.example.com/simple'\n\
                      install.index-url='https://other.example.com/simple?a=b'\nglobal.timeout='60'\n\
                      :env:.find-links='/wheels'\nglobal.cert='/ca.pem'\nnonsense\n";
        let settings = settings_of_pip(listed, |name| name == "SSL_CERT_FILE");
        let expected = [
            ("UV_DEFAULT_INDEX", "https://other.example.com/simple?a=b".to_owned()),
            ("UV_FIND_LINKS", "/wheels".to_owned()),
        ];
        assert_eq!(settings, expected);
    }
}
