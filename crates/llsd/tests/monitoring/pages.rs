//! Every alert has a page of its own.

use llsd_cases::files::repository;
use llsd_install::monitoring::ALERTS;

#[test]
fn every_alert_has_a_runbook_and_is_listed() {
    let folder = repository("docs/runbooks");
    let index = std::fs::read_to_string(folder.join("README.md")).unwrap();
    for alert in ALERTS {
        let file = format!("{}.md", alert.name);
        let page = std::fs::read_to_string(folder.join(&file)).unwrap_or_default();
        assert!(page.starts_with(&format!("# {}\n", alert.name)), "docs/runbooks/{file}");
        for part in ["## What it means", "## What to look at", "## What to do"] {
            assert!(page.contains(part), "docs/runbooks/{file}: {part}");
        }
        assert!(index.contains(&format!("[{}]({file})", alert.name)), "{}", alert.name);
    }
    for entry in std::fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let known = ALERTS.iter().any(|alert| name == format!("{}.md", alert.name));
        assert!(known || name == "README.md", "docs/runbooks/{name} is about no alert");
    }
}
