//! The vocabulary of a status: types and reasons of conditions. People and programs match on these
//! words, so those that v0.9 had stay as they are.

/// An enum whose variants are the words themselves.
macro_rules! vocabulary {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $word:ident,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$doc])* $word,)+ }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$word,)+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$word => stringify!($word),)+ }
            }
        }
    };
}
pub(super) use vocabulary;

vocabulary! {
    /// The conditions of a resource, in the order in which they are listed.
    ConditionType {
        /// The server runs as the resource asks for.
        Ready,
        /// Present only while something is under way.
        Reconciling,
        /// Present only while nothing happens until somebody acts.
        Stalled,
        ConfigGenerated,
        SecretsResolved,
        /// The Deployment is as planned.
        DeploymentUpdated,
        /// At least one pod serves.
        Available,
        /// All pods that are wanted run and are new.
        DeploymentReady,
        /// What the server itself says.
        HealthCheck,
        /// Only where there is a claim.
        StorageReady,
        ServiceReady,
        /// Present only while something waits for the user.
        UpdatePending,
        /// What the new image says of the last change that was judged; present only where one was.
        Preflight,
        /// Present only while the server runs as it did before the last change.
        RolledBack,
        /// Present, and false, only while pods wait for models.
        ModelsAvailable,
        /// Present only while the resource is paused.
        Paused,
        /// Present only while the operator cannot read, watch or write something that the resource needs.
        AccessLimited,
    }
}

impl ConditionType {
    /// Those that tell of what was planned and of what runs.
    pub(super) const OF_THE_SERVER: [Self; 11] = [
        Self::ConfigGenerated,
        Self::SecretsResolved,
        Self::DeploymentUpdated,
        Self::Available,
        Self::DeploymentReady,
        Self::HealthCheck,
        Self::StorageReady,
        Self::ServiceReady,
        Self::UpdatePending,
        Self::Preflight,
        Self::RolledBack,
    ];
}

vocabulary! {
    /// Why a condition is as it is.
    ConditionReason {
        Ready,
        Terminating,
        /// Planned, and nothing is written yet.
        Applying,
        /// The stored object cannot be read.
        InvalidResource,

        ConfigGenerationSucceeded,
        /// The configuration is the user's own.
        ConfigOverridden,
        /// The configuration is the image's.
        DefaultConfigUsed,
        ConfigGenerationFailed,
        MissingConfigLabels,
        UnsupportedConfigVersion,
        ConfigMapNotFound,
        /// A volume claim of the user's own is not there.
        ClaimNotFound,
        RegistryUnavailable,
        WaitingForSecrets,

        AllSecretsFound,
        SecretNotFound,
        SecretKeyNotFound,
        SecretValueRejected,
        WaitingForConfig,

        DeploymentUpdated,
        /// Nothing is written, because nothing could be planned.
        PlanningFailed,
        /// An object of that name belongs to somebody else.
        ObjectNotOurs,
        /// The API server refused an object's content.
        ObjectRefused,
        /// The API server was in the way for now.
        ApplyFailed,
        /// The operator's roles do not allow it.
        Forbidden,
        /// A change of it is not noticed.
        NotWatched,
        /// The cluster has no such kind, or cannot tell.
        KindNotServed,
        /// An object that is no longer asked for is still there.
        NotDeleted,

        ReplicasAvailable,
        NoReplicasAvailable,
        ScaledToZero,

        DeploymentReady,
        DeploymentPending,
        DeploymentFailed,
        /// New pods come up, or old ones go.
        RollingOut,
        /// Kubernetes gave up on the rollout.
        RolloutStuck,
        /// Something keeps a pod from running.
        ServerFailing,
        /// A backend does not have a model without which the server would end.
        WaitingForModels,

        HealthCheckPassed,
        HealthCheckFailed,
        ServerUnreachable,
        /// The server's certificate is not the one in its Secret.
        ServerUntrusted,
        ServerNotAsked,

        /// A router or gateway does not serve the object that exposes the server.
        RouteNotAdmitted,

        StorageReady,
        StorageFailed,
        ServiceReady,
        ServiceFailed,

        /// An adopted Deployment keeps the template that it came with.
        AdoptedTemplateKept,
        /// A Deployment keeps its template, of which this operator would make another.
        TemplateKept,
        /// The new image judges a change.
        PreflightRunning,
        PreflightPassed,
        /// The new image would not start with a change.
        PreflightFailed,
        /// A change could not be judged, and was rolled out all the same.
        PreflightSkipped,
        /// A change did not become available, and the server runs as before it.
        RolledBack,
        /// Somebody asked for an earlier state of the server.
        RollbackRequested,
        /// The image's tag points to another digest by now.
        NewerImage,

        /// An annotation asks that nothing is written.
        Paused,
    }
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Truth {
    True,
    False,
    Unknown,
}

impl Truth {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}
