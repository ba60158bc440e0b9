//! All problems and warnings of the given resources at once. What can only be checked with the
//! image's configuration is checked as far as that is known.

use crate::examined::Examined;
use crate::input::Input;
use crate::report::Report;

pub fn validate(mut input: Input) -> Report {
    let examined: Vec<Examined> = input.examine().into_iter().map(unchecked).collect();
    input.report(&examined)
}

/// The resource by itself was checked; that the rest could not be is worth a warning, not a failure.
fn unchecked(mut examined: Examined) -> Examined {
    let warnings = &mut examined.resource.summary.warnings;
    for mut finding in std::mem::take(&mut examined.missing) {
        let problem = &mut finding.problem;
        problem.message.push_str(", so the generated configuration was not checked");
        warnings.push(finding);
    }
    warnings.sort_by_key(|finding| finding.at);
    examined
}
