//! Picks the resources out of the documents of a file: lists are unwrapped, other kinds are passed
//! over with a remark, and the group and version of ours are checked.

use llsd_api::conversion::Version;
use llsd_api::{FORMER_GROUPS, GROUP, KIND};
use llsd_plan::problems::{FieldPath, Reason};
use llsd_yaml::{Document, Position, Tree, documents};

use crate::finding::Finding;
use crate::resource::{Contents, Remark, Resource, Summary};
use crate::source::Source;

/// Reads files, which together must hold a resource. What else they hold is passed over: with a warning where the
/// file was named, without a word in files of folders.
pub(crate) fn read_all(sources: &[Source]) -> Vec<Contents> {
    let mut all: Vec<Contents> = sources.iter().map(contents).collect();
    let has_some = all.iter().any(|contents| !contents.resources.is_empty());
    let mut is_said_of_folders = false;
    for (source, contents) in sources.iter().zip(&mut all) {
        let is_wrong = contents.remarks.iter().any(|remark| !remark.problems.is_empty());
        if contents.resources.is_empty() && !is_wrong {
            let remark = match (source.is_named, has_some) {
                // Where it holds another kind, the remark on that says it.
                (true, true) => contents.remarks.is_empty().then(|| passed_over(&source.name)),
                (true, false) => Some(nothing_in(&source.name, "the file holds")),
                (false, false) if !is_said_of_folders => {
                    is_said_of_folders = true;
                    Some(nothing_in(&source.name, "this and the other files hold"))
                }
                (false, _) => None,
            };
            contents.remarks.extend(remark);
        }
        if !source.is_named {
            for remark in &mut contents.remarks {
                remark.warnings.retain(|warning| warning.problem.reason != Reason::Ignored);
            }
        }
    }
    all
}

fn nothing_in(file: &str, what: &str) -> Remark {
    let nothing = Finding::new(
        FieldPath::root(),
        Reason::Required,
        format!("{what} no {KIND}"),
        format!("give it a document with `kind: {KIND}`"),
        Position::START,
    );
    let file = file.to_owned();
    Remark { file, document: None, problems: vec![nothing], warnings: Vec::new() }
}

/// A named file without any document, beside others with resources.
fn passed_over(file: &str) -> Remark {
    let nothing = Finding::new(
        FieldPath::root(),
        Reason::Ignored,
        format!("the file holds no {KIND} and was passed over"),
        "nothing to do, unless it was meant to hold one",
        Position::START,
    );
    let file = file.to_owned();
    Remark { file, document: None, problems: Vec::new(), warnings: vec![nothing] }
}

fn contents(source: &Source) -> Contents {
    let mut file = File { name: &source.name, contents: Contents::default() };
    match &source.text {
        Ok(text) => documents(text).into_iter().for_each(|document| file.document(document)),
        Err(fault) => file.remark(None, vec![Finding::of_text(fault)], Vec::new()),
    }
    let mut contents = file.contents;
    if contents.resources.is_empty() && !source.is_meant_for_us() {
        let count = contents.remarks.len();
        contents.remarks.retain(|remark| remark.problems.is_empty());
        contents.is_passed_over = contents.remarks.len() < count;
    }
    contents
}

struct File<'source> {
    name: &'source str,
    contents: Contents,
}

impl File<'_> {
    fn document(&mut self, document: Document) {
        match document.content {
            Ok(tree) => self.object(document.number, &tree, &FieldPath::root()),
            Err(fault) => {
                self.remark(Some(document.number), vec![Finding::of_text(&fault)], Vec::new());
            }
        }
    }

    /// `path` leads to the object from the root of its document.
    fn object(&mut self, document: usize, tree: &Tree, path: &FieldPath) {
        if !tree.is_map() {
            let message =
                "this is no Kubernetes object, which is a mapping with `apiVersion` and `kind`";
            let finding = Finding::new(
                path.clone(),
                Reason::WrongType,
                message,
                "remove it, or mend it",
                tree.at(),
            );
            return self.remark(Some(document), vec![finding], Vec::new());
        }
        let (api_version, kind) =
            match (required_text(tree, "apiVersion", path), required_text(tree, "kind", path)) {
                (Ok(api_version), Ok(kind)) => (api_version, kind),
                (api_version, kind) => {
                    let problems = [api_version.err(), kind.err()].into_iter().flatten().collect();
                    return self.remark(Some(document), problems, Vec::new());
                }
            };
        let at_kind = || tree.position(&FieldPath::root().key("kind"));
        if kind == KIND {
            let resource = resource(self.name, document, tree, api_version);
            self.contents.resources.push(resource);
        } else if kind == "List" || kind.strip_suffix("List") == Some(KIND) {
            self.list(document, tree, path);
        } else if kind.eq_ignore_ascii_case(KIND) {
            let message = format!("\"{kind}\" is spelled differently");
            let finding = Finding::new(
                path.key("kind"),
                Reason::Invalid,
                message,
                format!("write `kind: {KIND}`"),
                at_kind(),
            );
            self.remark(Some(document), vec![finding], Vec::new());
        } else {
            let message = format!("{kind} is not a {KIND} and was passed over");
            let remedy = "nothing to do, unless it was meant to be one";
            let finding =
                Finding::new(path.key("kind"), Reason::Ignored, message, remedy, at_kind());
            self.remark(Some(document), Vec::new(), vec![finding]);
        }
    }

    fn list(&mut self, document: usize, tree: &Tree, path: &FieldPath) {
        let items_path = path.key("items");
        if let Some(items) = tree.get("items").and_then(Tree::items) {
            for (index, item) in items.iter().enumerate() {
                self.object(document, item, &items_path.index(index));
            }
            return;
        }
        let (reason, message) = match tree.get("items") {
            None => (Reason::Required, "a List must have items"),
            Some(_) => (Reason::WrongType, "the items of a List must be a list"),
        };
        let at = tree.position(&FieldPath::root().key("items"));
        let finding =
            Finding::new(items_path, reason, message, "list the resources under `items`", at);
        self.remark(Some(document), vec![finding], Vec::new());
    }

    fn remark(&mut self, document: Option<usize>, problems: Vec<Finding>, warnings: Vec<Finding>) {
        let file = self.name.to_owned();
        self.contents.remarks.push(Remark { file, document, problems, warnings });
    }
}

fn required_text<'tree>(
    tree: &'tree Tree,
    key: &str,
    path: &FieldPath,
) -> Result<&'tree str, Finding> {
    let value = tree.get(key).filter(|value| !value.is_null());
    let (reason, message) = match value {
        None => (Reason::Required, "missing"),
        Some(value) => match value.text() {
            Some("") => (Reason::Required, "empty"),
            Some(text) => return Ok(text),
            None => (Reason::WrongType, "not a string"),
        },
    };
    let example = if key == "kind" { KIND } else { "llamastack.io/v1alpha2" };
    let at = tree.position(&FieldPath::root().key(key));
    Err(Finding::new(path.key(key), reason, message, format!("write `{key}: {example}`"), at))
}

fn resource(file: &str, document: usize, tree: &Tree, api_version: &str) -> Resource {
    let metadata = |key| tree.get("metadata")?.get(key)?.text().map(str::to_owned);
    let mut resource = Resource {
        summary: Summary {
            file: file.to_owned(),
            document,
            namespace: metadata("namespace"),
            name: metadata("name"),
            api_version: api_version.to_owned(),
            problems: Vec::new(),
            warnings: Vec::new(),
        },
        version: None,
        tree: tree.clone(),
        placed_in: None,
    };
    check_version(&mut resource);
    for duplicate in tree.duplicates() {
        let message = format!("already set on line {}", duplicate.first.line);
        // kubectl keeps the last one without a word, which is hardly what anybody meant.
        let (reason, remedy) = (Reason::Duplicate, "keep one of them");
        resource.summary.problems.push(Finding::new(
            duplicate.path,
            reason,
            message,
            remedy,
            duplicate.at,
        ));
    }
    resource
}

fn check_version(resource: &mut Resource) {
    let path = FieldPath::root().key("apiVersion");
    let at = resource.tree.position(&path);
    let api_version = &resource.summary.api_version;
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    resource.version = Version::from_api_version(&format!("{GROUP}/{version}"));
    let wanted = if resource.version.is_some() { version } else { "v1alpha2" };
    let remedy = format!("write `apiVersion: {GROUP}/{wanted}`");
    let finding =
        |reason, message| Finding::new(path.clone(), reason, message, remedy.as_str(), at);
    if FORMER_GROUPS.contains(&group) {
        resource.summary.warnings.push(finding(
            Reason::Deprecated,
            format!("the group \"{group}\" is read as \"{GROUP}\", but no API server has it"),
        ));
    } else if group != GROUP {
        resource.summary.problems.push(finding(
            Reason::Invalid,
            format!("a {KIND} belongs to the group \"{GROUP}\", not \"{group}\""),
        ));
    }
    if resource.version.is_none() {
        resource.summary.problems.push(finding(
            Reason::Invalid,
            format!("unknown version \"{version}\"; known are v1alpha1 and v1alpha2"),
        ));
    }
}
