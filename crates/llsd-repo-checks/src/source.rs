//! What the files below a crate's `src` hold, whichever module declares them: how long functions are,
//! and which types they define.

use std::collections::BTreeMap;
use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Block, File, Ident, ImplItemFn, Item, ItemFn, Signature, TraitItemFn};

use crate::modules::{is_test, item_attributes};

/// A function with the lines from its `fn` to its closing brace.
#[derive(Debug, PartialEq)]
pub struct Function {
    pub file: PathBuf,
    pub name: String,
    pub lines: usize,
}

/// Every function of a crate, tests included.
pub fn functions(folder: &Path) -> Vec<Function> {
    let mut found = Vec::new();
    for (file, parsed) in parsed_files(folder) {
        let mut lengths = Lengths::default();
        lengths.visit_file(&parsed);
        let function = |(name, lines)| Function { file: file.clone(), name, lines };
        found.extend(lengths.0.into_iter().map(function));
    }
    found
}

#[derive(Default)]
struct Lengths(Vec<(String, usize)>);

impl Lengths {
    fn add(&mut self, signature: &Signature, body: &Block) {
        let (start, end) = (signature.fn_token.span, body.brace_token.span.close());
        let lines = end.end().line + 1 - start.start().line;
        self.0.push((signature.ident.to_string(), lines));
    }
}

impl<'ast> Visit<'ast> for Lengths {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        if let Some(body) = &function.default {
            self.add(&function.sig, body);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

/// The files in which each type of a crate is defined, by the type's name: structs, enums, traits and
/// aliases. Types inside functions and in tests are left out.
pub fn types(folder: &Path) -> BTreeMap<String, Vec<PathBuf>> {
    let mut found: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for (file, parsed) in parsed_files(folder) {
        if file.file_stem().is_some_and(|stem| stem == "tests")
            || file.components().any(|part| part.as_os_str() == "tests")
        {
            continue;
        }
        let mut names = Vec::new();
        defined(&parsed.items, &mut names);
        for name in names {
            found.entry(name.to_string()).or_default().push(file.clone());
        }
    }
    found
}

fn defined<'a>(items: &'a [Item], names: &mut Vec<&'a Ident>) {
    for item in items.iter().filter(|item| !is_test(item_attributes(item))) {
        match item {
            Item::Struct(item) => names.push(&item.ident),
            Item::Enum(item) => names.push(&item.ident),
            Item::Trait(item) => names.push(&item.ident),
            Item::Type(item) => names.push(&item.ident),
            Item::Mod(module) => {
                let content = module.content.as_ref();
                defined(content.map_or(&[], |(_, items)| items.as_slice()), names);
            }
            _ => {}
        }
    }
}

/// All files in Rust below a crate's `src`, as paths below the crate's folder.
fn parsed_files(folder: &Path) -> Vec<(PathBuf, File)> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.join("src")]);
    while let Some(next) = folders.pop() {
        for entry in read_dir(next).expect("a crate has sources") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = read_to_string(&path).expect("code is text");
                let parsed = syn::parse_file(&text).expect("the code compiles");
                found.push((path.strip_prefix(folder).unwrap_or(&path).to_owned(), parsed));
            }
        }
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found
}
