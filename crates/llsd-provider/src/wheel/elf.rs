//! For which processor a native file was built, by its first bytes.

use crate::python::Architecture;

/// As many bytes as tell it.
pub(super) const HEAD: usize = 20;

/// `None` for what is no native file.
pub(super) fn architecture(head: &[u8]) -> Option<Result<Architecture, u16>> {
    let head: &[u8; HEAD] = head.get(..HEAD)?.try_into().ok()?;
    if head[..4] != *b"\x7fELF" {
        return None;
    }
    let machine = [head[18], head[19]];
    let machine =
        if head[5] == 2 { u16::from_be_bytes(machine) } else { u16::from_le_bytes(machine) };
    Some(match machine {
        62 => Ok(Architecture::X86_64),
        183 => Ok(Architecture::Aarch64),
        21 => Ok(Architecture::Ppc64le),
        22 => Ok(Architecture::S390x),
        other => Err(other),
    })
}
