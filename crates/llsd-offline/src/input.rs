//! What the engine is given: texts with resources, and what is known of the world around them.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use llsd_api::conversion::{Version, convert};
use llsd_plan::facts::{Facts, ImageFacts};
use llsd_plan::problems::{FieldPath, Findings, Reason};
use llsd_plan::resource::{image, spec_of};

use crate::examined::Examined;
use crate::finding::Finding;
use crate::pick::read_all;
use crate::report::Report;
use crate::resource::{Remark, Resource};
use crate::source::Source;

/// All that was read.
#[derive(Clone, Debug, Default)]
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
        self.add_all(std::slice::from_ref(source));
    }

    /// Takes in what the files hold.
    pub fn add_all(&mut self, sources: &[Source]) {
        for (source, contents) in sources.iter().zip(read_all(sources)) {
            self.files.push(source.name.clone());
            self.resources.extend(contents.resources);
            self.remarks.extend(contents.remarks);
        }
    }

    /// Puts every resource into a namespace, unless it names one itself. Another one is a problem.
    pub fn place_in(&mut self, namespace: &str) {
        for resource in &mut self.resources {
            resource.place_in(namespace);
        }
    }

    /// The resources, each checked and planned as far as the facts go.
    pub fn examine(&mut self) -> Vec<Examined> {
        let mut resources = std::mem::take(&mut self.resources);
        remark_on_repeated(&mut resources);
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
            lacks_facts: self.facts.is_none() && !self.remarks.is_empty(),
        }
    }
}

/// A resource that stands in the input twice: applied one after the other, only the last one counts.
fn remark_on_repeated(resources: &mut [Resource]) {
    let path = FieldPath::root().key("metadata").key("name");
    let mut seen = HashMap::new();
    for resource in resources {
        let Some(name) = resource.summary.name.clone() else { continue };
        let key = (resource.summary.namespace.clone(), name);
        let at = resource.tree.position(&path);
        let place = format!("{}:{}", resource.summary.file, at.line);
        match seen.entry(key) {
            Entry::Vacant(first) => drop(first.insert(place)),
            Entry::Occupied(first) => {
                let title = resource.summary.title();
                let message = format!(
                    "{title} is also in {}; the one that is applied last counts",
                    first.get()
                );
                resource.summary.warnings.push(Finding::new(
                    path.clone(),
                    Reason::Duplicate,
                    message,
                    "keep one of them, or give one another name",
                    at,
                ));
            }
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
