//! A distribution as it lies unpacked in a folder: what its `.dist-info` says of it.

use crate::installed::Package;
use crate::selection::Candidate;
use crate::wheel::{Metadata, recorded};

/// One of the distributions of a tree of packages.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// The name of its `.dist-info` folder.
    pub folder: String,
    pub metadata: Metadata,
    /// Its files, and their hashes where they have one; unknown without a `RECORD` that can be read.
    pub files: Option<Vec<(String, Option<String>)>>,
}

impl Distribution {
    /// Reads a distribution from the name of its `.dist-info` folder and the texts of `METADATA` and `RECORD`
    /// in it; `None` for a folder of another kind. Without a valid `METADATA`, the folder's name gives name
    /// and version.
    pub fn read(folder: &str, metadata: &str, record: &str) -> Option<Self> {
        let Package { name, version, .. } = Package::of_folder(folder, "")?;
        let metadata = Metadata::parse(metadata).unwrap_or_else(|_| Metadata::named(name, version));
        Some(Self { folder: folder.to_owned(), metadata, files: recorded(record) })
    }

    /// Whether it brings the module, a package or a single file.
    pub fn has_module(&self, module: &str) -> bool {
        let path = module.replace('.', "/");
        let of_module = |file: &str| {
            file.strip_prefix(&path).is_some_and(|rest| rest.starts_with('/') || rest == ".py")
        };
        self.files.iter().flatten().any(|(file, _)| of_module(file))
    }

    /// As far as the choice needs it. What is outside of the tree or without a hash, such as a compiled
    /// module, clashes with nothing.
    pub fn candidate(&self, module: &str) -> Candidate<'_> {
        let files = self.files.iter().flatten().filter(|(path, _)| !path.starts_with(".."));
        let hashed = files.filter_map(|(path, hash)| Some((path.clone(), hash.clone()?)));
        Candidate {
            file: &self.folder,
            metadata: &self.metadata,
            is_main: self.has_module(module),
            files: hashed.filter(|(path, _)| !path.starts_with(&self.folder)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_is_what_its_texts_or_else_its_name_say() {
        let record = "acme/__init__.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n\
                      acme/__pycache__/x.pyc,,\n../../bin/acme,,\n";
        let read = Distribution::read("acme-1.0.dist-info", "Name: ACME\nVersion: 1.0\n", record);
        let read = read.unwrap();
        assert_eq!((read.metadata.name.as_str(), read.has_module("acme.inner")), ("ACME", false));
        let candidate = read.candidate("acme");
        assert!(candidate.is_main);
        assert_eq!(candidate.files.len(), 1);

        let bare = Distribution::read("my_lib-2.1.dist-info", "", "").unwrap();
        assert_eq!((bare.metadata.name.as_str(), bare.files), ("my-lib", None));
        assert_eq!(Distribution::read("acme", "", ""), None);
    }
}
