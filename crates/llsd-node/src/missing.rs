//! What this machine lacks for a real node, and what can be run on it instead.

use llsd_testkit::Unobtainable;

use crate::namespaces::refusals;

/// What is missing, in one text; `None` where a node can run.
pub fn missing() -> Option<Unobtainable> {
    match refusals() {
        Ok(refused) if refused.is_empty() => None,
        Ok(refused) => Some(Unobtainable(explanation(&refused))),
        Err(error) => Some(Unobtainable(format!("cannot try what a node needs: {error:#}"))),
    }
}

fn explanation(refused: &[String]) -> String {
    format!(
        "a real node cannot run here; missing: {}. What runs without it: `make demo`, the product on a \
         real control plane with pods as processes, and `make test`",
        refused.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_missing_is_named_with_what_runs_instead() {
        let said = explanation(&["network bridges (not supported)".into(), "overlayfs".into()]);
        assert!(said.contains("network bridges (not supported); overlayfs."), "{said}");
        assert!(said.contains("make demo"), "{said}");
    }
}
