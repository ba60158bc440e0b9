//! The example of the documentation is what the program prints.

use crate::migrated;
use crate::support::repository;

#[test]
fn the_example_of_the_page_is_what_the_program_prints() {
    let page =
        std::fs::read_to_string(repository("docs/migration-v1alpha1-to-v1alpha2.md")).unwrap();
    let block = |title: &str| {
        let (_, rest) = page.split_once(&format!("<!-- {title} -->\n```")).unwrap();
        let (_, rest) = rest.split_once('\n').unwrap();
        rest.split_once("```\n").unwrap().0.to_owned()
    };
    let out = migrated(&block("before"));
    assert_eq!(out.stdout, block("after"));
    assert_eq!(out.stderr.replace("-:", "stack.yaml:"), block("report"));
}
