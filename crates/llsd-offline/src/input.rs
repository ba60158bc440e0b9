//! What the engine is given: texts with resources, and what is known of the world around them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use llsd_api::conversion::{Version, convert};
use llsd_plan::facts::{Facts, ImageFacts};
use llsd_plan::problems::Findings;
use llsd_plan::resource::{image, spec_of};
use llsd_yaml::{Fault, decode};

use crate::examined::Examined;
use crate::pick::contents;
use crate::report::Report;
use crate::resource::{Remark, Resource};

/// A file's name as the user wrote it, and its text unless that cannot be read as text.
#[derive(Clone, Debug)]
pub struct Source {
    pub name: String,
    pub text: Result<String, Fault>,
}

impl Source {
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { name: name.into(), text: decode(bytes) }
    }
}

/// All that was read.
#[derive(Debug, Default)]
pub struct Input {
    /// The files in the order in which findings about them are printed.
    pub files: Vec<String>,
    pub resources: Vec<Resource>,
    /// On texts that are no resource, the files of the facts among them.
    pub remarks: Vec<Remark>,
    /// Nothing where a file of the facts cannot be used; the remarks then say why.
    pub facts: Option<Facts>,
    /// What registries say of servers' images, by the image; it comes in the place of what the facts say.
    pub images: BTreeMap<String, ImageFacts>,
    /// Warnings refuse, too.
    pub strict: bool,
}

impl Input {
    /// Takes in what a file of resources holds.
    pub fn add(&mut self, source: &Source) {
        let contents = contents(&source.name, &source.text);
        self.files.push(source.name.clone());
        self.resources.extend(contents.resources);
        self.remarks.extend(contents.remarks);
    }

    /// The resources, each checked and planned as far as the facts go.
    pub fn examine(&mut self) -> Vec<Examined> {
        let resources = std::mem::take(&mut self.resources);
        let examined = resources.into_iter().map(|resource| {
            let facts = self.facts.as_ref().map(|facts| self.facts_of(&resource, facts));
            Examined::new(resource, facts.as_deref())
        });
        examined.collect()
    }

    /// The images of the servers that the resources ask for.
    pub fn requested_images(&self) -> BTreeSet<String> {
        let Some(facts) = &self.facts else { return BTreeSet::new() };
        self.resources.iter().filter_map(|resource| requested_image(resource, facts)).collect()
    }

    fn facts_of<'a>(&self, resource: &Resource, facts: &'a Facts) -> Cow<'a, Facts> {
        if self.images.is_empty() {
            return Cow::Borrowed(facts);
        }
        match requested_image(resource, facts).and_then(|image| self.images.get(&image)) {
            Some(image) => Cow::Owned(Facts { image: image.clone(), ..facts.clone() }),
            None => Cow::Borrowed(facts),
        }
    }

    /// Whether something is wrong with what was read, or with a resource.
    pub fn is_refused(&self, examined: &[Examined]) -> bool {
        self.remarks.iter().any(|remark| remark.refuses(self.strict))
            || examined.iter().any(|examined| examined.resource.summary.refuses(self.strict))
    }

    /// Everything that was found, ready to be printed; what is missing counts as a problem.
    pub fn report(&self, examined: &[Examined]) -> Report {
        Report {
            files: self.files.clone(),
            resources: examined.iter().map(Examined::summary).collect(),
            remarks: self.remarks.clone(),
            strict: self.strict,
        }
    }
}

/// The image that a resource asks for, as far as it says one.
fn requested_image(resource: &Resource, facts: &Facts) -> Option<String> {
    let object = convert(resource.to_json(), Version::V1Alpha2);
    let distribution = spec_of(&object)?.distribution;
    let wanted = image::resolve(&distribution, &facts.operator, &mut Findings::default())?;
    Some(wanted.image)
}
