//! What one container is given: its view of the file system, whom it runs as, what it runs.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use k8s_openapi::api::core::v1::{Container, Pod, VolumeMount};
use kube::ResourceExt;

use crate::{
    environment::{Invocation, expand},
    image::ImageStandIn,
    process::{Identity, Mount, Spec},
    refusal::Refusal,
    volumes::Folders,
};

/// Where a container leaves its last words unless it says otherwise, and how much of them is kept.
const LAST_WORDS: &str = "/dev/termination-log";
const KEPT: usize = 4096;

/// The files that the containers of a pod share.
pub(crate) struct PodFiles<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) hosts: &'a Path,
    pub(crate) volumes: &'a Folders,
    pub(crate) as_root: bool,
}

impl PodFiles<'_> {
    /// The file for a container's last words, empty; everybody may write to it, whoever runs there.
    fn words_file(&self, container: &str) -> Result<PathBuf, Refusal> {
        let file = self.words(container);
        let make = || -> std::io::Result<()> {
            fs::create_dir_all(self.folder.join("containers").join(container))?;
            fs::write(&file, "")?;
            fs::set_permissions(&file, fs::Permissions::from_mode(0o666))
        };
        make().map_err(|error| Refusal::create(error.to_string()))?;
        Ok(file)
    }

    fn words(&self, container: &str) -> PathBuf {
        self.folder.join("containers").join(container).join("last-words")
    }

    /// What a container wrote to its file, as far as Kubernetes keeps it.
    pub(crate) fn last_words(&self, container: &str) -> String {
        let words = fs::read(self.words(container)).unwrap_or_default();
        let end = words.len().min(KEPT);
        String::from_utf8_lossy(&words[..end]).into_owned()
    }

    pub(crate) fn spec(
        &self,
        pod: &Pod,
        container: &Container,
        image: &ImageStandIn,
        invocation: Invocation,
    ) -> Result<Spec, Refusal> {
        let own = self.folder.join("containers").join(&container.name);
        let context = container.security_context.as_ref();
        let is_set = |value: Option<bool>| value == Some(true);
        let identity = self.identity(pod, container);
        let Invocation { mut env, command } = invocation;
        // As the runtime: users of these images but root have no line in /etc/passwd.
        let home = if identity.user == 0 { "/root" } else { "/" };
        env.entry("HOME".into()).or_insert_with(|| home.into());
        Ok(Spec {
            root: own.join("root"),
            pid_file: own.join("pid"),
            hostname: pod.name_any(),
            mounts: self.mounts(container, image, &env)?,
            read_only_root: is_set(context.and_then(|context| context.read_only_root_filesystem)),
            identity,
            no_new_privileges: context.and_then(|context| context.allow_privilege_escalation)
                == Some(false),
            working_dir: container.working_dir.as_deref().unwrap_or(image.working_dir()).into(),
            command,
            env,
        })
    }

    /// The image's folders first; a volume at a path inside another's lies on top of it.
    fn mounts(
        &self,
        container: &Container,
        image: &ImageStandIn,
        env: &BTreeMap<String, String>,
    ) -> Result<Vec<Mount>, Refusal> {
        let read_only = |source: &Path, target: &Path| Mount {
            source: source.to_owned(),
            target: target.to_owned(),
            read_only: true,
        };
        let folders = image.folders().iter().map(|(source, target)| read_only(source, target));
        let mut mounts: Vec<Mount> = folders.collect();
        mounts.push(read_only(self.hosts, Path::new("/etc/hosts")));
        mounts.push(Mount {
            source: self.words_file(&container.name)?,
            target: container.termination_message_path.as_deref().unwrap_or(LAST_WORDS).into(),
            read_only: false,
        });
        let mut volumes = Vec::new();
        for mount in container.volume_mounts.iter().flatten() {
            volumes.push(Mount {
                source: self.source(mount, env)?,
                target: mount.mount_path.clone().into(),
                read_only: mount.read_only == Some(true),
            });
        }
        volumes.sort_by_key(|mount| mount.target.components().count());
        mounts.extend(volumes);
        Ok(mounts)
    }

    fn source(
        &self,
        mount: &VolumeMount,
        env: &BTreeMap<String, String>,
    ) -> Result<PathBuf, Refusal> {
        let volume = self.volumes.get(&mount.name).ok_or_else(|| {
            Refusal::create(format!("there is no volume {} to mount", mount.name))
        })?;
        let expanded = mount.sub_path_expr.as_ref().map(|path| expand(path, env));
        let Some(below) = mount.sub_path.clone().or(expanded).filter(|path| !path.is_empty())
        else {
            return Ok(volume.clone());
        };
        let source = volume.join(below.trim_start_matches('/'));
        if !source.exists() {
            fs::create_dir_all(&source).map_err(|error| Refusal::create(error.to_string()))?;
            if let Ok(like) = fs::metadata(volume) {
                // As writable as the volume itself; what fails here shows in the container.
                let _ = fs::set_permissions(&source, like.permissions());
            }
        }
        Ok(source)
    }

    /// The container's word before the pod's.
    fn identity(&self, pod: &Pod, container: &Container) -> Identity {
        let pod = pod.spec.as_ref().and_then(|spec| spec.security_context.as_ref());
        let own = container.security_context.as_ref();
        let user = own
            .and_then(|context| context.run_as_user)
            .or_else(|| pod.and_then(|context| context.run_as_user));
        let group = own
            .and_then(|context| context.run_as_group)
            .or_else(|| pod.and_then(|context| context.run_as_group));
        let mut groups: Vec<i64> = pod.and_then(|context| context.fs_group).into_iter().collect();
        groups.extend(pod.iter().flat_map(|context| context.supplemental_groups.iter().flatten()));
        Identity {
            user: user.unwrap_or(0),
            group: group.unwrap_or(0),
            groups,
            may_be_anybody: self.as_root,
        }
    }
}
