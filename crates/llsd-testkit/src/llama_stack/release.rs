//! The releases that tests run against, and what has to be installed for each of them.

use std::{cmp::Ordering, env, fmt, io::Write, str::FromStr};

use anyhow::bail;
use llsd_plan::releases::{Release as Row, Releases, ServerFamily};

use crate::skip::test_name;

/// Dependencies of the packages that are left out: half a gigabyte for one cloud's models.
pub(super) const LEFT_OUT: [&str; 2] = ["oci", "oracledb"];

/// See [`Release::under_test`].
const UNDER_TEST: &str = "LLSD_TEST_SERVERS";

/// Releases of the table that are not run: others of their layout are.
const NOT_RUN: [&str; 3] = ["ogx-1.1.3", "ogx-1.3.1", "ogx-1.4.1"];

/// A release of the server, by its name in the operator's own table of releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Release(&'static str);

impl Release {
    /// Releases from which or up to which a test expects something.
    pub const V0_2_12: Self = Self("0.2.12");
    pub const V0_2_24: Self = Self("0.2.24");
    pub const V0_3_5: Self = Self("0.3.5");
    pub const V0_4_7: Self = Self("0.4.7");
    pub const V0_7_3: Self = Self("0.7.3");
    pub const OGX_1_0_4: Self = Self("ogx-1.0.4");
    pub const OGX_1_5_0: Self = Self("ogx-1.5.0");

    /// All that are run, from the oldest to the newest.
    pub fn all() -> Vec<Self> {
        let names = Releases::shipped().all().iter().map(|row| row.name.as_str());
        names.filter(|name| !NOT_RUN.contains(name)).map(Self).collect()
    }

    /// The last release of llama-stack.
    pub fn newest() -> Self {
        Self(&Releases::shipped().newest(ServerFamily::LlamaStack).name)
    }

    /// The newest release of its successor.
    pub fn newest_ogx() -> Self {
        Self(&Releases::shipped().newest(ServerFamily::Ogx).name)
    }

    fn row(self) -> &'static Row {
        let known = Releases::shipped().catalogue(self.0);
        known.unwrap_or_else(|| panic!("{} is in the table", self.0)).release
    }

    /// Those that a test which covers several is to run against: the newest of either server,
    /// unless `LLSD_TEST_SERVERS` says `all` or names some, divided by commas.
    pub fn under_test() -> anyhow::Result<Vec<Self>> {
        match env::var(UNDER_TEST).as_deref().map(str::trim) {
            Err(_) | Ok("") => Ok(vec![Self::newest(), Self::newest_ogx()]),
            Ok("all") => Ok(Self::all()),
            Ok(some) => some.split(',').map(|release| release.trim().parse()).collect(),
        }
    }

    /// Whether `LLSD_TEST_SERVERS` is set, and with it the wish for more than a quick test.
    pub fn is_thorough_test() -> bool {
        env::var(UNDER_TEST).is_ok_and(|releases| !releases.trim().is_empty())
    }

    /// As [`is_thorough_test`](Self::is_thorough_test); when it is not, one line on standard error
    /// says that the test was left out.
    #[must_use]
    pub fn is_thorough_or_left_out() -> bool {
        let thorough = Self::is_thorough_test();
        if !thorough {
            // Not `eprintln!`, which the test harness swallows for tests that pass.
            let line = format!("LEFT OUT {}: it runs when {UNDER_TEST} is set", test_name());
            let _ = writeln!(std::io::stderr(), "{line}");
        }
        thorough
    }

    pub fn is_ogx(self) -> bool {
        self.row().server == ServerFamily::Ogx
    }

    /// The package that the server's code is in.
    pub fn package(self) -> &'static str {
        if self.is_ogx() { "ogx" } else { "llama_stack" }
    }

    /// How the operator's data and its command line name it: `0.7.3`, `ogx-1.5.0`.
    pub const fn name(self) -> &'static str {
        self.0
    }

    /// What the server says of itself, for example `0.7.3`.
    pub fn version(self) -> &'static str {
        self.row().version()
    }

    /// Nothing uploaded later is installed.
    pub(super) fn newest_upload(self) -> &'static str {
        &self.row().installs_until
    }

    /// What to install, in the words of pip.
    pub(super) fn requirements(self) -> Vec<String> {
        let mut requirements = self.row().requirements(self.version());
        // What an image adds to the package for the providers that need no service outside.
        requirements
            .extend(["faiss-cpu", "sqlite-vec", "chardet", "pypdf", "redis"].map(Into::into));
        if self == Self::V0_7_3 {
            // For Ollama's models.
            requirements.push("ollama".to_owned());
        }
        if self == Self::newest_ogx() {
            // For NVIDIA's models, which one of its distributions serves.
            requirements.push("aiohttp".to_owned());
        }
        if self <= Self::V0_3_5 {
            // The databases, which the package itself brings later.
            let stores = ["aiosqlite", "sqlalchemy[asyncio]", "asyncpg", "psycopg2-binary"];
            requirements.extend(stores.map(Into::into));
        }
        if self <= Self::V0_2_24 {
            // The server does not start without the first two, nor most model providers without
            // the last.
            let needed = ["opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http", "litellm"];
            requirements.extend(needed.map(Into::into));
        }
        requirements
    }
}

impl Ord for Release {
    fn cmp(&self, other: &Self) -> Ordering {
        self.row().number.cmp(&other.row().number)
    }
}

impl PartialOrd for Release {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = if self.is_ogx() { "OGX" } else { "llama-stack" };
        write!(f, "{server} {}", self.version())
    }
}

impl FromStr for Release {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let all = Self::all();
        if let Some(known) = all.iter().find(|known| text == known.name()) {
            return Ok(*known);
        }
        let known = all.into_iter().map(Self::name).collect::<Vec<_>>().join(", ");
        bail!("the server {text:?} is not known here; choose one of {known}")
    }
}
