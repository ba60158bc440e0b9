//! The examples of the documentation are what the program prints.

use super::migrated;
use crate::support::{repository, run};

#[test]
fn the_example_of_the_page_is_what_the_program_prints() {
    let page =
        std::fs::read_to_string(repository("docs/migration-v1alpha1-to-v1alpha2.md")).unwrap();
    let out = migrated(&block(&page, "before"));
    assert_eq!(out.stdout, block(&page, "after"));
    assert_eq!(out.stderr.replace("-:", "stack.yaml:"), block(&page, "report"));
}

fn block(page: &str, title: &str) -> String {
    let (_, rest) = page.split_once(&format!("<!-- {title} -->\n```")).unwrap();
    let (_, rest) = rest.split_once('\n').unwrap();
    rest.split_once("```\n").unwrap().0.to_owned()
}

#[test]
fn the_example_of_the_move_to_ogx_is_what_the_program_prints() {
    let page = std::fs::read_to_string(repository("docs/from-llama-stack-to-ogx.md")).unwrap();
    let out = run(&["migrate", "--to", "ogx-1.5", "-f", "-"], &block(&page, "before"));
    assert_eq!(out.code, 0, "{}", out.stderr);
    assert_eq!(out.stdout, block(&page, "after"));
    assert_eq!(out.stderr.replace("-:", "stack.yaml:"), block(&page, "report"));
}
