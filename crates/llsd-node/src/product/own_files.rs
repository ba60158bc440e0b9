//! The install files that a program of others brings along in its source.

use anyhow::ensure;
use llsd_testkit::GoProgram;

use super::on_node::Product;

impl Product {
    /// Installs what a folder of the program's source renders to, with some words replaced.
    pub(super) async fn install_from_source(
        &self,
        program: GoProgram,
        folder: &str,
        replaced: &[(&str, &str)],
    ) -> anyhow::Result<()> {
        let source = tokio::task::spawn_blocking(move || program.source()).await??;
        let folder = source.join(folder).display().to_string();
        let mut files = self.kubectl(&["kustomize", &folder]).await?;
        for (theirs, ours) in replaced {
            ensure!(files.contains(theirs), "{folder} no longer says {theirs}");
            files = files.replace(theirs, ours);
        }
        self.kubectl_with(&["apply", "--server-side", "-f", "-"], Some(&files)).await.map(drop)
    }
}
