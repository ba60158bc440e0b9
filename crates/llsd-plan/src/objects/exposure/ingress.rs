//! The Ingress of an exposed server. Only the annotations of the resource and those that keep streams
//! open are applied, so those that others put there stay.

use k8s_openapi::api::networking::v1::{
    HTTPIngressPath, HTTPIngressRuleValue, Ingress, IngressBackend, IngressRule,
    IngressServiceBackend, IngressSpec, IngressTLS, ServiceBackendPort,
};

use super::decision::{self, Exposure, Via};
use super::timeouts;
use crate::objects::blueprint::Blueprint;
use crate::objects::kind::ObjectKind;
use crate::objects::names;

pub(in crate::objects) fn ingress(blueprint: &Blueprint) -> Option<Ingress> {
    let exposure = decision::exposure(blueprint).filter(|exposure| exposure.via == Via::Ingress)?;
    let mut metadata = blueprint.owned(names::of(ObjectKind::Ingress, blueprint.name));
    metadata.annotations = Some(timeouts::of_ingress(blueprint, &exposure));
    Some(Ingress {
        metadata,
        spec: Some(IngressSpec {
            ingress_class_name: exposure.how.class_name.clone(),
            rules: Some(vec![IngressRule {
                host: exposure.host.clone(),
                http: Some(HTTPIngressRuleValue { paths: vec![everything(blueprint)] }),
            }]),
            tls: tls(blueprint, &exposure),
            ..Default::default()
        }),
        ..Default::default()
    })
}

fn everything(blueprint: &Blueprint) -> HTTPIngressPath {
    HTTPIngressPath {
        path: Some("/".into()),
        path_type: "Prefix".into(),
        backend: IngressBackend {
            service: Some(IngressServiceBackend {
                name: names::service(blueprint.name),
                port: Some(ServiceBackendPort { number: Some(blueprint.port()), name: None }),
            }),
            resource: None,
        },
    }
}

/// The certificate that clients see: one for the Ingress, else the server's own.
fn tls(blueprint: &Blueprint, exposure: &Exposure) -> Option<Vec<IngressTLS>> {
    let secret = exposure.how.tls_secret_name.as_deref().or(blueprint.server_tls())?;
    Some(vec![IngressTLS {
        hosts: exposure.host.clone().map(|host| vec![host]),
        secret_name: Some(secret.into()),
    }])
}
