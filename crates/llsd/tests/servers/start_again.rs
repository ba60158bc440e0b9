//! A server that is started once more in the same pod: its file is checked first, and what is found
//! becomes the container's last words.

use std::fs;

use super::image::{Image, stderr};

/// In the place of the preflight: refuses, and says one thing that is no reason to end.
const REFUSES: &str = r#"
import json
problems = [
    {"kind": "schema", "path": "server.port", "message": "Input should be a valid integer"},
    {"kind": "dropped", "path": "x", "message": "ignored"},
]
print(json.dumps({"verdict": "refused", "problems": problems}))
"#;

#[test]
fn a_start_that_failed_is_checked_before_the_next_and_a_first_one_is_not() {
    let Some(image) = Image::installed("0.7.3") else { return };
    let words = image.path().join("last-words");
    fs::create_dir(image.path().join("record")).unwrap();
    let record = image.path().join("record").display().to_string();
    let log = words.display().to_string();
    let env = [("LLS_START_RECORD", record.as_str()), ("LLS_TERMINATION_LOG", &log)];
    image.write("preflight.py", REFUSES);
    let first = image.start("version: 2", &env);
    assert!(first.status.success() && !stderr(&first).contains("error"), "{}", stderr(&first));
    assert!(!words.exists());

    let second = image.start("version: 2", &env);
    let expected = "start: error: server.port: Input should be a valid integer\n";
    // The server is tried all the same: it decides.
    assert!(second.status.success(), "{}", stderr(&second));
    assert!(stderr(&second).contains(expected), "{}", stderr(&second));
    assert_eq!(fs::read_to_string(&words).unwrap(), expected);
}

#[test]
fn a_check_that_fails_or_finds_nothing_leaves_the_last_words_to_the_server() {
    let Some(image) = Image::installed("0.7.3") else { return };
    let words = image.path().join("last-words");
    let log = words.display().to_string();
    let record = image.path().display().to_string();
    let env = [("LLS_START_RECORD", record.as_str()), ("LLS_TERMINATION_LOG", &log)];
    let good = "print('{\"verdict\": \"good\", \"problems\": []}')";
    for program in ["raise SystemExit(3)", good] {
        image.write("preflight.py", program);
        for _ in 0..2 {
            let done = image.start("version: 2", &env);
            assert!(done.status.success(), "{}", stderr(&done));
        }
        assert!(!words.exists());
    }
}
