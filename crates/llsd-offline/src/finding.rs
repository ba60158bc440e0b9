//! A [`Problem`] with its place in the file.

use llsd_plan::problems::{FieldPath, Problem, Reason};
use llsd_yaml::{Fault, Position, Tree};
use serde::Serialize;

/// Serialises flat: `path`, `reason`, `message`, `remedy`, `line`, `column`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Finding {
    #[serde(flatten)]
    pub problem: Problem,
    #[serde(flatten)]
    pub at: Position,
}

impl Finding {
    /// Finds the place of a problem in the resource that it was found in.
    pub fn locate(problem: Problem, tree: &Tree) -> Self {
        let at = match problem.reason {
            Reason::UnknownField => tree.key_position(&problem.path),
            _ => tree.position(&problem.path),
        };
        Self { problem, at }
    }

    /// A text that is no document yet has no fields either.
    pub fn of_text(fault: &Fault) -> Self {
        let Fault { at, message, remedy, .. } = fault;
        Self::new(FieldPath::root(), Reason::Invalid, message, remedy, *at)
    }

    pub fn new(
        path: FieldPath,
        reason: Reason,
        message: impl Into<String>,
        remedy: impl Into<String>,
        at: Position,
    ) -> Self {
        Self {
            problem: Problem { path, reason, message: message.into(), remedy: remedy.into() },
            at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use llsd_yaml::documents;

    const STACK: &str = "\
# a comment first
apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata:
  name: demo
spec:
  distribution: {name: starter, tag: x}
  providers:
    inference:
    - provider: ollama
      endpoint: http://ollama:11434
    - id: second
      provider: &type vllm
      secretRefs:
  networking:
    port: 80
";

    fn place(path: &FieldPath, reason: Reason) -> (usize, usize) {
        let tree = documents(STACK).remove(0).content.unwrap();
        let finding = Finding::locate(
            Problem { path: path.clone(), reason, message: String::new(), remedy: String::new() },
            &tree,
        );
        (finding.at.line, finding.at.column)
    }

    #[test]
    fn a_wrong_value_is_shown_where_the_value_stands() {
        let port = FieldPath::spec().key("networking").key("port");
        assert_eq!(place(&port, Reason::Invalid), (16, 11));
    }

    #[test]
    fn a_value_inside_a_list_of_mappings_has_its_own_line() {
        let second = FieldPath::spec().key("providers").key("inference").index(1);
        assert_eq!(place(&second.key("id"), Reason::Duplicate), (12, 11));
        assert_eq!(place(&second.key("provider"), Reason::Invalid), (13, 23));
    }

    #[test]
    fn an_unknown_field_is_shown_at_its_key() {
        let tag = FieldPath::spec().key("distribution").key("tag");
        assert_eq!(place(&tag, Reason::UnknownField), (7, 33));
        assert_eq!(place(&tag, Reason::Invalid), (7, 38));
    }

    #[test]
    fn a_missing_field_is_shown_at_the_nearest_parent_that_is_there() {
        let networking = FieldPath::spec().key("networking");
        assert_eq!(place(&networking.key("tls").key("secretName"), Reason::Required), (15, 3));
        let first = FieldPath::spec().key("providers").key("inference").index(0);
        assert_eq!(place(&first.key("apiKey"), Reason::Required), (10, 7));
        assert_eq!(place(&FieldPath::root().key("status"), Reason::Required), (2, 1));
        assert_eq!(place(&FieldPath::root(), Reason::Invalid), (2, 1));
    }

    #[test]
    fn a_mapping_or_a_list_is_shown_at_its_key() {
        let inference = FieldPath::spec().key("providers").key("inference");
        assert_eq!(place(&inference, Reason::Invalid), (9, 5));
        assert_eq!(place(&inference.index(1), Reason::Conflict), (12, 7));
        assert_eq!(place(&inference.index(7), Reason::NotFound), (9, 5));
    }

    #[test]
    fn an_empty_value_is_shown_at_its_key_and_not_on_the_next_line() {
        let refs = FieldPath::spec().key("providers").key("inference").index(1).key("secretRefs");
        assert_eq!(place(&refs, Reason::WrongType), (14, 7));
    }
}
