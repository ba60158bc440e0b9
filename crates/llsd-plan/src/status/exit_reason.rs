//! Why a container ended, from the last lines that it wrote. Those may hold values of Secrets, for
//! servers quote what they refuse. So nothing of them is passed on but what cannot be such a value:
//! names of errors, packages and fields, and our own words.

use super::messages::bounded;

/// More than any name of a package needs.
const TEXT_BYTES: usize = 200;
/// The start program may speak of several fields.
const OUR_BYTES: usize = 1000;

/// What the start program puts before its complaints, which quote no values.
const OF_THE_START_PROGRAM: &str = "start: error: ";

/// Errors of the system whose class alone does not explain them.
const SYSTEM: [(&str, &str); 8] = [
    ("[Errno 2]", "no such file or directory"),
    ("[Errno 13]", "permission denied"),
    ("[Errno 28]", "no space left on device"),
    ("[Errno 30]", "read-only file system"),
    ("[Errno 98]", "address already in use"),
    ("[Errno 113]", "no route to host"),
    ("[Errno -2]", "name or service not known"),
    ("[Errno -3]", "temporary failure in name resolution"),
];

/// What SQLite says of its files, which SQLAlchemy puts behind the name of SQLite's class.
const SQLITE: [&str; 5] = [
    "attempt to write a readonly database",
    "database is locked",
    "database or disk is full",
    "disk I/O error",
    "unable to open database file",
];
const OF_SQLITE: &str = "(sqlite3.OperationalError) ";

/// The last error that a Python program names, or the complaint of the start program.
pub(super) fn exit_reason(last_lines: &str) -> Option<String> {
    let lines: Vec<&str> = last_lines.lines().map(str::trim).collect();
    (0..lines.len()).rev().find_map(|index| {
        if let Some(text) = lines[index].strip_prefix(OF_THE_START_PROGRAM) {
            return Some(bounded(text, OUR_BYTES));
        }
        let (class, text) = lines[index].split_once(": ").unwrap_or((lines[index], ""));
        let class = class_of_error(class)?;
        let detail = detail(class, text, lines.get(index + 1).copied().unwrap_or_default());
        Some(detail.map_or_else(|| class.to_owned(), |detail| format!("{class}: {detail}")))
    })
}

/// `ValidationError` of `pydantic_core._pydantic_core.ValidationError`; nothing of what is no class.
fn class_of_error(name: &str) -> Option<&str> {
    let is_name = |part: &str| !part.is_empty() && part.chars().all(in_a_name);
    let class = name.rsplit('.').next().filter(|_| name.split('.').all(is_name))?;
    let named_so =
        ["Error", "Exception", "Timeout", "gaierror"].iter().any(|end| class.ends_with(end));
    named_so.then_some(class)
}

fn in_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// What may be passed on of an error's text; `next` is the line below.
fn detail(class: &str, text: &str, next: &str) -> Option<String> {
    if matches!(class, "ModuleNotFoundError" | "ImportError") {
        return Some(bounded(text, TEXT_BYTES));
    }
    if class == "ValidationError" {
        let (count, model) = text.split_once(" validation error")?;
        let model = model.trim_start_matches('s').strip_prefix(" for ")?;
        let known = count.parse::<u32>().is_ok() && model.chars().all(in_a_name);
        // A field stands alone in its line; what is wrong with it, and its value, in the next one.
        let is_field = !next.is_empty() && next.chars().all(|c| in_a_name(c) || c == '.');
        let field = if is_field { format!(": {next}") } else { String::new() };
        return known.then(|| bounded(&format!("{text}{field}"), TEXT_BYTES));
    }
    let of_system = SYSTEM.iter().find(|(number, _)| text.starts_with(number));
    let of_sqlite =
        || SQLITE.into_iter().find(|words| *words == text.trim_start_matches(OF_SQLITE));
    of_system.map(|(_, words)| *words).or_else(of_sqlite).map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// As OGX 1.5.0 ends: in columns, and with more lines behind the error.
    const WITHOUT_A_PACKAGE: &str = "
             import torch
         ModuleNotFoundError: No module named 'torch'
           category=server
ERROR    2026-11-15T17:35:26.138024Z  Application startup failed. Exiting.  category=server
";
    /// As llama-stack 0.7.3 ends when a secret was given for an address.
    const QUOTING: &str = "
    validated_self = self.__pydantic_validator__.validate_python(data, self_instance=self)
                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
pydantic_core._pydantic_core.ValidationError: 1 validation error for VLLMInferenceAdapterConfig
base_url
  Input should be a valid URL [type=url_parsing, input_value='sk-secret', input_type=str]
    For further information visit https://errors.pydantic.dev/2.13/v/url_parsing
";

    #[rstest]
    #[case(WITHOUT_A_PACKAGE, "ModuleNotFoundError: No module named 'torch'")]
    #[case(QUOTING, "ValidationError: 1 validation error for VLLMInferenceAdapterConfig: base_url")]
    #[case(
        "ConnectionRefusedError: [Errno 111] Connect call failed ('10.0.0.7', 5432)",
        "ConnectionRefusedError"
    )]
    #[case("OSError: [Errno 28] No space left on device: 'x'", "OSError: no space left on device")]
    #[case(
        "sqlalchemy.exc.OperationalError: (sqlite3.OperationalError) database or disk is full\n[SQL: INSERT sk-secret]",
        "OperationalError: database or disk is full"
    )]
    #[case("sqlite3.OperationalError: no such table: sk_secret", "OperationalError")]
    #[case("socket.gaierror: [Errno -2] Name", "gaierror: name or service not known")]
    #[case("asyncpg.exceptions.InvalidPasswordError: for user \"u\"", "InvalidPasswordError")]
    #[case("ValueError: bad key sk-secret", "ValueError")]
    #[case(
        "FileNotFoundError: [Errno 2] No such file: '{\"private_key\": \"sk-secret\"}'",
        "FileNotFoundError: no such file or directory"
    )]
    #[case("KeyError: 'a'\n\nDuring handling:\n\nRuntimeError: x", "RuntimeError")]
    #[case("start: error: c.yaml is not a mapping\n", "c.yaml is not a mapping")]
    fn the_last_error_is_given_without_what_may_be_a_secret(
        #[case] last_lines: &str,
        #[case] expected: &str,
    ) {
        assert_eq!(exit_reason(last_lines).as_deref(), Some(expected));
    }

    #[rstest]
    #[case("")]
    #[case("Killed")]
    #[case("the password sk-secret is wrong, Error: no")]
    #[case("sk-secretError: is no class")]
    #[case("1 validation error for sk-secret")]
    fn what_is_no_error_of_python_is_not_given(#[case] last_lines: &str) {
        assert_eq!(exit_reason(last_lines), None);
    }
}
