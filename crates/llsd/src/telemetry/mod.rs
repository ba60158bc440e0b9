//! interim
use std::time::Duration;
#[derive(Clone, Debug)]
pub struct Metrics;
impl Metrics {
    pub fn new(_: &str) -> Self {
        Self
    }
    pub fn queue_length(&self, _: usize) {}
    pub fn leading(&self, _: bool) {}
    pub fn reconciled(&self, _: Option<crate::controller::Reconciled>, _: Duration) {}
}
#[derive(Clone, Copy, Debug)]
pub enum Format {
    Text,
    Json,
}
pub fn init(_: Format, level: &str) {
    tracing_subscriber::fmt().with_env_filter(format!("{level},kube_client=error,hyper=warn,h2=warn,tower=warn,rustls=warn,reqwest=warn,hyper_util=warn,kube_runtime=warn")).with_writer(std::io::stderr).init();
}
pub fn client(config: kube::Config, _: &Metrics) -> Result<kube::Client, kube::Error> {
    kube::Client::try_from(config)
}
