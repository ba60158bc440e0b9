//! What `render` and `explain` share: the way from plans, or from the lack of them, to the output.

use llsd_offline::{Configuration, Input, Plans};
use llsd_plan::problems::Problem;

use super::{Exit, Printout};

pub(super) fn plans(input: Input) -> Result<Plans, Printout> {
    Plans::new(input).map_err(|refused| Printout {
        stdout: String::new(),
        stderr: refused.report.refusal(),
        exit: if refused.unavailable { Exit::Unavailable } else { Exit::Problems },
    })
}

/// The command did what it was asked for; warnings go beside it.
pub(super) fn fine(plans: &Plans, stdout: String) -> Printout {
    Printout { stdout, stderr: plans.report(&[]).findings(), exit: Exit::Fine }
}

/// As [`fine`], unless a configuration that was asked for is missing.
pub(super) fn unless_missing(
    plans: &Plans,
    configurations: &[Result<Configuration<'_>, Problem>],
    stdout: impl FnOnce() -> String,
) -> Printout {
    if configurations.iter().all(Result::is_ok) {
        return fine(plans, stdout());
    }
    let stderr = plans.report(configurations).findings();
    Printout { stdout: String::new(), stderr, exit: Exit::Unavailable }
}
