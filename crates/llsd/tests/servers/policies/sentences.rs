//! Sentences that are conditions, and ones that nearly are.

const SENTENCES: [&str; 8] = [
    "user is owner",
    "user is not owner",
    "user in owners teams",
    "user not in owners roles",
    "user with admin in roles",
    "user with admin not in roles",
    "resource is unowned",
    "user with not in teams",
];
const WORDS: [&str; 10] =
    ["user", "is", "not", "owner", "owners", "in", "with", "resource", "unowned", "User"];
const SPACES: [&str; 7] = [" ", "  ", "\t", "\n", "\u{a0}", "\u{1c}", "\u{200b}"];

pub(super) fn generate(random: &mut fastrand::Rng) -> String {
    let mut words: Vec<&str> = SENTENCES[random.usize(..SENTENCES.len())].split(' ').collect();
    let at = random.usize(..words.len());
    match random.u8(..8) {
        0 => {
            words.remove(at);
        }
        1 => words.insert(at, WORDS[random.usize(..WORDS.len())]),
        2 => words[at] = WORDS[random.usize(..WORDS.len())],
        3 => words.swap(at, 0),
        _ => {}
    }
    let mut text = String::new();
    for word in words {
        text.push_str(word);
        let space = if random.u8(..6) == 0 { random.usize(..SPACES.len()) } else { 0 };
        text.push_str(SPACES[space]);
    }
    if random.bool() { text.trim_end().to_owned() } else { text }
}
