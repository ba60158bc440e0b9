//! Sequences that are also tried on a real control plane, to show that the simulated one tells the truth. What
//! follows [`Step::Settle`] begins once everything is at rest there.

use crate::step::Step;
use crate::wish::{Mood, Volume};

/// Each with a name.
pub const SHOWN: [(&str, &[Step]); 10] = [
    ("refused-port", &[Step::Edit(Mood::Refused), Step::EditPort]),
    ("broken-port", &[Step::Edit(Mood::Broken), Step::EditPort]),
    ("refused-label", &[Step::Edit(Mood::Refused), Step::Settle, Step::LoseLabel]),
    ("broken-rotated", &[Step::Edit(Mood::Broken), Step::Settle, Step::Rotate(0)]),
    ("refused-rotated", &[Step::Edit(Mood::Refused), Step::Settle, Step::Rotate(0)]),
    (
        "unproven",
        &[Step::Scale(0), Step::Settle, Step::Edit(Mood::Broken), Step::Settle, Step::Scale(1)],
    ),
    ("back-by-hand", &[Step::Edit(Mood::Good), Step::EditPort, Step::Settle, Step::RollBack]),
    ("kept-volume", &[Step::EditVolume(Volume::Retain), Step::Settle, Step::Delete]),
    (
        "autoscaled",
        &[Step::LeaveScale, Step::Settle, Step::Autoscale(2), Step::Settle, Step::Edit(Mood::Good)],
    ),
    ("denied", &[Step::Quota, Step::Edit(Mood::Good)]),
];
