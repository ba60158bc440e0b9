//! Entries of `spec.resources`, whichever way they are written.

use llsd_api::name_or_entry::NameOrEntry;

use crate::problems::FieldPath;

/// A model, tool or shield of the resource.
pub(super) struct ResourceItem<'a, E> {
    pub(super) name: &'a str,
    /// Nothing where it is a bare name.
    pub(super) entry: Option<&'a E>,
    pub(super) path: FieldPath,
}

impl<'a, E> ResourceItem<'a, E> {
    /// All of one list. Entries that could not be read are validation's to report.
    pub(super) fn all(
        list: Option<&'a Vec<NameOrEntry<E>>>,
        field: &str,
        name_of: fn(&E) -> &str,
    ) -> Vec<Self> {
        let path = FieldPath::spec().key("resources").key(field);
        let items = list.into_iter().flatten().enumerate();
        let read = items.filter_map(|(index, item)| {
            let (name, entry) = match item {
                NameOrEntry::Name(name) => (name.as_str(), None),
                NameOrEntry::Entry(entry) => (name_of(entry.understood()?), entry.understood()),
            };
            Some(Self { name, entry, path: path.index(index) })
        });
        read.collect()
    }

    /// Where its name stands.
    pub(super) fn name_path(&self) -> FieldPath {
        if self.entry.is_some() { self.path.key("name") } else { self.path.clone() }
    }
}
