//! The registry's file of users and passwords.

use std::process::Command;

use anyhow::bail;

use super::User;
use crate::programs;

/// The lines of an htpasswd file in bcrypt, the only form that the registry takes.
pub(super) fn lines(users: &[User]) -> anyhow::Result<String> {
    let program = programs::locate("htpasswd", "apache2-utils")?;
    let mut lines = String::new();
    for user in users {
        // The lowest cost: these passwords protect nothing.
        let made = Command::new(&program)
            .args(["-n", "-b", "-B", "-C", "4", &user.name, &user.password])
            .output()?;
        if !made.status.success() {
            bail!("htpasswd failed: {}", String::from_utf8_lossy(&made.stderr).trim());
        }
        lines.push_str(String::from_utf8_lossy(&made.stdout).trim());
        lines.push('\n');
    }
    Ok(lines)
}
