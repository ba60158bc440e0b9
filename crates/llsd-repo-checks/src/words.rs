//! Words and turns that texts of this repository avoid. `docs/writing.md` lists them; here they are read from that
//! page and looked for in Markdown.

/// The heading of the list.
const HEADING: &str = "## Words that we do not use";

/// The most words that `…` stands for.
const GAP: usize = 4;

/// A row of the list.
#[derive(Debug)]
pub struct Avoided {
    turns: Vec<Turn>,
    /// What to write instead.
    pub instead: String,
    /// Longer turns in which these are fine.
    allowed: Vec<Turn>,
}

/// A turn that the list avoids, in a text.
#[derive(Debug, PartialEq, Eq)]
pub struct Use {
    pub line: usize,
    pub turn: String,
    pub instead: String,
}

/// Words in a row; `…` is a gap.
#[derive(Debug)]
struct Turn {
    text: String,
    words: Vec<String>,
}

/// A word of a text.
struct Word {
    text: String,
    line: usize,
    /// No turn reaches beyond it: it ends a sentence, a cell or a paragraph.
    is_last: bool,
}

/// Reads the list.
pub fn avoided(page: &str) -> Vec<Avoided> {
    let section = page.split_once(HEADING).map_or("", |(_, section)| section);
    let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix('|'));
    let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<&str>>());
    cells
        .filter(|cells| cells.len() == 3 && cells[0].starts_with('`'))
        .map(|cells| Avoided {
            turns: turns(cells[0]),
            instead: cells[1].to_owned(),
            allowed: turns(cells[2]),
        })
        .collect()
}

/// The code spans of a cell.
fn turns(cell: &str) -> Vec<Turn> {
    let spans = cell.split('`').skip(1).step_by(2);
    spans
        .map(|text| Turn {
            text: text.to_owned(),
            words: text.split_whitespace().map(str::to_lowercase).collect(),
        })
        .collect()
}

/// Every use of what the list avoids, in a page's order; code, addresses of links and comments aside.
pub fn uses(list: &[Avoided], page: &str) -> Vec<Use> {
    let words = words(&prose(page));
    let mut found = Vec::new();
    for start in 0..words.len() {
        for row in list {
            let turns = row.turns.iter().filter_map(|turn| Some((turn, turn.end(&words, start)?)));
            found.extend(turns.filter(|(_, end)| !row.allows(&words, start, *end)).map(
                |(turn, _)| Use {
                    line: words[start].line,
                    turn: turn.text.clone(),
                    instead: row.instead.clone(),
                },
            ));
        }
    }
    found
}

impl Avoided {
    /// Whether a longer turn, in which these words are fine, reaches over them.
    fn allows(&self, words: &[Word], start: usize, end: usize) -> bool {
        self.allowed.iter().any(|turn| {
            (start.saturating_sub(turn.words.len())..=start)
                .any(|first| turn.end(words, first).is_some_and(|last| last >= end))
        })
    }
}

impl Turn {
    /// The end of the turn where it begins at a word of the text.
    fn end(&self, text: &[Word], start: usize) -> Option<usize> {
        matched(&self.words, text, start)
    }
}

fn matched(turn: &[String], text: &[Word], start: usize) -> Option<usize> {
    let Some((first, rest)) = turn.split_first() else { return Some(start) };
    if first == "…" {
        let gap = text.get(start..)?.iter().take(GAP).take_while(|word| !word.is_last).count();
        return (1..=gap).find_map(|skipped| matched(rest, text, start + skipped));
    }
    let word = text.get(start)?;
    let fits = word.text == *first && (rest.is_empty() || !word.is_last);
    if fits { matched(rest, text, start + 1) } else { None }
}

/// The page with blanks for code and comments, line by line as it was.
fn prose(page: &str) -> String {
    let mut text = String::new();
    let mut fence: Option<&str> = None;
    for line in page.lines() {
        let begin = line.trim_start();
        match fence {
            Some(mark) if begin.starts_with(mark) => fence = None,
            Some(_) => {}
            None => match ["```", "~~~"].into_iter().find(|mark| begin.starts_with(mark)) {
                Some(mark) => fence = Some(mark),
                None => text.push_str(&without_code(line)),
            },
        }
        text.push('\n');
    }
    text
}

/// A line without its code spans, comments and addresses of links.
fn without_code(line: &str) -> String {
    let mut text = String::new();
    for (index, part) in line.split('`').enumerate() {
        text.push_str(if index % 2 == 0 { part } else { "`code`" });
    }
    for (begin, end) in [("](", ")"), ("<!--", "-->")] {
        while let Some((before, rest)) = text.split_once(begin) {
            let after = rest.split_once(end).map_or("", |(_, after)| after);
            text = format!("{before} {after}");
        }
    }
    text
}

fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let is_new = line.trim().is_empty() || line.trim_start().starts_with(['|', '-', '#', '>']);
        if let Some(word) = words.last_mut().filter(|_| is_new) {
            word.is_last = true;
        }
        for part in line.split_whitespace() {
            let word: &str = part.trim_matches(|c: char| !c.is_alphanumeric() && c != '`');
            if word.is_empty() {
                // A bar between cells, or a dash.
                if let Some(word) = words.last_mut() {
                    word.is_last = true;
                }
                continue;
            }
            let is_last =
                part.trim_end_matches(['*', '_', '"', ')']).ends_with(['.', ':', ';', '?']);
            words.push(Word { text: word.to_lowercase(), line: index + 1, is_last });
        }
    }
    words
}
