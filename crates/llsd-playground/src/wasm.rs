//! The three functions that JavaScript calls: room for a question, the question asked, the answer's
//! place. Written by hand, because texts are all that passes: a binding generator would bring a
//! program to install and code that grows with every release, for nothing.

#![expect(unsafe_code, reason = "exported names; there is no unsafe block")]

use std::cell::RefCell;

thread_local! {
    static QUESTION: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Room for a question of so many bytes, for the caller to fill.
#[unsafe(no_mangle)]
pub extern "C" fn question(bytes: usize) -> *mut u8 {
    QUESTION.with_borrow_mut(|question| {
        question.clear();
        question.resize(bytes, 0);
        question.as_mut_ptr()
    })
}

/// Asks the question, and returns the length of the answer in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn ask() -> usize {
    let answer = QUESTION.with_borrow(|question| crate::ask(question));
    ANSWER.with_borrow_mut(|place| {
        *place = answer;
        place.len()
    })
}

/// Where the answer begins.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}
