//! `llsd provider init`: a provider that works, to be changed into one's own.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::done::Done;
use crate::command::Exit;
use crate::command::registry_access::Failure;

/// Write a provider that works, to start from
///
/// The provider is called as the folder is: `acme` has the type inline::acme and the module acme_provider.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The provider's name, or the path of a folder of that name; nothing in it is overwritten
    #[arg(value_name = "NAME")]
    folder: PathBuf,
}

/// Texts in which `PROVIDER_NAME`, `PROVIDER_MODULE` and `PROVIDER_CLASS` stand for the names.
const FILES: [(&str, &str); 6] = [
    ("README.md", include_str!("template/README.md")),
    ("pyproject.toml", include_str!("template/pyproject.toml")),
    ("PROVIDER_MODULE/__init__.py", include_str!("template/__init__.py")),
    ("PROVIDER_MODULE/config.py", include_str!("template/config.py")),
    ("PROVIDER_MODULE/tools.py", include_str!("template/tools.py")),
    ("PROVIDER_MODULE/provider.py", include_str!("template/provider.py")),
];

pub(super) fn run(arguments: &Arguments) -> Done {
    let folder = &arguments.folder;
    let names = Names::of(folder).map_err(Failure::Usage)?;
    let files = FILES.map(|(name, text)| (folder.join(names.put_into(name)), names.put_into(text)));
    if let Some((file, _)) = files.iter().find(|(file, _)| file.exists()) {
        return Err(Failure::Usage(format!("{} is there already", file.display())));
    }
    let mut written = Vec::new();
    for (path, text) in files {
        write(&path, &text)
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

/// A provider's name in its three forms.
#[derive(Debug, PartialEq, Eq)]
struct Names {
    /// `my-tool`.
    name: String,
    /// `my_tool_provider`.
    module: String,
    /// `MyTool`.
    class: String,
}

impl Names {
    /// By the name of the folder; `acme-provider` is the provider `acme`.
    fn of(folder: &Path) -> Result<Self, String> {
        let there = folder.canonicalize();
        let folder = there.as_deref().unwrap_or(folder);
        let own = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let words = own.replace('_', "-");
        let name = words.strip_suffix("-provider").unwrap_or(&words);
        let parts: Vec<&str> = name.split('-').collect();
        let is_word = |part: &&str| {
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
            !part.is_empty() && part.chars().all(is_plain)
        };
        if !parts.iter().all(is_word) || !name.starts_with(char::is_alphabetic) {
            return Err(format!(
                "{own:?} cannot be the name of a provider: use lower-case letters, digits and `-`, beginning \
                 with a letter, for example my-tool"
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            module: format!("{}_provider", parts.join("_")),
            class: parts.iter().map(|part| part[..1].to_uppercase() + &part[1..]).collect(),
        })
    }

    fn put_into(&self, text: &str) -> String {
        text.replace("PROVIDER_MODULE", &self.module)
            .replace("PROVIDER_CLASS", &self.class)
            .replace("PROVIDER_NAME", &self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_named_as_its_folder_is() {
        for folder in ["my-tool", "work/my_tool", "./my-tool-provider/"] {
            let expected = Names {
                name: "my-tool".to_owned(),
                module: "my_tool_provider".to_owned(),
                class: "MyTool".to_owned(),
            };
            assert_eq!(Names::of(Path::new(folder)), Ok(expected), "{folder}");
        }
        for folder in ["My Tool", "2nd", "a--b", "-a", "a.b", "provider/..", "über"] {
            assert!(Names::of(Path::new(folder)).is_err(), "{folder}");
        }
    }
}
