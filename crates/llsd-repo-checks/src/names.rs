//! What a piece of code names: the imports of a `use`, and every path in an item, macros included.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Item, ItemUse, Macro, Path, UseTree, Visibility};

/// One name that a `use` brings in.
#[derive(Clone, Debug)]
pub(crate) struct Import {
    /// None for `*`.
    pub(crate) alias: Option<String>,
    pub(crate) path: Vec<String>,
    /// Handed on to others; that alone needs nothing of what it names.
    pub(crate) is_handed_on: bool,
}

pub(crate) fn imports(item: &ItemUse) -> Vec<Import> {
    let mut found = Vec::new();
    let is_handed_on = !matches!(item.vis, Visibility::Inherited);
    flatten(&item.tree, &[], is_handed_on, &mut found);
    found
}

fn flatten(tree: &UseTree, before: &[String], is_handed_on: bool, found: &mut Vec<Import>) {
    let with = |name: String| [before, &[name]].concat();
    let mut push = |alias: Option<String>, path| found.push(Import { alias, path, is_handed_on });
    match tree {
        UseTree::Path(tree) => {
            flatten(&tree.tree, &with(tree.ident.to_string()), is_handed_on, found);
        }
        UseTree::Name(tree) if tree.ident == "self" => {
            push(before.last().cloned(), before.to_vec());
        }
        UseTree::Name(tree) => push(Some(tree.ident.to_string()), with(tree.ident.to_string())),
        UseTree::Rename(tree) => push(Some(tree.rename.to_string()), with(tree.ident.to_string())),
        UseTree::Glob(_) => push(None, before.to_vec()),
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| flatten(tree, before, is_handed_on, found));
        }
    }
}

/// Every path that an item names.
pub(crate) fn paths_of(item: &Item) -> BTreeSet<Vec<String>> {
    let mut paths = Paths::default();
    paths.visit_item(item);
    paths.0
}

#[derive(Default)]
struct Paths(BTreeSet<Vec<String>>);

impl<'ast> Visit<'ast> for Paths {
    fn visit_path(&mut self, path: &'ast Path) {
        let segments = path.segments.iter().map(|segment| segment.ident.to_string());
        self.0.insert(segments.collect());
        visit::visit_path(self, path);
    }

    /// `pub(super)` names no code.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.tokens(call.tokens.clone());
    }
}

impl Paths {
    /// The arguments of a macro are not parsed, so names joined by `::` count as paths.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.0.insert(std::mem::take(&mut path));
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(sign) if sign.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.0.insert(std::mem::take(&mut path));
                    self.tokens(group.stream());
                    colons = 0;
                }
                _ => {
                    self.0.insert(std::mem::take(&mut path));
                    colons = 0;
                }
            }
        }
        self.0.insert(path);
    }
}
