//! The terminal: taken whole, given back however the program ends, and read key by key.

use std::io::{self, Write};

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::{cursor, execute, queue, style, terminal};
use tokio::sync::mpsc;

use super::view::{Key, Page};

/// The terminal while the program has it; dropping gives it back.
#[derive(Debug)]
pub(super) struct Taken;

impl Taken {
    pub(super) fn take() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        let taken = Self;
        execute!(io::stdout(), terminal::EnterAlternateScreen, cursor::Hide)?;
        Ok(taken)
    }

    /// The page from the top left corner on. Each line clears what was behind it, so nothing flickers.
    pub(super) fn show(page: &Page, colours: bool) -> io::Result<()> {
        let mut out = io::stdout().lock();
        queue!(out, cursor::MoveTo(0, 0))?;
        for (at, line) in page.lines.iter().enumerate() {
            let row = u16::try_from(at).unwrap_or(u16::MAX);
            queue!(out, cursor::MoveTo(0, row))?;
            if page.selected == Some(at) || at == 1 {
                queue!(out, style::SetAttribute(style::Attribute::Reverse))?;
            } else if let Some(colour) = colour(line).filter(|_| colours && at > 1) {
                queue!(out, style::SetForegroundColor(colour))?;
            }
            queue!(
                out,
                style::Print(line),
                style::SetAttribute(style::Attribute::Reset),
                terminal::Clear(terminal::ClearType::UntilNewLine)
            )?;
        }
        queue!(out, terminal::Clear(terminal::ClearType::FromCursorDown))?;
        out.flush()
    }

    pub(super) fn size() -> (usize, usize) {
        let (width, height) = terminal::size().unwrap_or((80, 24));
        (width.into(), height.into())
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // There is nowhere left to report that the terminal itself fails.
        let _ = execute!(io::stdout(), cursor::Show, terminal::LeaveAlternateScreen);
        let _ = terminal::disable_raw_mode();
    }
}

fn colour(line: &str) -> Option<style::Color> {
    let has = |word: &str| line.split_whitespace().any(|found| found == word);
    if has("Failed") {
        Some(style::Color::Red)
    } else if has("Pending") || has("Initializing") || has("Terminating") {
        Some(style::Color::Yellow)
    } else {
        None
    }
}

/// Keys as they are pressed, `None` where the page has to be drawn again. Ends with the terminal.
pub(super) fn keys() -> mpsc::Receiver<Option<Key>> {
    let (send, receive) = mpsc::channel(16);
    // A thread of its own: reading a terminal blocks, and ends with the process.
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            let key = match event {
                Event::Key(key) if key.kind != KeyEventKind::Release => match known(key) {
                    Some(key) => Some(key),
                    None => continue,
                },
                Event::Resize(..) => None,
                _ => continue,
            };
            if send.blocking_send(key).is_err() {
                return;
            }
        }
    });
    receive
}

fn known(key: KeyEvent) -> Option<Key> {
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Key::Interrupt),
        KeyCode::Char(c) => Some(Key::Character(c)),
        KeyCode::Up => Some(Key::Up),
        KeyCode::Down => Some(Key::Down),
        KeyCode::Enter => Some(Key::Enter),
        KeyCode::Esc => Some(Key::Escape),
        KeyCode::Backspace => Some(Key::Backspace),
        _ => None,
    }
}
