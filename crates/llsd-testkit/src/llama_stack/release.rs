//! The releases that tests run against, and what has to be installed for each of them.

use std::{fmt, str::FromStr};

use anyhow::bail;

/// Nothing uploaded later is installed. The releases name few upper bounds, and with what came out
/// after the last of them they no longer start.
pub(super) const NEWEST_UPLOAD: &str = "2026-07-29";

/// Dependencies of the packages that are left out: half a gigabyte for one cloud's models.
pub(super) const LEFT_OUT: [&str; 2] = ["oci", "oracledb"];

/// A release of the server: the newest of each line that a distribution image may carry, and the
/// last one before `version` became a number (0.2.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Release {
    V0_2_12,
    V0_2_24,
    V0_3_5,
    V0_4_7,
    V0_5_4,
    V0_6_1,
    V0_7_3,
}

impl Release {
    /// From the oldest to the newest.
    pub const ALL: [Self; 7] = [
        Self::V0_2_12,
        Self::V0_2_24,
        Self::V0_3_5,
        Self::V0_4_7,
        Self::V0_5_4,
        Self::V0_6_1,
        Self::V0_7_3,
    ];

    /// The last release under this name.
    pub const NEWEST: Self = Self::V0_7_3;

    /// For example `0.7.3`.
    pub const fn version(self) -> &'static str {
        match self {
            Self::V0_2_12 => "0.2.12",
            Self::V0_2_24 => "0.2.24",
            Self::V0_3_5 => "0.3.5",
            Self::V0_4_7 => "0.4.7",
            Self::V0_5_4 => "0.5.4",
            Self::V0_6_1 => "0.6.1",
            Self::V0_7_3 => "0.7.3",
        }
    }

    /// The releases that tests run against: those that `LLSD_TEST_SERVERS` names (`all`, or a list
    /// such as `0.3.5,0.7.3`), else the newest and one of an older layout.
    pub fn under_test() -> Vec<Self> {
        match std::env::var("LLSD_TEST_SERVERS").as_deref() {
            Ok("all") => Self::ALL.to_vec(),
            Ok(list) if !list.is_empty() => list
                .split(',')
                .map(|name| name.trim().parse().expect("LLSD_TEST_SERVERS names releases"))
                .collect(),
            _ => vec![Self::V0_2_24, Self::V0_7_3],
        }
    }

    /// What to install, in the words of pip.
    pub(super) fn requirements(self) -> Vec<String> {
        let mut requirements = vec![format!("llama-stack=={}", self.version())];
        if self >= Self::V0_4_7 {
            // A package of its own since 0.4, without an upper bound in the server's.
            requirements.push(format!("llama-stack-api=={}", self.version()));
        }
        // The server imports names that went away with the second major version.
        requirements.push("mcp<2".to_owned());
        // What an image adds to the package for the providers that need no service outside.
        requirements
            .extend(["faiss-cpu", "sqlite-vec", "chardet", "pypdf", "redis"].map(Into::into));
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
        write!(f, "llama-stack {}", self.version())
    }
}

impl FromStr for Release {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        for known in Self::ALL {
            if text == known.version() {
                return Ok(known);
            }
        }
        let known = Self::ALL.map(Self::version).join(", ");
        bail!("llama-stack {text:?} is not known here; choose one of {known}")
    }
}
