//! The modules of a crate as its files declare them. Code under `#[cfg(test)]` is left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use syn::{Attribute, Item};

use crate::names::{Import, imports, paths_of};

/// A crate's library, module by module.
#[derive(Debug)]
pub struct Crate {
    pub(crate) folder: PathBuf,
    pub(crate) modules: BTreeMap<Vec<String>, Module>,
}

/// One module: a file, or a part of one.
#[derive(Debug, Default)]
pub(crate) struct Module {
    pub(crate) file: PathBuf,
    /// What is defined here.
    pub(crate) items: BTreeSet<String>,
    pub(crate) imports: Vec<Import>,
    /// Every path that the code names, as its segments.
    pub(crate) paths: BTreeSet<Vec<String>>,
}

impl Crate {
    /// Reads the library in a crate's folder, if it has one.
    pub fn load(folder: &Path) -> Option<Self> {
        let root = folder.join("src/lib.rs");
        let mut read = Self { folder: folder.to_owned(), modules: BTreeMap::new() };
        if !root.is_file() {
            return None;
        }
        read.file(&root, Vec::new());
        Some(read)
    }

    /// The modules that are declared, as `crate::folder::file`.
    pub fn module_names(&self) -> BTreeSet<String> {
        self.modules.keys().map(|path| path.join("::")).collect()
    }

    fn file(&mut self, file: &Path, path: Vec<String>) {
        let text = read_to_string(file).expect("a declared module has a file");
        let parsed = syn::parse_file(&text).expect("the code compiles");
        self.module(file, path, parsed.items);
    }

    fn module(&mut self, file: &Path, path: Vec<String>, items: Vec<Item>) {
        let own_path = file.strip_prefix(&self.folder).unwrap_or(file).to_owned();
        let mut module = Module { file: own_path, ..Module::default() };
        for item in items {
            if is_test(item_attributes(&item)) {
                continue;
            }
            match item {
                Item::Mod(declared) => {
                    let name = declared.ident.to_string();
                    let child = [path.clone(), vec![name.clone()]].concat();
                    match declared.content {
                        Some((_, items)) => self.module(file, child, items),
                        None => self.file(&child_file(file, &name), child),
                    }
                }
                Item::Use(import) => module.imports.extend(imports(&import)),
                item => {
                    module.items.extend(name(&item));
                    module.paths.extend(paths_of(&item));
                }
            }
        }
        self.modules.insert(path, module);
    }
}

fn child_file(parent: &Path, name: &str) -> PathBuf {
    let folder = parent.parent().expect("a file is in a folder");
    let stem = parent.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let folder = match stem {
        "lib" | "mod" => folder.to_owned(),
        stem => folder.join(stem),
    };
    let flat = folder.join(format!("{name}.rs"));
    if flat.is_file() { flat } else { folder.join(name).join("mod.rs") }
}

pub(crate) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|argument| argument.is_ident("test"))
    })
}

pub(crate) fn item_attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}
