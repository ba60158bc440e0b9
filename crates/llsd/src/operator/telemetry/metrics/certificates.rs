//! Until when the certificates of the webhooks hold, of this replica: each serves for itself.

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

type Family1 = Family<[(&'static str, &'static str); 1], Gauge>;

/// Which certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// The one that this replica shows.
    Served,
    /// The operator's own authority, which signed it. There is none where somebody else signs.
    Authority,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Certificates {
    until: Family1,
    lifetime: Family1,
}

impl Certificates {
    pub(super) fn families(&self) -> [&Family1; 2] {
        [&self.until, &self.lifetime]
    }

    /// Both in seconds since 1970.
    pub(super) fn set(&self, which: Certificate, from: i64, until: i64) {
        let name = match which {
            Certificate::Served => "served",
            Certificate::Authority => "authority",
        };
        let labels = [("certificate", name)];
        self.until.get_or_create(&labels).set(until);
        self.lifetime.get_or_create(&labels).set(until.saturating_sub(from));
    }
}
