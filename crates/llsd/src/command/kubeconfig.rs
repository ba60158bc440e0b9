//! Which cluster a command asks, as kubectl's flags of the same names say, and what is wrong with a kubeconfig.

use std::env::var_os;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::Args;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};

use super::asked_server::AskedServer;
use super::cluster_error::ClusterError;

const VARIABLE: &str = "KUBECONFIG";

/// Which kubeconfig and which of its contexts.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct KubeconfigFlags {
    /// The kubeconfig's context; without it the current one
    #[arg(long, value_name = "CONTEXT")]
    pub(super) context: Option<String>,

    /// The kubeconfig; without it that of KUBECONFIG, or ~/.kube/config
    #[arg(long, value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,
}

impl KubeconfigFlags {
    pub(super) fn is_given(&self) -> bool {
        self.context.is_some() || self.kubeconfig.is_some()
    }

    /// What a client needs. Where there is no kubeconfig and none is asked for, a pod's own account will do. One that
    /// is wrong is never passed over: the pod's cluster may be another than that which was meant.
    pub(super) async fn config(&self) -> Result<(Config, AskedServer), ClusterError> {
        let (mut config, context) = match self.read() {
            Ok(file) => self.of_file(file).await?,
            Err(error) => {
                let explained = self.explained(&error, &[]);
                let is_meant = self.is_given() || !is_none(&error, var_os(VARIABLE).as_deref());
                if is_meant {
                    return Err(explained);
                }
                (Config::incluster().map_err(|_| explained)?, None)
            }
        };
        config.apply_debug_overrides();
        let server = AskedServer::new(&config.cluster_url, context);
        Ok((config, server))
    }

    fn read(&self) -> Result<Kubeconfig, KubeconfigError> {
        match &self.kubeconfig {
            Some(path) => Kubeconfig::read_from(path),
            None => Kubeconfig::read(),
        }
    }

    /// The configuration of a context, and the context's name.
    async fn of_file(&self, file: Kubeconfig) -> Result<(Config, Option<String>), ClusterError> {
        let known: Vec<String> = file.contexts.iter().map(|one| one.name.clone()).collect();
        let context = self.context.clone().or_else(|| file.current_context.clone());
        let options = KubeConfigOptions { context: self.context.clone(), ..Default::default() };
        let config = Config::from_custom_kubeconfig(file, &options).await;
        Ok((config.map_err(|error| self.explained(&error, &known))?, context))
    }

    fn explained(&self, error: &KubeconfigError, known: &[String]) -> ClusterError {
        let place = self.place();
        let (message, remedy) = match error {
            KubeconfigError::ReadConfig(error, path) => self.unread(error, path),
            KubeconfigError::FindPath => {
                (format!("there is no kubeconfig: {VARIABLE} is not set"), NAME_ONE.to_owned())
            }
            KubeconfigError::CurrentContextNotSet if known.is_empty() => {
                (format!("{place} names no cluster"), NAME_ONE.to_owned())
            }
            KubeconfigError::CurrentContextNotSet => {
                (format!("{place} has no current context"), choose(known))
            }
            KubeconfigError::LoadContext(name) => {
                (format!("context {name:?} is not in {place}"), choose(known))
            }
            KubeconfigError::LoadClusterOfContext(name) => {
                (format!("{place} has no cluster {name:?}, which the context names"), choose(known))
            }
            // The library quotes the lines around a mistake, a token among them.
            KubeconfigError::Parse(_) => {
                (format!("{place} is no kubeconfig"), "`kubectl config view` says why".to_owned())
            }
            other => (format!("{place}: {other}"), "correct the kubeconfig".to_owned()),
        };
        ClusterError::Kubeconfig { message, remedy, is_usage: self.is_given() }
    }

    fn unread(&self, error: &std::io::Error, path: &Path) -> (String, String) {
        let path = path.display();
        let is_missing = error.kind() == ErrorKind::NotFound;
        let message = if !is_missing {
            format!("the kubeconfig {path} cannot be read: {error}")
        } else if self.kubeconfig.is_some() {
            format!("there is no kubeconfig {path}")
        } else if var_os(VARIABLE).is_some() {
            format!("there is no kubeconfig {path}, which {VARIABLE} names")
        } else {
            format!("there is no kubeconfig: {VARIABLE} is not set, and {path} is not there")
        };
        (message, NAME_ONE.to_owned())
    }

    /// The kubeconfig as messages name it.
    fn place(&self) -> String {
        let named = self.kubeconfig.as_ref().map(|path| path.display().to_string());
        let variable = || var_os(VARIABLE).map(|value| value.to_string_lossy().into_owned());
        let named = named.or_else(variable).filter(|place| !place.is_empty());
        format!("the kubeconfig {}", named.as_deref().unwrap_or("~/.kube/config"))
    }
}

/// Whether the error says that there is no kubeconfig, and KUBECONFIG, whose value is given, names none.
fn is_none(error: &KubeconfigError, variable: Option<&OsStr>) -> bool {
    let is_absent = match error {
        KubeconfigError::FindPath => true,
        KubeconfigError::ReadConfig(error, _) => {
            matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
        }
        _ => false,
    };
    is_absent && variable.is_none_or(OsStr::is_empty)
}

const NAME_ONE: &str = "name one with --kubeconfig or KUBECONFIG";

fn choose(known: &[String]) -> String {
    if known.is_empty() {
        return NAME_ONE.to_owned();
    }
    format!("choose one with --context: {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pods_own_account_stands_in_for_no_kubeconfig_that_is_wrong() {
        let unread = |kind: ErrorKind| {
            KubeconfigError::ReadConfig(kind.into(), PathBuf::from("/home/dev/.kube/config"))
        };
        assert!(is_none(&KubeconfigError::FindPath, None), "there is no home folder");
        assert!(is_none(&unread(ErrorKind::NotFound), None));
        assert!(is_none(&unread(ErrorKind::NotFound), Some(OsStr::new(""))));
        assert!(!is_none(&unread(ErrorKind::NotFound), Some(OsStr::new("/nowhere/config"))));
        assert!(!is_none(&unread(ErrorKind::PermissionDenied), None));
        assert!(!is_none(&KubeconfigError::KindMismatch, None));
    }
}
