//! Programs of others beside which the product works on a real cluster: each is built from its Go module, and runs in an
//! image of its own.

use llsd_testkit::GoProgram;

use crate::{Node, images};

/// Builds a program and pushes its image, whose entry point it is; gives the image as pods name it.
pub(super) async fn push_program(node: &Node, program: GoProgram) -> anyhow::Result<String> {
    let (name, version) = (program.file_name, program.version);
    let located = tokio::task::spawn_blocking(move || program.locate()).await??;
    node.push(name, version, &images::program(name, &located)?).await
}
