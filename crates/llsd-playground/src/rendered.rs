//! One resource as the operator would run it: its files, and the origin of every line of config.yaml.

use llsd_offline::explain::origins;
use llsd_offline::render::folders;
use llsd_offline::{Configuration, Examined, Plans};
use llsd_plan::problems::Problem;
use llsd_yaml::Position;
use llsd_yaml::document::Origin;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub(crate) struct Rendered {
    title: String,
    /// Where the configuration comes from, in words.
    source: String,
    /// Of config.yaml, which is their texts.
    lines: Vec<Line>,
    files: Vec<File>,
}

#[derive(Debug, Serialize)]
struct File {
    name: String,
    text: String,
}

#[derive(Debug, Serialize)]
struct Line {
    text: String,
    kind: &'static str,
    origin: String,
    /// Where the field stands in the text.
    at: Option<Position>,
}

pub(crate) fn rendered(
    plans: &Plans,
    configurations: &[Result<Configuration<'_>, Problem>],
) -> Vec<Rendered> {
    let folders = folders(plans, configurations);
    let all = plans.all().zip(configurations).zip(folders);
    all.map(|(((examined, _), configuration), folder)| {
        let explained = |document| {
            let lines = origins(examined, document).into_iter();
            lines.map(|line| Line::new(line.text, &line.origin, examined)).collect()
        };
        let (source, lines) = match configuration {
            Ok(Configuration::Generated { generated, base }) => {
                (base.clone(), explained(&generated.document))
            }
            Ok(Configuration::Merged { merged, source }) => {
                (source.clone(), explained(&merged.document))
            }
            Ok(Configuration::Unchanged { text, source }) => {
                let lines = text.lines();
                let lines = lines.map(|line| Line::new(line.to_owned(), &Origin::Base, examined));
                (source.clone(), lines.collect())
            }
            Err(missing) => (missing.message.clone(), Vec::new()),
        };
        let files = folder.files.into_iter().chain(folder.objects);
        let files = files.map(|(name, text)| File { name, text }).collect();
        Rendered { title: examined.title(), source, lines, files }
    })
    .collect()
}

impl Line {
    fn new(text: String, origin: &Origin, examined: &Examined) -> Self {
        let (kind, at) = match origin {
            Origin::Base => ("base", None),
            Origin::Rule(_) => ("rule", None),
            Origin::Field(path) => ("field", Some(examined.resource.tree.position(path))),
        };
        Self { text, kind, origin: origin.to_string(), at }
    }
}
