//! The config.yaml that a planned resource runs with: a generated one, or one that is handed on
//! unchanged, as far as the facts hold it.

use llsd_plan::config::{Generated, Merged};
use llsd_plan::facts::{BaseFacts, BaseSource, Facts};
use llsd_plan::plan::not_known_offline;
use llsd_plan::problems::{FieldPath, Problem, Reason};
use llsd_plan::values::sha256;

use crate::examined::Planned;

#[derive(Debug)]
pub enum Configuration<'a> {
    /// With a description of its base.
    Generated { generated: &'a Generated, base: String },
    /// A file of the user's own with external providers, and a description of that file.
    Merged { merged: &'a Merged, source: String },
    /// With a description of where it comes from.
    Unchanged { text: String, source: String },
}

impl Configuration<'_> {
    pub fn text(&self) -> &str {
        match self {
            Self::Generated { generated, .. } => &generated.text,
            Self::Merged { merged, .. } => &merged.text,
            Self::Unchanged { text, .. } => text,
        }
    }
}

/// The configuration, or what is missing for it.
pub(crate) fn configuration<'a>(
    planned: &'a Planned,
    facts: &Facts,
) -> Result<Configuration<'a>, Problem> {
    let plan = &planned.plan;
    if let Some(generated) = &plan.generated {
        let base = plan.base.as_ref().map(|base| described(base, planned)).unwrap_or_default();
        return Ok(Configuration::Generated { generated, base });
    }
    if let Some(name) = planned.object.pointer("/spec/overrideConfig/configMapName") {
        let own = own_file(name.as_str().unwrap_or_default(), facts)?;
        return Ok(match (&plan.merged, own) {
            (Some(merged), Configuration::Unchanged { source, .. }) => {
                Configuration::Merged { merged, source }
            }
            (_, own) => own,
        });
    }
    let base = planned.image.base.clone().or_else(|| plan.image.embedded_base(&planned.image));
    let base = base.ok_or_else(|| {
        let image = &plan.image.image;
        not_known_offline(
            &plan.image,
            format!("the server runs the configuration inside {image}, which is not known offline"),
        )
    })?;
    let source = format!("the image's own configuration; {}", described(&base, planned));
    Ok(Configuration::Unchanged { text: base.text, source })
}

fn own_file<'a>(name: &str, facts: &Facts) -> Result<Configuration<'a>, Problem> {
    let data = facts.config_maps.get(name).map(|found| &found.data);
    let file = ["config.yaml", "run.yaml"].into_iter().find_map(|key| Some((key, data?.get(key)?)));
    match file {
        Some((key, text)) => Ok(Configuration::Unchanged {
            text: text.clone(),
            source: format!("the file {key} of the ConfigMap {name}, sha256:{}", sha256::hex(text)),
        }),
        None => Err(Problem {
            path: FieldPath::spec().key("overrideConfig").key("configMapName"),
            reason: Reason::Unavailable,
            message: format!("only the cluster has the ConfigMap {name}"),
            remedy: format!("give its content with --facts, under configMaps.{name}.data"),
        }),
    }
}

fn described(base: &BaseFacts, planned: &Planned) -> String {
    let image = &planned.plan.image;
    let found_in = base.found_in.as_deref().unwrap_or("no place that the facts name");
    let place = match base.source {
        BaseSource::Embedded => {
            let name = image.described_by(&planned.image).unwrap_or_default();
            format!("the distribution {name}, {found_in}")
        }
        BaseSource::Labels => format!("the label {found_in} of {}", image.image),
        BaseSource::Layer => format!("a layer of {}, named by the label {found_in}", image.image),
        BaseSource::File => format!("the file {found_in}"),
    };
    format!("base: {place}, sha256:{}", sha256::hex(&base.text))
}
