//! Who imports whom among the programs in Python that a crate carries: those of one folder import each
//! other by the names of their files.

use std::fs::{read_dir, read_to_string};
use std::path::Path;

use crate::arrows::Arrow;

/// All arrows between files in Python of a crate, as paths below the crate's folder.
pub fn python_arrows(of: &Path) -> Arrow {
    let mut found = Arrow::new();
    collect(of, of, &mut found);
    found
}

fn collect(of: &Path, folder: &Path, found: &mut Arrow) {
    for entry in read_dir(folder).into_iter().flatten() {
        let file = entry.expect("readable").path();
        if file.is_dir() {
            collect(of, &file, found);
        } else if file.extension().is_some_and(|extension| extension == "py") {
            let text = read_to_string(&file).expect("a program is text");
            let beside = |name: &str| file.with_file_name(format!("{name}.py"));
            for name in text.lines().filter_map(imported).filter(|name| beside(name).is_file()) {
                let below = |file: &Path| file.strip_prefix(of).unwrap_or(file).to_owned();
                let arrow = (below(&file), below(&beside(name)));
                found.entry(arrow).or_default().insert(name.to_owned());
            }
        }
    }
}

/// The module that a line imports; a program here imports one in a line.
fn imported(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    matches!(words.next()?, "import" | "from").then(|| words.next())?
}
