//! Security contexts that meet the `restricted` Pod Security Standard, and what the resource lays
//! over the pod's.

use k8s_openapi::api::core::v1::{
    Capabilities, PodSecurityContext, SeccompProfile, SecurityContext, Sysctl,
};

use crate::facts::Api;
use crate::objects::blueprint::Blueprint;
use crate::problems::{FieldPath, Findings, Reason};

/// The images name no user, and make their folders writable for the group 0.
const USER: i64 = 1001;
const GROUP: i64 = 0;
/// The group of the volume's files, as v0.9 has it.
const VOLUME_GROUP: i64 = 1001;

/// The pod's security context.
pub(super) fn of_pod(blueprint: &Blueprint, findings: &mut Findings) -> PodSecurityContext {
    let ours = ours(blueprint);
    let Some(theirs) = &blueprint.overrides().security_context else { return ours };
    let merged = laid_over(theirs.clone(), ours);
    if merged.run_as_user == Some(0) && merged.run_as_non_root == Some(true) {
        // The kubelet would refuse to start the container, long after the old pods are gone.
        findings.problem(
            &FieldPath::spec()
                .key("workload")
                .key("overrides")
                .key("securityContext")
                .key("runAsUser"),
            Reason::Conflict,
            "user 0 is root, and the pods run as another user unless runAsNonRoot is false",
            "set runAsNonRoot to false beside it, or choose another user",
        );
    }
    merged
}

/// The security context of each container.
pub(super) fn of_container() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities { drop: Some(vec!["ALL".into()]), add: None }),
        ..Default::default()
    }
}

fn ours(blueprint: &Blueprint) -> PodSecurityContext {
    // OpenShift picks ids for each namespace and refuses others.
    let ids = (!blueprint.serves(Api::SECURITY_CONSTRAINTS)).then_some((USER, GROUP, VOLUME_GROUP));
    PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: ids.map(|(user, _, _)| user),
        run_as_group: ids.map(|(_, group, _)| group),
        fs_group: ids.map(|(_, _, volume_group)| volume_group),
        // A large volume whose files have the right group already is not walked over at each start.
        fs_group_change_policy: Some("OnRootMismatch".into()),
        seccomp_profile: Some(SeccompProfile {
            type_: "RuntimeDefault".into(),
            localhost_profile: None,
        }),
        sysctls: low_port(blueprint.port()),
        ..Default::default()
    }
}

/// v1alpha1 allows ports that only root may open by default. `restricted` allows this setting, and
/// with it the server still need not be root.
fn low_port(port: i32) -> Option<Vec<Sysctl>> {
    (1..1024).contains(&port).then(|| {
        vec![Sysctl { name: "net.ipv4.ip_unprivileged_port_start".into(), value: port.to_string() }]
    })
}

/// Field by field, without `..`: a field that a later Kubernetes brings must not be lost here.
fn laid_over(theirs: PodSecurityContext, ours: PodSecurityContext) -> PodSecurityContext {
    let PodSecurityContext {
        app_armor_profile,
        fs_group,
        fs_group_change_policy,
        run_as_group,
        run_as_non_root,
        run_as_user,
        se_linux_change_policy,
        se_linux_options,
        seccomp_profile,
        supplemental_groups,
        supplemental_groups_policy,
        sysctls,
        windows_options,
    } = theirs;
    PodSecurityContext {
        app_armor_profile: app_armor_profile.or(ours.app_armor_profile),
        fs_group: fs_group.or(ours.fs_group),
        fs_group_change_policy: fs_group_change_policy.or(ours.fs_group_change_policy),
        run_as_group: run_as_group.or(ours.run_as_group),
        run_as_non_root: run_as_non_root.or(ours.run_as_non_root),
        run_as_user: run_as_user.or(ours.run_as_user),
        se_linux_change_policy: se_linux_change_policy.or(ours.se_linux_change_policy),
        se_linux_options: se_linux_options.or(ours.se_linux_options),
        seccomp_profile: seccomp_profile.or(ours.seccomp_profile),
        supplemental_groups: supplemental_groups.or(ours.supplemental_groups),
        supplemental_groups_policy: supplemental_groups_policy.or(ours.supplemental_groups_policy),
        sysctls: sysctls.or(ours.sysctls),
        windows_options: windows_options.or(ours.windows_options),
    }
}
