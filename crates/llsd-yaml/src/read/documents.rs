//! Splits a text into documents and reads each: YAML documents, or JSON values one after the other
//! as kubectl takes them. A broken document does not hide the next one.

use serde::de::IgnoredAny;
use serde_saphyr::granit_parser::{Event, Options, Parser, Span};

use super::assemble::Assembly;
use super::events::{options, position, syntax};
use crate::dialect::Dialect;
use crate::fault::Fault;
use crate::position::Position;
use crate::tree::Tree;

const DIALECT: Dialect = Dialect::Kubectl;
/// What a document costs of the file's nodes, so that millions of them are refused too.
const DOCUMENT_COST: usize = 10;
/// A broken one costs more, because every one is a finding to print.
const FAULT_COST: usize = 1_000;

/// One document that is not empty; `number` counts from 1 and counts the empty ones too.
#[derive(Clone, Debug)]
pub struct Document {
    pub number: usize,
    pub content: Result<Tree, Fault>,
}

/// All documents of `text` that hold something.
pub fn documents(text: &str) -> Vec<Document> {
    let mut reader = Reader { number: 0, budget: DIALECT.bounds().nodes, documents: Vec::new() };
    if let Some(values) = json_values(text) {
        for (origin, value) in values {
            // JSON has no limit on the length of a key.
            let mut options = options(DIALECT);
            options.simple_key_max_lookahead = value.len();
            if !reader.read_documents(value, origin, options) {
                break;
            }
        }
    } else {
        reader.read_documents(text, Position::START, options(DIALECT));
    }
    reader.documents
}

/// The JSON values of a text that is nothing but JSON, each with the position where it begins. Any
/// other text is YAML, also JSON documents with `---` between them.
pub(super) fn json_values(text: &str) -> Option<Vec<(Position, &str)>> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let mut values = Vec::new();
    let (mut start, mut origin) = (0, Position::START);
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    while let Some(value) = stream.next() {
        value.ok()?;
        let end = stream.byte_offset();
        values.push((origin, &text[start..end]));
        origin = origin.then(Position::end_of(&text[start..end]));
        start = end;
    }
    Some(values)
}

#[derive(Debug)]
struct Reader {
    number: usize,
    budget: usize,
    documents: Vec<Document>,
}

impl Reader {
    /// Reads the documents of `text`; false once a limit was met.
    fn read_documents(&mut self, text: &str, origin: Position, options: Options) -> bool {
        let tabs = text.contains('\t');
        let mut parser = Parser::new_from_str_with_options(text, options);
        loop {
            let mut events = std::iter::from_fn(|| parser.next_event()).map(|next| match next {
                Ok((event, span)) => Ok((event, span, origin.then(position(&span.start)))),
                Err(error) => Err(syntax(&error, origin.then(position(error.marker())), DIALECT)),
            });
            let next = document(&mut events, text, tabs, &mut self.budget);
            let Some(next) = next.transpose() else { return true };
            self.number += 1;
            let number = self.number;
            match next {
                Ok(Part::Empty) => {}
                Ok(Part::Tree(tree)) => self.documents.push(Document { number, content: Ok(tree) }),
                Err(fault) => {
                    let is_last = fault.last;
                    self.documents.push(Document { number, content: Err(fault) });
                    if is_last {
                        return false;
                    }
                    self.budget = self.budget.saturating_sub(FAULT_COST);
                    if !parser.proceed_next_document().unwrap_or(false) {
                        return true;
                    }
                }
            }
        }
    }
}

enum Part {
    Empty,
    Tree(Tree),
}

type Located<'text> = Result<(Event<'text>, Span, Position), Fault>;

/// The next document, or nothing at the end of the text. `tabs` says whether the text has any.
fn document<'text>(
    events: &mut impl Iterator<Item = Located<'text>>,
    text: &str,
    tabs: bool,
    budget: &mut usize,
) -> Result<Option<Part>, Fault> {
    let mut assembly = Assembly::new(DIALECT, budget);
    for next in events {
        let (event, span, at) = next?;
        match event {
            Event::StreamEnd => return Ok(None),
            Event::DocumentStart(explicit, _) => {
                assembly.spend(DOCUMENT_COST, at)?;
                if explicit {
                    check_separator(&span, text, at)?;
                }
            }
            Event::DocumentEnd => {
                let tree = assembly.finish().filter(|tree| !tree.is_null());
                return Ok(Some(tree.map_or(Part::Empty, Part::Tree)));
            }
            event => {
                if tabs && event.is_node() && !assembly.in_flow() {
                    check_indentation(&span, text, at)?;
                }
                assembly.take(event, &span, at)?;
            }
        }
    }
    Ok(None)
}

/// kubectl splits files at lines that begin with `---` and refuses anything but a comment there.
fn check_separator(span: &Span, text: &str, at: Position) -> Result<(), Fault> {
    let rest = span.byte_range().and_then(|range| text.get(range.end..)).unwrap_or_default();
    let rest = rest.lines().next().unwrap_or_default().trim();
    if rest.is_empty() || rest.starts_with('#') {
        return Ok(());
    }
    Err(Fault::invalid(
        at,
        "kubectl takes no text on the line of a `---`",
        "move the text to the next line",
    ))
}

/// The parser forgives a tab after spaces; kubectl does not.
fn check_indentation(span: &Span, text: &str, at: Position) -> Result<(), Fault> {
    let before = span.byte_range().and_then(|range| text.get(..range.start)).unwrap_or_default();
    let indentation =
        before.bytes().rev().take_while(|byte| matches!(byte, b' ' | b'\t' | b'-' | b'?'));
    let length = indentation.clone().count();
    let begins_line =
        before.len() == length || before.as_bytes()[before.len() - length - 1] == b'\n';
    if begins_line && indentation.clone().any(|byte| byte == b'\t') {
        return Err(Fault::invalid(at, "a tab in the indentation", "indent with spaces"));
    }
    Ok(())
}
