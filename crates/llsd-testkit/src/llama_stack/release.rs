//! The releases that tests run against, and what has to be installed for each of them.

use std::{env, fmt, io::Write, str::FromStr};

use anyhow::bail;

use crate::skip::test_name;

/// Dependencies of the packages that are left out: half a gigabyte for one cloud's models.
pub(super) const LEFT_OUT: [&str; 2] = ["oci", "oracledb"];

/// See [`Release::under_test`].
const UNDER_TEST: &str = "LLSD_TEST_SERVERS";

/// A release of the server: the newest of each line of llama-stack that a distribution image may
/// carry, the last one before `version` became a number (0.2.12), and some of OGX, the successor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Release {
    V0_2_12,
    V0_2_24,
    V0_3_5,
    V0_4_7,
    V0_5_4,
    V0_6_1,
    V0_7_3,
    Ogx1_0_4,
    Ogx1_2_5,
    Ogx1_5_0,
}

impl Release {
    /// From the oldest to the newest.
    pub const ALL: [Self; 10] = [
        Self::V0_2_12,
        Self::V0_2_24,
        Self::V0_3_5,
        Self::V0_4_7,
        Self::V0_5_4,
        Self::V0_6_1,
        Self::V0_7_3,
        Self::Ogx1_0_4,
        Self::Ogx1_2_5,
        Self::Ogx1_5_0,
    ];

    /// The last release of llama-stack.
    pub const NEWEST: Self = Self::V0_7_3;
    /// The newest release of its successor.
    pub const NEWEST_OGX: Self = Self::Ogx1_5_0;

    /// Those that a test which covers several is to run against: the newest of either server,
    /// unless `LLSD_TEST_SERVERS` says `all` or names some, divided by commas.
    pub fn under_test() -> anyhow::Result<Vec<Self>> {
        match env::var(UNDER_TEST).as_deref().map(str::trim) {
            Err(_) | Ok("") => Ok(vec![Self::NEWEST, Self::NEWEST_OGX]),
            Ok("all") => Ok(Self::ALL.to_vec()),
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
        self >= Self::Ogx1_0_4
    }

    /// The package that the server's code is in.
    pub fn package(self) -> &'static str {
        if self.is_ogx() { "ogx" } else { "llama_stack" }
    }

    /// How the operator's data and its command line name it: `0.7.3`, `ogx-1.5.0`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ogx1_0_4 => "ogx-1.0.4",
            Self::Ogx1_2_5 => "ogx-1.2.5",
            Self::Ogx1_5_0 => "ogx-1.5.0",
            llama_stack => llama_stack.version(),
        }
    }

    /// What the server says of itself, for example `0.7.3`.
    pub const fn version(self) -> &'static str {
        match self {
            Self::V0_2_12 => "0.2.12",
            Self::V0_2_24 => "0.2.24",
            Self::V0_3_5 => "0.3.5",
            Self::V0_4_7 => "0.4.7",
            Self::V0_5_4 => "0.5.4",
            Self::V0_6_1 => "0.6.1",
            Self::V0_7_3 => "0.7.3",
            Self::Ogx1_0_4 => "1.0.4",
            Self::Ogx1_2_5 => "1.2.5",
            Self::Ogx1_5_0 => "1.5.0",
        }
    }

    /// Nothing uploaded later is installed. The releases name few upper bounds, and with what came
    /// out after the last of them they no longer start.
    pub(super) fn newest_upload(self) -> &'static str {
        if self.is_ogx() { "2026-11-01" } else { "2026-07-29" }
    }

    /// What to install, in the words of pip.
    pub(super) fn requirements(self) -> Vec<String> {
        let package = if self.is_ogx() { "ogx" } else { "llama-stack" };
        let mut requirements = vec![format!("{package}=={}", self.version())];
        if self >= Self::V0_4_7 {
            // A package of its own since 0.4, without an upper bound in the server's.
            requirements.push(format!("{package}-api=={}", self.version()));
        }
        if self <= Self::Ogx1_0_4 {
            // The server imports names that went away with the second major version.
            requirements.push("mcp<2".to_owned());
        }
        // What an image adds to the package for the providers that need no service outside.
        requirements
            .extend(["faiss-cpu", "sqlite-vec", "chardet", "pypdf", "redis"].map(Into::into));
        if self == Self::NEWEST_OGX {
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

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = if self.is_ogx() { "OGX" } else { "llama-stack" };
        write!(f, "{server} {}", self.version())
    }
}

impl FromStr for Release {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        for known in Self::ALL {
            if text == known.name() {
                return Ok(known);
            }
        }
        let known = Self::ALL.map(Self::name).join(", ");
        bail!("the server {text:?} is not known here; choose one of {known}")
    }
}
