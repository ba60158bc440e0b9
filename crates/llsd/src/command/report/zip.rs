//! A zip archive of texts. Times are left out, so that the same texts give the same bytes.

use std::io::{Cursor, Write};

use zip::result::ZipResult;
use zip::write::SimpleFileOptions;
use zip::{DateTime, ZipWriter};

/// The archive with these files, by name.
pub(super) fn archive(files: &[(String, String)]) -> ZipResult<Vec<u8>> {
    let options = SimpleFileOptions::default()
        .compression_level(Some(9))
        .last_modified_time(DateTime::default());
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files {
        archive.start_file(name.as_str(), options)?;
        archive.write_all(text.as_bytes())?;
    }
    Ok(archive.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Read by somebody else's reader.
    #[test]
    fn an_archive_is_read_back() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let files = [("a.txt", "one\n".repeat(100)), ("logs/b.txt", "zwölf\n".to_owned())];
        let files = files.map(|(name, text)| (name.to_owned(), text));
        std::fs::write(file.path(), archive(&files).unwrap()).unwrap();
        let read = "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; \
                    assert {i.date_time for i in z.infolist()} == {(1980, 1, 1, 0, 0, 0)}; \
                    print([(n, z.read(n).decode()) for n in z.namelist()] == \
                    [('a.txt', 'one\\n' * 100), ('logs/b.txt', 'zw\\u00f6lf\\n')])";
        let done = Command::new("python3").arg("-c").arg(read).arg(file.path()).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(String::from_utf8_lossy(&done.stdout).trim(), "True", "{said}");
    }
}
