//! Warnings as the API server passes them on: as HTTP headers, 256 characters each and 4096 in all.

use crate::problems::Problem;

const EACH: usize = 256;
/// Those of the API server itself should find room too.
const ALL: usize = 3500;

/// As many as have room, and a word about the others.
pub(super) fn headers(warnings: &[Problem]) -> Vec<String> {
    let mut headers: Vec<String> = Vec::new();
    let mut length = 0;
    for (position, warning) in warnings.iter().enumerate() {
        let text = shortened(&format!("{}: {}; {}", warning.path, warning.message, warning.remedy));
        length += text.chars().count();
        if length > ALL {
            let left = warnings.len() - position;
            headers.push(format!("{left} more warnings; `llsd validate -f FILE` shows all"));
            break;
        }
        headers.push(text);
    }
    headers
}

/// A header has neither control characters nor line breaks.
fn shortened(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    match text.char_indices().nth(EACH) {
        None => text.chars().map(plain).collect(),
        Some(_) => text.chars().map(plain).take(EACH - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use crate::problems::{FieldPath, Findings, Reason};

    use super::*;

    fn warnings(count: usize, message: &str) -> Vec<Problem> {
        let mut findings = Findings::default();
        for index in 0..count {
            findings.warning(&FieldPath::spec().index(index), Reason::Ignored, message, "mend it");
        }
        findings.warnings
    }

    #[test]
    fn a_short_one_stands_as_it_is() {
        assert_eq!(headers(&warnings(1, "is ignored")), ["spec[0]: is ignored; mend it"]);
    }

    #[test]
    fn what_is_too_long_is_cut_and_what_is_too_much_is_counted() {
        let cut = headers(&warnings(1, &"ä\n".repeat(300)));
        assert_eq!(cut[0].chars().count(), 256);
        assert!(cut[0].ends_with('…') && !cut[0].contains('\n'));
        let many = headers(&warnings(100, &"long ".repeat(60)));
        assert!(many.iter().map(|text| text.chars().count()).sum::<usize>() < 4096);
        assert_eq!(many.last().unwrap(), "87 more warnings; `llsd validate -f FILE` shows all");
    }
}
