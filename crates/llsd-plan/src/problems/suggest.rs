//! Finds the known name that a misspelt one was probably meant to be.

use strsim::levenshtein;

/// The known name nearest to `name`, if one is near enough to be a slip of the fingers.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Of three letters, two changed ones leave another word.
    let limit = |candidate: &str| if name.len().min(candidate.len()) < 4 { 1 } else { 2 };
    known
        .into_iter()
        .map(|candidate| (levenshtein(&name.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= limit(candidate))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The remedy for a name that is not known: the nearest one, else what can be done without it.
pub fn did_you_mean<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    otherwise: &str,
) -> String {
    match nearest(name, known) {
        Some(meant) => format!("did you mean {meant}?"),
        None => otherwise.to_owned(),
    }
}

/// The name that a message asks for with `did you mean NAME?`, which is how every one does.
pub fn meant(message: &str) -> Option<&str> {
    let (_, after) = message.split_once("did you mean ")?;
    let (name, _) = after.split_once('?')?;
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name_and_a_stranger_does_not() {
        let known = ["endpoint", "provider", "id", "apiKey"];
        assert_eq!(nearest("endpont", known), Some("endpoint"));
        assert_eq!(nearest("apikey", known), Some("apiKey"));
        assert_eq!(nearest("temperature", known), None);
        assert_eq!(nearest("xy", known), None);
    }

    #[test]
    fn the_name_that_was_meant_is_read_back_from_the_message() {
        assert_eq!(meant("did you mean starter? known are starter, x"), Some("starter"));
        assert_eq!(meant("unknown type (did you mean vllm?)"), Some("vllm"));
        assert_eq!(meant("remove it"), None);
    }
}
