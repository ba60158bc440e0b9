//! The vocabulary of a status: types and reasons of conditions. People and programs match on these
//! words, so those that v0.9 had stay as they are.

/// An enum whose variants are the words themselves, each with what it says to people: the reference
/// pages are made from that.
macro_rules! vocabulary {
    ($(#[$about:meta])* $name:ident { $($(#[doc = $doc:literal])+ $word:ident,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[doc = $doc])+ $word,)+ }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$word,)+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$word => stringify!($word),)+ }
            }

            /// What the word says.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$word => concat!($($doc),+),)+ }
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
        /// Present only while the operator waits for you to act.
        Stalled,
        /// The configuration could be generated, or none is needed.
        ConfigGenerated,
        /// All Secrets that the resource refers to are there, with their keys.
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
        /// The Service is there.
        ServiceReady,
        /// Present only while something waits for the user.
        UpdatePending,
        /// The result of the last preflight; present only after one.
        Preflight,
        /// Present only while the server runs as it did before the last change.
        RolledBack,
        /// Present only while the server answers all clients, although the resource asks for `access`.
        Unguarded,
        /// Present, and false, only while pods wait for models.
        ModelsAvailable,
        /// Present only while the resource is paused.
        Paused,
        /// Present only while two installations of the operator manage the resource, and one leaves it alone.
        Contended,
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
        /// The server runs as the resource asks for.
        Ready,
        /// The resource is being deleted.
        Terminating,
        /// Planned, and nothing is written yet.
        Applying,
        /// The stored object cannot be read.
        InvalidResource,

        /// The configuration was generated.
        ConfigGenerationSucceeded,
        /// The configuration is the user's own.
        ConfigOverridden,
        /// The configuration is the image's.
        DefaultConfigUsed,
        /// The resource asks for something that the server would refuse.
        ConfigGenerationFailed,
        /// The image carries no configuration.
        MissingConfigLabels,
        /// The configuration inside the image has a version that is not supported.
        UnsupportedConfigVersion,
        /// A ConfigMap that the resource names is not there.
        ConfigMapNotFound,
        /// A volume claim of the user's own is not there.
        ClaimNotFound,
        /// The registry does not answer; it is asked again.
        RegistryUnavailable,
        /// What a Secret holds decides what is generated, and it is not there.
        WaitingForSecrets,

        /// Every Secret and key is there.
        AllSecretsFound,
        /// A Secret that the resource refers to is not there.
        SecretNotFound,
        /// The Secret is there, and lacks the key.
        SecretKeyNotFound,
        /// The server would not start with what the Secret holds.
        SecretValueRejected,
        /// Which Secrets are needed is known once the configuration is.
        WaitingForConfig,

        /// The Deployment is as planned.
        DeploymentUpdated,
        /// Nothing is written, because nothing could be planned.
        PlanningFailed,
        /// An object of that name has another owner.
        ObjectNotOurs,
        /// The API server refused an object's content.
        ObjectRefused,
        /// Temporary API server error.
        ApplyFailed,
        /// The operator's roles do not allow it.
        Forbidden,
        /// A change of it is not noticed.
        NotWatched,
        /// The cluster has no such kind, or cannot tell.
        KindNotServed,
        /// A ConfigMap with the start program of the pods is not there, and pods that start now would wait for it.
        StartProgramMissing,
        /// An object that is no longer asked for is still there.
        NotDeleted,

        /// At least one pod serves.
        ReplicasAvailable,
        /// No pod serves.
        NoReplicasAvailable,
        /// No pod is wanted.
        ScaledToZero,

        /// All pods that are wanted run and are new.
        DeploymentReady,
        /// Pods come up.
        DeploymentPending,
        /// Kubernetes cannot make the pods.
        DeploymentFailed,
        /// New pods come up, or old ones go.
        RollingOut,
        /// Kubernetes gave up on the rollout.
        RolloutStuck,
        /// Something keeps a pod from running.
        ServerFailing,
        /// A backend does not have a model without which the server would end.
        WaitingForModels,

        /// The server says that it is well.
        HealthCheckPassed,
        /// The server says that it is not well.
        HealthCheckFailed,
        /// The operator cannot reach the server; others may.
        ServerUnreachable,
        /// The server's certificate is not the one in its Secret.
        ServerUntrusted,
        /// The server was not asked yet.
        ServerNotAsked,

        /// A router or gateway does not serve the object that exposes the server.
        RouteNotAdmitted,

        /// The volume claim is bound.
        StorageReady,
        /// The volume claim is not bound.
        StorageFailed,
        /// The Service is there.
        ServiceReady,
        /// The Service could not be made.
        ServiceFailed,

        /// An adopted Deployment keeps the template that it came with.
        AdoptedTemplateKept,
        /// A Deployment keeps its template, of which this operator would make another.
        TemplateKept,
        /// A change of inputs that several servers share reaches other servers first.
        WaitingForTurn,
        /// The new image checks a change.
        PreflightRunning,
        /// The new image accepts the change.
        PreflightPassed,
        /// The new image would not start with a change.
        PreflightFailed,
        /// A change could not be checked, and was rolled out without a check.
        PreflightSkipped,
        /// A change did not become available, and the server runs as before it.
        RolledBack,
        /// A user requested an earlier state of the server.
        RollbackRequested,
        /// The image's tag points to another digest by now.
        NewerImage,

        /// An annotation asks that nothing is written.
        Paused,
        /// The pods that serve run without `access`.
        ServesOpen,
        /// Another installation of the operator has taken the resource over.
        TakenOver,
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
