//! One span that has ended.

use std::time::SystemTime;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedSpan {
    pub trace: u128,
    pub id: u64,
    /// Of the span that this one is a part of.
    pub parent: Option<u64>,
    pub name: &'static str,
    pub began: SystemTime,
    pub over: SystemTime,
    pub attributes: Vec<(&'static str, Attribute)>,
    pub is_error: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attribute {
    Text(String),
    Number(i64),
}
