//! The users of a registry, and its file of their passwords.

use std::process::Command;

use anyhow::bail;

use crate::programs;

/// Someone whom the registry knows, and the repositories that this one may read.
#[derive(Debug, Clone)]
pub struct User {
    pub name: String,
    pub password: String,
    /// Prefixes of repositories. Passwords alone cannot tell repositories apart: only the token
    /// service looks at them.
    pub repositories: Vec<String>,
    /// Whether the token service lets this one write to them too.
    pub pushes: bool,
}

impl User {
    pub fn new(name: &str, password: &str, repositories: &[&str]) -> Self {
        let repositories = repositories.iter().map(|prefix| (*prefix).to_owned()).collect();
        let (name, password) = (name.to_owned(), password.to_owned());
        Self { name, password, repositories, pushes: false }
    }

    #[must_use]
    pub fn who_pushes(mut self) -> Self {
        self.pushes = true;
        self
    }

    /// The refresh token that the token service takes for this user's password.
    pub fn identity_token(&self) -> String {
        format!("refresh-{}-{}", self.name, self.password)
    }
}

/// The lines of an htpasswd file in bcrypt, the only form that the registry takes.
pub(super) fn htpasswd(users: &[User]) -> anyhow::Result<String> {
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
