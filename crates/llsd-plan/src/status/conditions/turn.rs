//! `UpdatePending` while a change of inputs that several servers share reaches other servers first.

use super::super::messages::counted;
use super::super::vocabulary::{ConditionReason, ConditionType, Truth};
use super::statement::Assessment;
use crate::resource::Key;
use crate::rollout::wave::Waiting;

/// More servers than these are counted, not named.
const NAMED: usize = 3;

/// `namespace` is that of the resource: of others, its users learn no names.
pub(super) fn waits(waiting: &Waiting, namespace: &str) -> Assessment {
    let message = if waiting.is_stopped() {
        stopped(waiting, namespace)
    } else {
        in_line(waiting, namespace)
    };
    let reason = ConditionReason::WaitingForTurn;
    Assessment::new(ConditionType::UpdatePending, Truth::True, reason, message)
}

fn in_line(waiting: &Waiting, namespace: &str) -> String {
    let Waiting { inputs, fleet, ahead, changing, .. } = waiting;
    let changing = match changing.len() {
        0 => String::new(),
        _ => format!("; changing: {}", servers(changing, namespace)),
    };
    format!(
        "A change of {}, which other servers share, waits for its turn: the operator changes at most {} of {} at a \
         time, and {} in a namespace. When this was written, {} ahead{changing}. `llsd rollout approve`, or a new \
         value of llamastack.io/approve, applies it now",
        inputs.join(", "),
        fleet.allowed(),
        counted(fleet.managed, "server"),
        fleet.budget.per_namespace,
        match ahead {
            1 => "1 server was".to_owned(),
            ahead => format!("{ahead} servers were"),
        },
    )
}

fn stopped(waiting: &Waiting, namespace: &str) -> String {
    format!(
        "{}: a change of {}, which other servers share, failed on {}. It reaches this server once fewer \
         than {} have failed with it, or with another value: fix the cause, or use `llsd rollout retry` on those \
         that failed. `llsd rollout approve`, or a new value of llamastack.io/approve, applies it now",
        Waiting::STOPPED,
        waiting.inputs.join(", "),
        servers(&waiting.failed, namespace),
        waiting.fleet.budget.stop_after_failures,
    )
}

/// Those of the namespace by name, and how many there are in others.
fn servers(keys: &[Key], namespace: &str) -> String {
    let own: Vec<&Key> = keys.iter().filter(|key| *key.namespace == *namespace).collect();
    let mut words: Vec<String> = own.iter().take(NAMED).map(|key| key.name.to_string()).collect();
    match own.len().saturating_sub(NAMED) {
        0 => {}
        more => words.push(format!("{more} more in this namespace")),
    }
    match keys.len() - own.len() {
        0 => {}
        1 => words.push("1 server in another namespace".to_owned()),
        others => words.push(format!("{others} servers in other namespaces")),
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollout::wave::{Budget, Fleet};

    fn message(changing: &[(&str, &str)], failed: &[(&str, &str)]) -> String {
        let keys = |of: &[(&str, &str)]| of.iter().map(|(ns, name)| Key::new(ns, name)).collect();
        let waiting = Waiting {
            inputs: vec!["ca-bundle".to_owned()],
            fleet: Fleet { managed: 12, budget: Budget::default() },
            ahead: 1,
            changing: keys(changing),
            failed: keys(failed),
        };
        match waits(&waiting, "team") {
            Assessment::Current { message, .. } => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_server_that_waits_says_for_whom_and_names_none_of_other_namespaces() {
        let said = message(&[("team", "llama"), ("secret-project", "mistral")], &[]);
        assert!(said.contains("at most 2 of 12 servers at a time, and 1 in a namespace"), "{said}");
        assert!(
            said.contains("1 server was ahead; changing: llama, 1 server in another"),
            "{said}"
        );
        assert!(!said.contains("secret") && !said.contains("mistral"), "{said}");
        let said = message(&[], &[("team", "a"), ("team", "b"), ("team", "c"), ("team", "d")]);
        assert!(said.starts_with(Waiting::STOPPED), "{said}");
        assert!(said.contains("failed on a, b, c, 1 more in this namespace."), "{said}");
    }
}
