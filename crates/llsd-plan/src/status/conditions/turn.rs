//! `UpdatePending` while a change of inputs that several servers share reaches other servers first.

use k8s_openapi::jiff::Timestamp;

use super::super::messages::counted;
use super::super::vocabulary::{ConditionReason, ConditionType, Truth};
use super::statement::Assessment;
use crate::rollout::wave::{KnownServers, Waiting};

/// How a server is changed now all the same.
const APPLY: &str =
    "`llsd rollout approve`, or a new value of llamastack.io/approve, applies it now";

pub(super) fn waits(waiting: &Waiting) -> Assessment {
    let message = if waiting.is_stopped() {
        stopped(waiting)
    } else if waiting.is_ready {
        in_line(waiting)
    } else {
        checked(waiting)
    };
    let reason = ConditionReason::WaitingForTurn;
    Assessment::new(ConditionType::UpdatePending, Truth::True, reason, message)
}

fn in_line(waiting: &Waiting) -> String {
    let Waiting { ahead, changing, canaries, .. } = waiting;
    let canaries = if canaries.is_empty() {
        String::new()
    } else {
        format!("; canaries that have to run well first: {}", servers(canaries))
    };
    let changing = if changing.is_empty() {
        String::new()
    } else {
        format!("; changing: {}", servers(changing))
    };
    format!(
        "A change of {}, which other servers share, waits for its turn: {}. When this was written, {} \
         ahead{changing}{canaries}. {APPLY}",
        waiting.inputs.join(", "),
        a_few(waiting),
        match ahead {
            1 => "1 server was".to_owned(),
            ahead => format!("{ahead} servers were"),
        },
    )
}

/// While its preflight goes on. Nothing of this changes meanwhile.
fn checked(waiting: &Waiting) -> String {
    format!(
        "A change of {}, which other servers share, is checked by its preflight, and then waits for its turn: {}",
        waiting.inputs.join(", "),
        a_few(waiting),
    )
}

fn a_few(Waiting { fleet, .. }: &Waiting) -> String {
    let opens_at = fleet.opens_at.and_then(|at| Timestamp::from_second(at).ok());
    let window = opens_at.map(|at| format!(", in the next window, which opens at {at}"));
    format!(
        "the operator changes at most {} of {} at a time, and {} in a namespace{}",
        fleet.allowed(),
        counted(fleet.managed, "server"),
        fleet.budget.per_namespace,
        window.unwrap_or_default(),
    )
}

fn stopped(waiting: &Waiting) -> String {
    format!(
        "{}: a change of {}, which other servers share, failed on {}. It reaches this server once fewer have failed \
         with it, or with another value: fix the cause, then use `llsd rollout retry` on those that failed. {APPLY}",
        Waiting::STOPPED,
        waiting.inputs.join(", "),
        servers(&waiting.failed),
    )
}

/// Those of the resource's namespace by name, and how many there are in others.
fn servers(known: &KnownServers) -> String {
    let mut words: Vec<String> = known.here.iter().map(|key| key.name.to_string()).collect();
    match known.more_here {
        0 => {}
        more => words.push(format!("{more} more in this namespace")),
    }
    match known.elsewhere {
        0 => {}
        1 => words.push("1 server in another namespace".to_owned()),
        others => words.push(format!("{others} servers in other namespaces")),
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Key;
    use crate::rollout::wave::{Budget, Fleet};

    fn known(here: &[&str], more_here: usize, elsewhere: usize) -> KnownServers {
        let here = here.iter().map(|name| Key::new("team", name)).collect();
        KnownServers { here, more_here, elsewhere }
    }

    fn waiting(changing: KnownServers, failed: KnownServers, is_ready: bool) -> Waiting {
        Waiting {
            inputs: vec!["ca-bundle".to_owned()],
            fleet: Fleet { managed: 12, budget: Budget::default(), opens_at: None },
            ahead: 1,
            changing,
            failed,
            canaries: KnownServers::default(),
            is_ready,
        }
    }

    fn message(changing: KnownServers, failed: KnownServers, is_ready: bool) -> String {
        said(&waiting(changing, failed, is_ready))
    }

    fn said(waiting: &Waiting) -> String {
        match waits(waiting) {
            Assessment::Current { message, .. } => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_server_that_waits_says_for_whom_and_what_to_do() {
        let none = KnownServers::default;
        let said = message(known(&["llama"], 0, 1), none(), true);
        assert!(said.contains("at most 2 of 12 servers at a time, and 1 in a namespace"), "{said}");
        assert!(
            said.contains("1 server was ahead; changing: llama, 1 server in another"),
            "{said}"
        );
        let said = message(none(), known(&["a", "b", "c"], 1, 0), true);
        assert!(said.starts_with(Waiting::STOPPED), "{said}");
        assert!(said.contains("failed on a, b, c, 1 more in this namespace."), "{said}");
        assert!(said.contains("llsd rollout retry"), "{said}");
        let said = message(known(&["llama"], 0, 0), none(), false);
        assert!(said.contains("is checked by its preflight"), "{said}");
        assert!(!said.contains("ahead") && !said.contains("llama,"), "it stays as it is: {said}");
    }

    #[test]
    fn a_server_that_waits_is_told_of_canaries_and_of_the_next_window() {
        let none = KnownServers::default;
        let fleet = Fleet { managed: 12, budget: Budget::default(), opens_at: Some(0) };
        let canaries = known(&["first"], 0, 0);
        let waiting = Waiting { fleet, canaries, ..waiting(none(), none(), true) };
        let told = said(&waiting);
        assert!(
            told.contains(
                "and 1 in a namespace, in the next window, which opens at 1970-01-01T00:00:00Z."
            ),
            "{told}"
        );
        assert!(told.contains("canaries that have to run well first: first."), "{told}");
    }
}
