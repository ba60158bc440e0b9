//! What is said of the world around the resources, text by text: later texts win over earlier ones,
//! and one that cannot be used leaves a remark in the place of facts.

use llsd_plan::facts::Facts;

use crate::facts_file::{base, facts};
use crate::finding::Finding;
use crate::input::Input;
use crate::resource::Remark;
use crate::source::Source;

#[derive(Debug, Default)]
pub struct Known {
    files: Vec<String>,
    pub facts: Facts,
    remarks: Vec<Remark>,
}

impl Known {
    /// Facts as YAML; they replace what was known.
    pub fn add_facts(&mut self, source: Source) {
        if let Some(facts) = self.parse_file(source, |_, text| facts(text)) {
            self.facts = facts;
        }
    }

    /// The configuration inside the image.
    pub fn add_base(&mut self, source: Source) {
        if let Some(base) = self.parse_file(source, base) {
            self.facts.image.base = Some(base);
        }
    }

    /// What `reader` makes of the text, or nothing and a remark.
    pub fn parse_file<T>(
        &mut self,
        source: Source,
        reader: impl Fn(&str, &str) -> Result<T, Finding>,
    ) -> Option<T> {
        let Source { name, text, .. } = source;
        self.files.push(name.clone());
        let text = text.map_err(|fault| Finding::of_text(&fault));
        let content = text.and_then(|text| reader(&name, &text));
        content.map_err(|finding| self.remark(name, finding)).ok()
    }

    pub fn remark(&mut self, file: String, finding: Finding) {
        let remark = Remark { file, document: None, problems: vec![finding], warnings: Vec::new() };
        self.remarks.push(remark);
    }

    /// An input that has no resources yet, and no facts where a text could not be used.
    pub fn into_input(self) -> Input {
        let Self { files, facts, remarks } = self;
        let facts = Some(facts).filter(|_| remarks.is_empty());
        Input { files, remarks, facts, ..Input::default() }
    }
}
