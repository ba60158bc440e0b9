//! What the operator's ConfigMap is told of changes that several servers share: that one began, stopped at
//! failures, continues, and ended.

use super::events::{Event, EventKind};
use super::messages::counted;
use crate::rollout::wave::{Course, Fleet, WaveProgress};

const ACTION: &str = "RollOut";

/// The event of a change from one course to another.
pub fn course_event(
    before: Course,
    now: Course,
    progress: WaveProgress,
    fleet: Fleet,
) -> Option<Event> {
    let WaveProgress { changing, failed, waiting } = progress;
    let (kind, reason, note) = match (before, now) {
        (Course::Idle, Course::UnderWay) => {
            let most = fleet.allowed();
            let all = counted(fleet.managed, "server");
            let each = fleet.budget.per_namespace;
            let note = format!(
                "A change of inputs that several servers share begins; at most {most} of {all} change at a time, and \
                 {each} in a namespace"
            );
            (EventKind::Normal, "SharedChangeBegan", note)
        }
        (Course::Idle | Course::UnderWay, Course::Stopped) => {
            let note = format!(
                "A change of inputs that several servers share is stopped: {} failed with it, and {waiting} wait; \
                 `llsd rollout status -A` lists them, and once the cause is fixed, `llsd rollout retry` tries those \
                 that failed again",
                counted(failed, "server")
            );
            (EventKind::Warning, "SharedChangeStopped", note)
        }
        (Course::Stopped, Course::UnderWay) => {
            let note = format!(
                "A change of inputs that several servers share continues: {changing} changing, {waiting} waiting"
            );
            (EventKind::Normal, "SharedChangeContinues", note)
        }
        (Course::UnderWay | Course::Stopped, Course::Idle) => {
            let note = match failed {
                // Some may have been refused by their preflight, which is told elsewhere.
                0 => "No server waits any more for a change of shared inputs".to_owned(),
                failed => format!(
                    "No server waits any more for a change of shared inputs; {} failed with it",
                    counted(failed, "server")
                ),
            };
            (EventKind::Normal, "SharedChangeEnded", note)
        }
        (Course::Idle, Course::Idle)
        | (Course::UnderWay, Course::UnderWay)
        | (Course::Stopped, Course::Stopped) => return None,
    };
    Some(Event { kind, reason, note, action: ACTION })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollout::wave::Budget;

    #[test]
    fn each_turn_of_a_shared_change_is_told_once() {
        let fleet = Fleet { managed: 12, budget: Budget::default(), opens_at: None };
        let progress = WaveProgress { changing: 1, failed: 2, waiting: 7 };
        let told = |before, now| {
            let event = course_event(before, now, progress, fleet)?;
            Some((event.reason, event.note))
        };
        let all = [Course::Idle, Course::UnderWay, Course::Stopped];
        assert!(all.into_iter().all(|course| told(course, course).is_none()));
        let (reason, note) = told(Course::Idle, Course::UnderWay).unwrap();
        assert_eq!(reason, "SharedChangeBegan");
        assert!(note.contains("at most 2 of 12 servers"), "{note}");
        let (reason, note) = told(Course::UnderWay, Course::Stopped).unwrap();
        assert_eq!(reason, "SharedChangeStopped");
        assert!(note.contains("2 servers failed with it, and 7 wait"), "{note}");
        assert_eq!(told(Course::Stopped, Course::UnderWay).unwrap().0, "SharedChangeContinues");
        assert_eq!(told(Course::UnderWay, Course::Idle).unwrap().0, "SharedChangeEnded");
    }
}
