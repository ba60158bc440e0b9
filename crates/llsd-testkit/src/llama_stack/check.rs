//! What a release thinks of configurations, by its own models and its own wiring, without booting
//! it; and what its YAML reader makes of a text.

use std::{
    collections::BTreeMap,
    fmt, fs,
    io::{Seek, Write},
    path::Path,
    process::Command,
};

use anyhow::{Context, bail, ensure};
use llsd_plan::objects::start_program::PREFLIGHT_CHECKS;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use tempfile::TempDir;

use super::Release;

/// In Python, because only there are the release's own models.
const PROGRAMS: [(&str, &str); 6] = [
    ("check.py", include_str!("check.py")),
    // The rules are those of the operator's own preflight, so that every test of a configuration tests it.
    ("preflight_checks.py", PREFLIGHT_CHECKS),
    ("policies.py", include_str!("policies.py")),
    ("provider_types.py", include_str!("provider_types.py")),
    ("read_yaml.py", include_str!("read_yaml.py")),
    ("routes.py", include_str!("routes.py")),
];

/// A configuration to be checked, and the environment that it is read in.
#[derive(Debug, Clone, Serialize)]
pub struct Candidate {
    /// For the reader of a failure; comes back in the result.
    pub name: String,
    /// The YAML.
    pub text: String,
    /// All the variables there are: those of the test process are not seen. Modules of external
    /// providers are looked for in `PYTHONPATH`.
    pub env: BTreeMap<String, String>,
}

impl Candidate {
    /// With an empty environment.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), env: BTreeMap::new() }
    }

    /// With one more variable.
    #[must_use]
    pub fn with_env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }
}

/// What a release thinks of one [`Candidate`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CheckResult {
    /// The candidate's name.
    #[serde(skip)]
    pub name: String,
    /// Why the server would not start: the schema, unknown APIs and providers, a provider's own
    /// configuration, references that lead nowhere. Each with its path where there is one. What
    /// depends on a wrong part is not checked.
    pub errors: Vec<String>,
    /// The paths of what the server reads and ignores without a word.
    pub dropped: Vec<String>,
    /// What the server warns of.
    pub deprecated: Vec<String>,
    /// Providers whose own configuration could not be checked, because their code needs packages
    /// that are not installed here.
    pub unchecked: Vec<String>,
}

impl CheckResult {
    /// Whether the server would start and use all that is written.
    pub fn is_clean(&self) -> bool {
        self.errors.is_empty() && self.dropped.is_empty()
    }
}

impl fmt::Display for CheckResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.name)?;
        let parts = [
            ("error", &self.errors),
            ("dropped", &self.dropped),
            ("deprecated", &self.deprecated),
            ("unchecked", &self.unchecked),
        ];
        for (kind, lines) in parts {
            for line in lines {
                write!(f, "\n  {kind}: {line}")?;
            }
        }
        Ok(())
    }
}

impl Release {
    /// What the server's YAML reader (PyYAML's safe loader) makes of each text; an error is in its
    /// own words. What JSON cannot say comes as `{"!<type>": …}`, for example
    /// `{"!date": "2026-01-01"}`, and a mapping with other keys than strings as a list of pairs,
    /// `{"!dict": [[key, value], …]}`.
    pub fn read_yaml(self, texts: &[&str]) -> anyhow::Result<Vec<Result<Value, String>>> {
        #[derive(Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Read {
            Value(Value),
            Error(String),
        }
        let read: Vec<Read> = self.ask("read_yaml.py", &texts)?;
        ensure!(read.len() == texts.len(), "not all texts were read");
        let result = |read| match read {
            Read::Value(value) => Ok(value),
            Read::Error(error) => Err(error),
        };
        Ok(read.into_iter().map(result).collect())
    }

    pub(super) fn ask<Q: Serialize, A: DeserializeOwned>(
        self,
        name: &str,
        question: &Q,
    ) -> anyhow::Result<A> {
        let (mut command, _home) = self.python(name)?;
        // A file instead of a pipe: nobody has to write while somebody else reads.
        let mut input = tempfile::tempfile()?;
        serde_json::to_writer(&input, question)?;
        input.flush()?;
        input.rewind()?;
        let done = command.stdin(input).output().context("cannot run Python")?;
        if !done.status.success() {
            bail!("{self}: {name} failed: {}", String::from_utf8_lossy(&done.stderr).trim());
        }
        serde_json::from_slice(&done.stdout)
            .with_context(|| format!("{self}: the answer of {name} is not JSON"))
    }

    /// Python that runs one of the programs with the release's packages, and the folder that it runs in.
    pub(super) fn python(self, program: &str) -> anyhow::Result<(Command, TempDir)> {
        let venv = self.install()?;
        // Some defaults are folders under the home folder, and some code makes them.
        let home = tempfile::Builder::new().prefix("llsd-check-").tempdir()?;
        for (name, program) in PROGRAMS {
            fs::write(home.path().join(name), program)?;
        }
        let mut command = Command::new(venv.python());
        command
            // Nothing of the user's own Python set-up counts.
            .args(["-E", "-s", program])
            .current_dir(home.path())
            .env_clear()
            .env("PATH", Path::new("/usr/bin:/bin"))
            .env("HOME", home.path())
            .env("TIKTOKEN_CACHE_DIR", venv.tokenizers());
        Ok((command, home))
    }
}
