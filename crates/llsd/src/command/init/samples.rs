//! The samples of `deploy/samples`, as part of the program. Each begins with a line on what it shows, and one on
//! what it needs.

macro_rules! samples {
    ($($name:literal)*) => {
        &[$(Sample {
            file: $name,
            text: include_str!(concat!("../../../../../deploy/samples/", $name, ".yaml")),
        }),*]
    };
}

/// One sample.
#[derive(Debug)]
pub(super) struct Sample {
    /// Its file, without the ending.
    file: &'static str,
    pub(super) text: &'static str,
}

/// Those to start from, then what the rest of the documentation shows of migration.
#[rustfmt::skip]
pub(super) const SAMPLES: &[Sample] = samples!(
    "v1alpha2-simple" "v1alpha2-quickstart" "v1alpha2-access" "v1alpha2-azure"
    "v1alpha2-ca-bundle" "v1alpha2-custom-image" "v1alpha2-default-config" "v1alpha2-disabled"
    "v1alpha2-embedding-model" "v1alpha2-expose-default" "v1alpha2-expose-gateway"
    "v1alpha2-expose-hostname" "v1alpha2-external-providers" "v1alpha2-full"
    "v1alpha2-high-availability" "v1alpha2-multi-provider" "v1alpha2-ogx"
    "v1alpha2-override-config" "v1alpha2-pod-settings" "v1alpha2-postgres"
    "v1alpha2-redis-postgres" "v1alpha2-slow-start" "v1alpha2-telemetry" "v1alpha2-tls"
    "v1alpha2-tools-and-shields" "v1alpha2-vector-store"
    "v1alpha1-autoscaling" "v1alpha1-basic" "v1alpha1-network" "v1alpha1-ollama"
    "v1alpha1-ollama-volume" "v1alpha1-override-config" "v1alpha1-vllm-api-key"
    "v1alpha1-with-ca-bundle" "v1alpha1-with-network" "v1alpha1-with-user-config"
    "v1alpha2-migrated-autoscaling" "v1alpha2-migrated-network" "v1alpha2-migrated-ollama"
    "v1alpha2-migrated-ollama-volume" "v1alpha2-migrated-override-config"
    "v1alpha2-migrated-vllm-api-key"
);

impl Sample {
    /// The version that all new resources have goes without saying.
    pub(super) fn name(&self) -> &'static str {
        self.file.strip_prefix("v1alpha2-").unwrap_or(self.file)
    }

    /// What it shows, in its own words.
    pub(super) fn shows(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches("# ")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_sample_is_in_the_program() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/samples");
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
        let files = files.map(|name| name.into_string().unwrap());
        let files: BTreeSet<String> =
            files.filter_map(|name| Some(name.strip_suffix(".yaml")?.to_owned())).collect();
        let known: BTreeSet<String> = SAMPLES.iter().map(|sample| sample.file.to_owned()).collect();
        assert_eq!(files, known);
    }

    #[test]
    fn every_sample_says_what_it_shows_and_needs() {
        for sample in SAMPLES {
            let mut lines = sample.text.lines();
            assert!(lines.next().unwrap().starts_with("# "), "{}", sample.file);
            assert!(lines.next().unwrap().starts_with("# Needs "), "{}", sample.file);
        }
    }
}
