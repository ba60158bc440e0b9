//! Under which account a program runs that does not want to be root.

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt, chown},
        process::CommandExt,
    },
    path::Path,
    process::Command,
};

use anyhow::Context;

/// An account of this machine, or the one that the test itself has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Account {
    ids: Option<(u32, u32)>,
}

impl Account {
    /// The account `name` where the test is root, and nobody else than the test where it is not:
    /// only root can be somebody else.
    pub(crate) fn other_than_root(name: &str) -> anyhow::Result<Self> {
        if fs::metadata("/proc/self")?.uid() != 0 {
            return Ok(Self { ids: None });
        }
        let accounts = fs::read_to_string("/etc/passwd")?;
        let ids = accounts.lines().find_map(|line| {
            let mut fields = line.split(':');
            let known = fields.next() == Some(name);
            let mut id = || fields.nth(1)?.parse().ok();
            if known { Some((id()?, fields.next()?.parse().ok()?)) } else { None }
        });
        Ok(Self { ids: Some(ids.with_context(|| format!("there is no account {name}"))?) })
    }

    /// Gives a file or folder to the account.
    pub(crate) fn own(self, path: &Path) -> anyhow::Result<()> {
        if let Some((user, group)) = self.ids {
            chown(path, Some(user), Some(group))?;
        }
        Ok(())
    }

    /// Lets a command run under the account.
    pub(crate) fn run_as(self, command: &mut Command) -> &mut Command {
        match self.ids {
            Some((user, group)) => command.uid(user).gid(group),
            None => command,
        }
    }
}
