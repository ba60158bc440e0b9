//! Puts a parser's events together into a [`Tree`], within bounds on what a hostile file can ask
//! for. Aliases share what their anchors hold, so nothing grows on the way.

use std::collections::HashMap;
use std::rc::Rc;

use serde_saphyr::granit_parser::{Event, ScalarStyle, Span, StructureStyle, Tag};

use super::mapping::{Key, Mapping, checked, wrong_merge};
use crate::dialect::Dialect;
use crate::fault::Fault;
use crate::position::Position;
use crate::tree::{Tree, TreeContent, TreeNode};

/// Bytes of repeated text that cost as much as a node.
const BYTES_PER_NODE: usize = 1 << 10;

/// One document in the making.
#[derive(Debug)]
pub(super) struct Assembly<'file> {
    dialect: Dialect,
    /// Nodes that the file may still hold.
    budget: &'file mut usize,
    frames: Vec<Frame>,
    /// Finished nodes by anchor; one still in the making is missing here.
    anchors: HashMap<usize, Tree>,
    root: Option<Tree>,
}

#[derive(Debug)]
struct Frame {
    at: Position,
    anchor: usize,
    flow: bool,
    /// Nodes that the file could still hold when this one began.
    budget_before: usize,
    collection: Collection,
}

#[derive(Debug)]
enum Collection {
    List(Vec<Tree>),
    Map(Mapping),
}

impl<'file> Assembly<'file> {
    pub(super) fn new(dialect: Dialect, budget: &'file mut usize) -> Self {
        Self { dialect, budget, frames: Vec::new(), anchors: HashMap::new(), root: None }
    }

    /// The document's value; nothing for an empty document.
    pub(super) fn finish(self) -> Option<Tree> {
        self.root
    }

    pub(super) fn take(
        &mut self,
        event: Event<'_>,
        span: &Span,
        at: Position,
    ) -> Result<(), Fault> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.scalar(&text, style, anchor, tag.as_deref(), span, at)
            }
            Event::SequenceStart(style, anchor, _) => {
                self.open(anchor, at, style, Collection::List(Vec::new()))
            }
            Event::MappingStart(style, anchor, _) => {
                self.open(anchor, at, style, Collection::Map(Mapping::new(self.dialect)))
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(anchor) => self.alias(anchor, at),
            _ => Ok(()),
        }
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        span: &Span,
        at: Position,
    ) -> Result<(), Fault> {
        let plain = style == ScalarStyle::Plain;
        // An unknown tag has its own name, so that it differs from no tag at all.
        let tag =
            tag.map(|tag| tag.suffix_in_namespace("tag:yaml.org,2002:").unwrap_or("?".into()));
        if text == "<<"
            && self.dialect.merges(plain, tag.as_deref())
            && let Some(mapping) = self.mapping()
            && mapping.pending.is_none()
        {
            mapping.pending = Some(Key::Merge(at));
            return self.spend(1, at);
        }
        // An empty value has no place of its own: the parser puts it where the next token begins.
        let at = match self.mapping().and_then(|mapping| mapping.pending.as_ref()) {
            Some(Key::Named(_, key_at)) if span.is_empty() => *key_at,
            _ => at,
        };
        let scalar = self.dialect.scalar(text, plain, tag.as_deref(), at)?;
        self.spend(1, at)?;
        self.put(anchor, Tree { at, node: Rc::new(TreeNode::new(TreeContent::Scalar(scalar))) })
    }

    fn alias(&mut self, anchor: usize, at: Position) -> Result<(), Fault> {
        let Some(target) = self.anchors.get(&anchor) else {
            return Err(self.dialect.circular(at));
        };
        // A long text that is repeated costs memory, however few its nodes are.
        let size = target.node.size.saturating_add(target.node.bytes / BYTES_PER_NODE);
        let (depth, node) = (target.node.depth, Rc::clone(&target.node));
        let deepest = self.dialect.bounds().depth;
        if self.frames.len() + depth > deepest {
            return Err(Fault::too_deep(at, deepest));
        }
        // kubectl's reader takes an alias of a mapping here, but none of a list of them.
        if self.dialect == Dialect::Kubectl
            && let Some(mapping) = self.mapping()
            && matches!(mapping.pending, Some(Key::Merge(_)))
            && !matches!(node.content, TreeContent::Map { .. })
        {
            return Err(wrong_merge(at));
        }
        self.spend(size, at)?;
        self.put(0, Tree { at, node })
    }

    fn open(
        &mut self,
        anchor: usize,
        at: Position,
        style: StructureStyle,
        collection: Collection,
    ) -> Result<(), Fault> {
        let bounds = self.dialect.bounds();
        if self.frames.len() >= bounds.open {
            return Err(Fault::too_deep(at, bounds.depth));
        }
        let (flow, budget_before) = (style == StructureStyle::Flow, *self.budget);
        self.spend(1, at)?;
        self.frames.push(Frame { at, anchor, flow, budget_before, collection });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Fault> {
        let Some(Frame { at, anchor, budget_before, collection, .. }) = self.frames.pop() else {
            return Ok(());
        };
        let content = match collection {
            Collection::List(items) => TreeContent::List(items),
            Collection::Map(mapping) => mapping.finish(),
        };
        let mut node = TreeNode::new(content);
        // For the server, an alias costs all that its anchor did, keys included.
        if self.dialect == Dialect::PyYaml {
            node.size = budget_before - *self.budget;
        }
        self.put(anchor, Tree { at, node: Rc::new(node) })
    }

    fn put(&mut self, anchor: usize, tree: Tree) -> Result<(), Fault> {
        if anchor != 0 {
            self.anchors.insert(anchor, tree.clone());
        }
        match self.frames.last_mut().map(|frame| &mut frame.collection) {
            None => self.root = Some(checked(tree)?),
            Some(Collection::List(items)) => items.push(checked(tree)?),
            Some(Collection::Map(mapping)) => mapping.put(tree)?,
        }
        Ok(())
    }

    /// Whether brackets are open, inside which indentation means nothing.
    pub(super) fn in_flow(&self) -> bool {
        self.frames.last().is_some_and(|frame| frame.flow)
    }

    /// The mapping that the next node belongs to.
    fn mapping(&mut self) -> Option<&mut Mapping> {
        match &mut self.frames.last_mut()?.collection {
            Collection::Map(mapping) => Some(mapping),
            Collection::List(_) => None,
        }
    }

    pub(super) fn spend(&mut self, nodes: usize, at: Position) -> Result<(), Fault> {
        *self.budget = self
            .budget
            .checked_sub(nodes)
            .ok_or_else(|| Fault::too_large(at, self.dialect.bounds().nodes))?;
        Ok(())
    }
}
