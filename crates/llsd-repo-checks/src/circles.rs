//! Circles among arrows: between files, and between the rooms of one folder, where a subfolder with all
//! that is in it is one room.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::arrows::Arrow;

type Graph = BTreeMap<PathBuf, BTreeSet<PathBuf>>;

/// The groups of files that import each other in a circle.
pub fn circles(arrows: &Arrow) -> Vec<BTreeSet<PathBuf>> {
    groups(&graph(arrows.keys().cloned()))
}

/// The groups of rooms of one folder that import each other in a circle, for every folder.
pub fn folder_circles(arrows: &Arrow) -> Vec<BTreeSet<PathBuf>> {
    let mut levels: BTreeMap<PathBuf, Vec<(PathBuf, PathBuf)>> = BTreeMap::new();
    for (from, to) in arrows.keys() {
        let shared = shared_folder(from, to);
        let (from, to) = (room(&shared, from), room(&shared, to));
        levels.entry(shared).or_default().push((from, to));
    }
    levels.into_values().flat_map(|level| groups(&graph(level))).collect()
}

fn shared_folder(one: &Path, other: &Path) -> PathBuf {
    let pairs = one.components().zip(other.components());
    pairs.take_while(|(one, other)| one == other).map(|(one, _)| one).collect()
}

/// The room of a folder in which a file is: the file itself, or the subfolder that holds it. A file
/// `a.rs` beside a folder `a` is the door of that room.
fn room(folder: &Path, file: &Path) -> PathBuf {
    let inside = file.strip_prefix(folder).unwrap_or(file);
    let first = inside.components().next().map_or(inside, |first| Path::new(first.as_os_str()));
    folder.join(first).with_extension("")
}

fn graph(arrows: impl IntoIterator<Item = (PathBuf, PathBuf)>) -> Graph {
    let mut graph = Graph::new();
    for (from, to) in arrows {
        graph.entry(from).or_default().insert(to);
    }
    graph
}

/// Each group of nodes that all reach each other; a node alone is none.
fn groups(graph: &Graph) -> Vec<BTreeSet<PathBuf>> {
    let reached: BTreeMap<&PathBuf, BTreeSet<&PathBuf>> =
        graph.keys().map(|node| (node, reachable(graph, node))).collect();
    let mut found = BTreeSet::new();
    for (node, from_here) in &reached {
        let back = |other: &&&PathBuf| reached.get(**other).is_some_and(|set| set.contains(node));
        let group: BTreeSet<PathBuf> = from_here.iter().filter(back).map(|&n| n.clone()).collect();
        if group.len() > 1 {
            found.insert(group);
        }
    }
    found.into_iter().collect()
}

fn reachable<'a>(graph: &'a Graph, from: &'a PathBuf) -> BTreeSet<&'a PathBuf> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(node) = next.pop() {
        for to in graph.get(node).into_iter().flatten() {
            if reached.insert(to) {
                next.push(to);
            }
        }
    }
    reached
}
