//! What a person has chosen to see, what a key changes of it, and the page that comes of it. No terminal.

use super::rows::Row;
use super::table::{Column, chosen, cut, lines};

const HELP: &str = "q quit  ↑↓ select  s sort  r reverse  / filter";

/// What is shown, and how.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    pub(super) sort: Column,
    pub(super) reversed: bool,
    pub(super) filter: String,
    /// Keys are part of the filter.
    pub(super) typing: bool,
    pub(super) selected: usize,
    /// Somebody counts requests.
    pub(super) with_requests: bool,
}

/// A key, as far as it means something here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Character(char),
    Up,
    Down,
    Enter,
    Escape,
    Backspace,
    Interrupt,
}

/// A page: the lines of it, and which of them is the selected row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) lines: Vec<String>,
    pub(super) selected: Option<usize>,
}

impl View {
    /// Takes a key; whether the program goes on.
    pub(super) fn press(&mut self, key: Key) -> bool {
        match (key, self.typing) {
            (Key::Interrupt, _) | (Key::Character('q') | Key::Escape, false) => return false,
            (Key::Escape, true) => {
                self.filter.clear();
                self.typing = false;
            }
            (Key::Enter, true) => self.typing = false,
            (Key::Backspace, true) => drop(self.filter.pop()),
            (Key::Character(c), true) => self.filter.push(c),
            (Key::Character('/'), false) => self.typing = true,
            (Key::Character('s'), false) => {
                self.sort = self.sort.next(&Column::shown(self.with_requests));
            }
            (Key::Character('r'), false) => self.reversed = !self.reversed,
            (Key::Down | Key::Character('j'), _) => self.selected = self.selected.saturating_add(1),
            (Key::Up | Key::Character('k'), _) => self.selected = self.selected.saturating_sub(1),
            (Key::Character(_) | Key::Enter | Key::Backspace, false) => {}
        }
        true
    }

    /// The page for a terminal of this size; `trouble` is why what is shown may be old.
    pub(super) fn page(&mut self, all: &[Row], trouble: &str, width: usize, height: usize) -> Page {
        let rows = chosen(all, &self.filter, self.sort, self.reversed);
        self.selected = self.selected.min(rows.len().saturating_sub(1));
        let columns = Column::shown(self.with_requests);
        let mut table = lines(&rows, &columns, Some((self.sort, self.reversed)), width).into_iter();
        let details = wrapped(rows.get(self.selected).map_or("", |row| &row.problem), width);
        // The head, the titles and the foot, and below the table what is wrong with the selected one.
        let room = height.saturating_sub(3 + details.len()).max(1);
        let first = (self.selected + 1).saturating_sub(room);
        let mut page = vec![cut(&self.head(all, rows.len(), trouble), width)];
        page.extend(table.next());
        page.extend(table.skip(first).take(room));
        let selected = (!rows.is_empty()).then(|| 2 + self.selected - first);
        page.resize(height.saturating_sub(1 + details.len()).max(page.len()), String::new());
        page.extend(details);
        page.push(cut(&self.foot(), width));
        page.truncate(height);
        Page { lines: page, selected }
    }

    fn head(&self, all: &[Row], shown: usize, trouble: &str) -> String {
        let ready = all.iter().filter(|row| row.phase == "Ready").count();
        let failed = all.iter().filter(|row| row.phase == "Failed").count();
        let mut head = format!("{} servers, {ready} ready, {failed} failed", all.len());
        if !self.filter.is_empty() {
            head = format!("{head}; {shown} shown");
        }
        if trouble.is_empty() { head } else { format!("{head}; not up to date: {trouble}") }
    }

    fn foot(&self) -> String {
        match (self.typing, self.filter.is_empty()) {
            (true, _) => format!("filter: {}█  (Enter keeps it, Esc clears it)", self.filter),
            (false, true) => HELP.to_owned(),
            (false, false) => format!("{HELP} ({})", self.filter),
        }
    }
}

/// The text in lines, three at most.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let lines = characters.chunks(width.max(1)).take(3);
    lines.map(|line| cut(&line.iter().collect::<String>(), width)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: usize) -> Vec<Row> {
        let row = |at: usize| Row {
            namespace: "team".into(),
            name: format!("server-{at:02}"),
            phase: if at == 0 { "Failed" } else { "Ready" }.into(),
            problem: if at == 0 { "something is wrong" } else { "" }.into(),
            ..Row::default()
        };
        (0..count).map(row).collect()
    }

    fn typed(view: &mut View, keys: &str) {
        for key in keys.chars() {
            assert!(view.press(Key::Character(key)));
        }
    }

    #[test]
    fn a_page_fills_the_terminal_and_the_selected_row_is_on_it() {
        let mut view = View::default();
        let page = view.page(&rows(30), "", 80, 10);
        assert_eq!((page.lines.len(), page.selected), (10, Some(2)));
        assert_eq!(page.lines[0], "30 servers, 29 ready, 1 failed");
        assert_eq!(page.lines[8], "something is wrong", "of the selected row");
        for _ in 0..100 {
            view.press(Key::Down);
        }
        let page = view.page(&rows(30), "", 80, 10);
        assert!(page.lines[page.selected.unwrap()].contains("server-29"), "{page:?}");
        view.press(Key::Up);
        let page = view.page(&rows(30), "", 80, 10);
        assert!(page.lines[page.selected.unwrap()].contains("server-28"), "{page:?}");
    }

    #[test]
    fn keys_filter_and_sort() {
        let mut view = View::default();
        typed(&mut view, "/er-1q");
        assert!(
            view.page(&rows(30), "", 80, 40).lines[0].ends_with("; 0 shown"),
            "q is a letter here"
        );
        view.press(Key::Backspace);
        view.press(Key::Enter);
        let page = view.page(&rows(30), "", 80, 40);
        assert!(page.lines[0].ends_with("; 10 shown"), "{page:?}");
        assert!(page.lines.last().unwrap().ends_with("(er-1)"), "{page:?}");
        typed(&mut view, "sr");
        let page = view.page(&rows(30), "", 80, 40);
        assert!(page.lines[1].contains("NAME▼") && page.lines[2].contains("server-19"), "{page:?}");
        typed(&mut view, "/");
        view.press(Key::Escape);
        assert!(view.page(&rows(30), "", 80, 40).lines[0].ends_with("1 failed"));
        assert!(!view.press(Key::Character('q')));
        assert!(!view.press(Key::Interrupt));
    }

    #[test]
    fn a_tiny_terminal_and_no_rows_are_no_trouble() {
        for (width, height) in [(0, 0), (1, 1), (5, 2), (80, 3)] {
            for count in [0, 3] {
                let page =
                    View::default().page(&rows(count), "the API server is away", width, height);
                assert!(page.lines.len() <= height, "{page:?}");
                assert!(page.lines.iter().all(|line| line.chars().count() <= width), "{page:?}");
            }
        }
    }
}
