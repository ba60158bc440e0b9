//! Finds the known name that a misspelt one was probably meant to be.

use strsim::{levenshtein, osa_distance};

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

/// How long a word has to be for a slip to be sure: with another letter, a shorter one is easily another word.
const SHORTEST: usize = 4;

/// Whether `name` is surely `known` with one slip of the fingers: a letter dropped, added, changed, or swapped
/// with the next one, within one of its words. Another word, another number, or one word more is a name of
/// its own.
pub fn is_slip(name: &str, known: &str) -> bool {
    let [name, known] = [name, known].map(str::to_lowercase);
    let words = |text: &str| -> Vec<String> { text.split(['-', '_']).map(str::to_owned).collect() };
    let (written, meant) = (words(&name), words(&known));
    let digits = |word: &str| -> String { word.chars().filter(char::is_ascii_digit).collect() };
    let mut different = written.iter().zip(&meant).filter(|(written, meant)| written != meant);
    let Some((wrong, right)) = different.next() else { return false };
    written.len() == meant.len()
        && different.next().is_none()
        && right.chars().count() >= SHORTEST
        && digits(wrong) == digits(right)
        && osa_distance(wrong, right) == 1
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
    fn one_letter_of_one_word_is_a_slip() {
        for (name, known) in [
            ("vlm", "vllm"),
            ("vvllm", "vllm"),
            ("ollma", "ollama"),
            ("olalma", "ollama"),
            ("evall", "eval"),
            ("Evla", "eval"),
            ("sentence-transformer", "sentence-transformers"),
            ("brave-serach", "brave-search"),
        ] {
            assert!(is_slip(name, known), "{name} {known}");
        }
    }

    #[test]
    fn another_word_or_number_is_no_slip() {
        for (name, known) in [
            ("vllm", "vllm"),
            ("tei", "tgi"),
            ("jina-search", "bing-search"),
            ("serper-search", "serply-search"),
            ("xai-search", "exa-search"),
            ("pymupdf", "pypdf"),
            ("vllm-2", "vllm"),
            ("vllm2", "vllm"),
            ("my-vllm", "vllm"),
            ("brav-serach", "brave-search"),
        ] {
            assert!(!is_slip(name, known), "{name} {known}");
        }
    }

    #[test]
    fn the_name_that_was_meant_is_read_back_from_the_message() {
        assert_eq!(meant("did you mean starter? known are starter, x"), Some("starter"));
        assert_eq!(meant("unknown type (did you mean vllm?)"), Some("vllm"));
        assert_eq!(meant("remove it"), None);
    }
}
