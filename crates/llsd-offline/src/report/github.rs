//! The report as workflow commands of GitHub Actions: printed by a step, each becomes a remark beside its line
//! of the change.
//!
//! ```text
//! ::error file=stack.yaml,line=16,col=11,title=Invalid::spec.networking.port: …%0A→ …
//! ```

use std::fmt::Write;

use llsd_yaml::Position;

use super::summary::Report;

impl Report {
    pub fn to_github(&self) -> String {
        let mut text = String::new();
        for line in self.in_order() {
            let level = if line.warning { "warning" } else { "error" };
            let Position { line: row, column } = line.finding.at;
            let _ = writeln!(
                text,
                "::{level} file={},line={row},col={column},title={:?}::{}",
                property(line.file),
                line.finding.problem.reason,
                data(&line.said_with_remedy(self.has_several())),
            );
        }
        text
    }
}

/// A command ends with its line, and `%` begins what stands for a character.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// In front of the message, `:` and `,` separate.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_ends_a_command() {
        assert_eq!(data("100 %\r\nb: c, d"), "100 %25%0D%0Ab: c, d");
        assert_eq!(property("a,b:c\n.yaml"), "a%2Cb%3Ac%0A.yaml");
    }
}
