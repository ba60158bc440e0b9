//! The volumes of a pod as folders of this machine, filled when the pod starts. What changes in a
//! ConfigMap or Secret later reaches the next pod, not this one.

use std::{
    collections::BTreeMap,
    fs::{self, Permissions},
    io,
    os::unix::fs::{PermissionsExt, chown},
    path::{Component, Path, PathBuf},
};

use k8s_openapi::api::{
    authentication::v1::{TokenRequest, TokenRequestSpec},
    core::v1::{
        DownwardAPIVolumeFile, KeyToPath, Pod, ProjectedVolumeSource, ServiceAccount,
        ServiceAccountTokenProjection, Volume,
    },
};
use kube::{Api, Client, ResourceExt, api::PostParams};

use crate::{
    claims::Claims,
    environment::field_of,
    objects::{Contents, Objects},
    refusal::Refusal,
};

/// What a file of a ConfigMap or Secret may be, unless the volume says otherwise.
const FILE_MODE: i32 = 0o644;

/// Where each volume of a pod lies, by its name.
pub(crate) type Folders = BTreeMap<String, PathBuf>;

/// Makes the volumes of one pod below a folder of its own.
pub(crate) struct Volumes<'a> {
    pub(crate) client: &'a Client,
    pub(crate) claims: &'a Claims,
    pub(crate) objects: &'a Objects,
    pub(crate) pod: &'a Pod,
    pub(crate) ip: &'a str,
    pub(crate) folder: &'a Path,
    /// Who may use the volumes; only root can give them to a group.
    pub(crate) group: Option<u32>,
}

impl Volumes<'_> {
    pub(crate) async fn make(&self) -> Result<Folders, Refusal> {
        let mut folders = Folders::new();
        for volume in self.pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten()) {
            let made = self.make_one(volume).await.map_err(|refusal| {
                let message =
                    format!("the volume {} is not ready: {}", volume.name, refusal.message);
                Refusal::preparing(message)
            })?;
            folders.insert(volume.name.clone(), made);
        }
        Ok(folders)
    }

    async fn make_one(&self, volume: &Volume) -> Result<PathBuf, Refusal> {
        if let Some(source) = &volume.host_path {
            return Ok(source.path.clone().into());
        }
        if let Some(source) = &volume.persistent_volume_claim {
            let folder = self.claims.folder(self.client, self.pod, &source.claim_name).await?;
            self.for_group(&folder).map_err(io_refusal)?;
            return Ok(folder);
        }
        let folder = self.folder.join(&volume.name);
        fs::create_dir_all(&folder).map_err(io_refusal)?;
        let files = if let Some(source) = &volume.config_map {
            let contents = self.objects.config_map(&source.name, source.optional)?;
            let mode = source.default_mode;
            files(contents, source.items.as_deref(), source.optional, mode)?
        } else if let Some(source) = &volume.secret {
            let name = source.secret_name.as_deref().unwrap_or_default();
            let contents = self.objects.secret(name, source.optional)?;
            let mode = source.default_mode;
            files(contents, source.items.as_deref(), source.optional, mode)?
        } else if let Some(source) = &volume.projected {
            self.projected(source).await?
        } else if let Some(source) = &volume.downward_api {
            self.downward(source.items.as_deref().unwrap_or_default(), source.default_mode)?
        } else if volume.empty_dir.is_some() {
            self.for_everybody(&folder).map_err(io_refusal)?;
            Vec::new()
        } else {
            return Err(Refusal::preparing("a volume of this kind is not stood in for"));
        };
        for file in files {
            self.write(&folder, &file).map_err(io_refusal)?;
        }
        Ok(folder)
    }

    async fn projected(&self, source: &ProjectedVolumeSource) -> Result<Vec<File>, Refusal> {
        let mode = source.default_mode;
        let mut all = Vec::new();
        for source in source.sources.iter().flatten() {
            if let Some(source) = &source.config_map {
                let contents = self.objects.config_map(&source.name, source.optional)?;
                all.extend(files(contents, source.items.as_deref(), source.optional, mode)?);
            } else if let Some(source) = &source.secret {
                let contents = self.objects.secret(&source.name, source.optional)?;
                all.extend(files(contents, source.items.as_deref(), source.optional, mode)?);
            } else if let Some(source) = &source.downward_api {
                all.extend(self.downward(source.items.as_deref().unwrap_or_default(), mode)?);
            } else if let Some(source) = &source.service_account_token {
                let contents = self.token(source).await?;
                let mode = mode.unwrap_or(FILE_MODE);
                all.push(File { path: source.path.clone(), contents, mode });
            } else {
                return Err(Refusal::preparing("a source of this kind is not stood in for"));
            }
        }
        Ok(all)
    }

    async fn token(&self, source: &ServiceAccountTokenProjection) -> Result<Vec<u8>, Refusal> {
        let namespace = self.pod.namespace().unwrap_or_default();
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), &namespace);
        let spec = self.pod.spec.as_ref();
        let account = spec.and_then(|spec| spec.service_account_name.as_deref());
        let request = TokenRequest {
            spec: TokenRequestSpec {
                audiences: source.audience.iter().cloned().collect(),
                expiration_seconds: source.expiration_seconds,
                ..TokenRequestSpec::default()
            },
            ..TokenRequest::default()
        };
        let (account, parameters) = (account.unwrap_or("default"), PostParams::default());
        let made = accounts.create_token_request(account, &parameters, &request).await;
        let status = made.map_err(|error| Refusal::preparing(error.to_string()))?.status;
        Ok(status.map(|status| status.token.into_bytes()).unwrap_or_default())
    }

    fn downward(
        &self,
        items: &[DownwardAPIVolumeFile],
        mode: Option<i32>,
    ) -> Result<Vec<File>, Refusal> {
        let mut all = Vec::new();
        for item in items {
            let field = item.field_ref.as_ref();
            let field = field.ok_or_else(|| Refusal::preparing("only fields are stood in for"))?;
            let contents = field_of(self.pod, self.ip, field)?.into_bytes();
            let mode = item.mode.or(mode).unwrap_or(FILE_MODE);
            all.push(File { path: item.path.clone(), contents, mode });
        }
        Ok(all)
    }

    /// As the kubelet leaves a folder that containers of any user may write to.
    fn for_everybody(&self, folder: &Path) -> io::Result<()> {
        if self.group.is_some() {
            chown(folder, None, self.group)?;
        }
        let inherited_group = if self.group.is_some() { 0o2000 } else { 0 };
        fs::set_permissions(folder, Permissions::from_mode(0o777 | inherited_group))
    }

    /// As the kubelet leaves a volume that was provided: the pod's group may write to all of it. Without a group it stays
    /// as it is.
    fn for_group(&self, path: &Path) -> io::Result<()> {
        let Some(group) = self.group else { return Ok(()) };
        let metadata = fs::symlink_metadata(path)?;
        if metadata.is_symlink() {
            return Ok(());
        }
        let gained = if metadata.is_dir() { 0o2770 } else { 0o660 };
        chown(path, None, Some(group))?;
        fs::set_permissions(path, Permissions::from_mode(metadata.permissions().mode() | gained))?;
        if metadata.is_dir() {
            for entry in fs::read_dir(path)? {
                self.for_group(&entry?.path())?;
            }
        }
        Ok(())
    }

    fn write(&self, folder: &Path, file: &File) -> io::Result<()> {
        let path = Path::new(&file.path);
        if !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(io::Error::other(format!("{} leads elsewhere", file.path)));
        }
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, &file.contents)?;
        let mut mode = u32::try_from(file.mode).unwrap_or(0o644);
        if self.group.is_some() {
            chown(&path, None, self.group)?;
            mode |= 0o440;
        }
        fs::set_permissions(&path, Permissions::from_mode(mode))
    }
}

struct File {
    path: String,
    contents: Vec<u8>,
    mode: i32,
}

/// All keys, or the items alone.
fn files(
    contents: Option<&Contents>,
    items: Option<&[KeyToPath]>,
    optional: Option<bool>,
    mode: Option<i32>,
) -> Result<Vec<File>, Refusal> {
    let Some(contents) = contents else { return Ok(Vec::new()) };
    let mode = mode.unwrap_or(FILE_MODE);
    let Some(items) = items.filter(|items| !items.is_empty()) else {
        let all = contents.iter();
        let file = |(key, value): (&String, &Vec<u8>)| File {
            path: key.clone(),
            contents: value.clone(),
            mode,
        };
        return Ok(all.map(file).collect());
    };
    let mut chosen = Vec::new();
    for item in items {
        match contents.get(&item.key) {
            Some(value) => chosen.push(File {
                path: item.path.clone(),
                contents: value.clone(),
                mode: item.mode.unwrap_or(mode),
            }),
            None if optional == Some(true) => {}
            None => {
                let message = format!("references non-existent key: {}", item.key);
                return Err(Refusal::preparing(message));
            }
        }
    }
    Ok(chosen)
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn io_refusal(error: io::Error) -> Refusal {
    Refusal::preparing(error.to_string())
}
