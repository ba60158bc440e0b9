//! Any image labels: no panic, and what is found keeps to its limit and to the image.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llsd_registry::labels::{FILE_FAMILIES, INLINE, LAYER, Labels, Location, PATH, locate};

fuzz_target!(|values: (
    Option<String>,
    Option<String>,
    Option<String>,
    [Option<(String, String)>; 2]
)| {
    let (inline, layer, path, files) = values;
    let plain = [(INLINE, inline), (LAYER, layer), (PATH, path)];
    let mut labels: Labels =
        plain.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
    for (family, file) in FILE_FAMILIES.iter().zip(files) {
        if let Some((name, content)) = file {
            labels.insert(format!("{family}.config.{name}"), content);
            labels.insert(format!("{family}.distribution.default-config"), name);
        }
    }
    match locate(&labels, 100) {
        Ok(Some(Location::Inline { text, .. })) => assert!(!text.is_empty() && text.len() <= 100),
        Ok(Some(Location::InLayer { path, .. })) => {
            assert!(
                !path.is_empty() && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
            );
        }
        Ok(None) | Err(_) => {}
    }
});
