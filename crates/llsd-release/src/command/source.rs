//! Which release is made: its version, and the commit that it is made from.

use clap::Args;
use llsd_release::image::Release;

#[derive(Debug, Args)]
pub(super) struct Source {
    /// The version, such as 0.1.0
    #[arg(long, value_name = "VERSION")]
    release: String,

    /// The commit that it is built from
    #[arg(long, value_name = "COMMIT")]
    revision: String,

    /// The time of the commit, in seconds since 1970: the time of everything in the image
    #[arg(long, env = "SOURCE_DATE_EPOCH", value_name = "SECONDS")]
    date: i64,
}

impl Source {
    pub(super) fn release(&self) -> Release {
        Release { version: self.release.clone(), revision: self.revision.clone(), time: self.date }
    }
}
