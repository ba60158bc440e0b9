//! `llsd crd`: the resource definition, to be piped into `kubectl apply --server-side -f -`.

use super::Output;
use crate::manifests;

pub(super) fn run() -> Output {
    let crd = manifests::files().into_iter().find(|file| file.name == "crd.yaml");
    Output::fine(crd.map(|file| file.text()).unwrap_or_default())
}
