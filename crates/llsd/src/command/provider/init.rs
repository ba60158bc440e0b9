//! `llsd provider init`: a provider that works, to be changed into one's own.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::done::Done;
use crate::command::Exit;
use crate::command::registry_access::Failure;

/// Write a provider that works, to start from
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The folder to write; nothing in it is overwritten
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

const FILES: [(&str, &str); 6] = [
    ("README.md", include_str!("template/README.md")),
    ("pyproject.toml", include_str!("template/pyproject.toml")),
    ("greeting_provider/__init__.py", include_str!("template/__init__.py")),
    ("greeting_provider/config.py", include_str!("template/config.py")),
    ("greeting_provider/greeting.py", include_str!("template/greeting.py")),
    ("greeting_provider/provider.py", include_str!("template/provider.py")),
];

pub(super) fn run(arguments: &Arguments) -> Done {
    let folder = &arguments.folder;
    if let Some((name, _)) = FILES.iter().find(|(name, _)| folder.join(name).exists()) {
        let file = folder.join(name);
        return Err(Failure::Usage(format!("{} is there already", file.display())));
    }
    let mut written = Vec::new();
    for (name, text) in FILES {
        let path = folder.join(name);
        write(&path, text)
            .map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?;
        written.push(format!("{}\n", path.display()));
    }
    Ok((written.concat(), Exit::Fine))
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}
