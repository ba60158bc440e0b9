//! Every rule of a v1alpha2 resource that ties fields together: its CEL, what it says, and what
//! to do about it. The CRD and the admission policy take the CEL from here, the Rust validation
//! takes the words, so a mistake reads the same wherever it is met.

use serde_json::{Value, json};

/// A rule that the CRD's schema carries as CEL, at the object it judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    pub cel: &'static str,
    pub message: &'static str,
    pub remedy: &'static str,
}

impl Rule {
    fn validation(&self) -> Value {
        json!({"rule": self.cel, "message": format!("{}; {}", self.message, self.remedy)})
    }
}

/// The value of `x-kubernetes-validations` for an object under these rules.
pub fn validations(rules: &[Rule]) -> Value {
    rules.iter().map(Rule::validation).collect()
}

pub const NAME_XOR_IMAGE: Rule = Rule {
    cel: "has(self.name) != has(self.image)",
    message: "exactly one of name and image must be set",
    remedy: "set name for a known distribution, or image for your own",
};

/// What `overrideConfig` replaces, and so cannot stand beside.
pub const OVERRIDE_EXCLUDES: [(&str, Rule); 5] = [
    (
        "providers",
        Rule {
            cel: "!(has(self.providers) && has(self.overrideConfig))",
            message: "providers and overrideConfig are mutually exclusive",
            remedy: "remove providers, or move them into the ConfigMap of overrideConfig",
        },
    ),
    (
        "resources",
        Rule {
            cel: "!(has(self.resources) && has(self.overrideConfig))",
            message: "resources and overrideConfig are mutually exclusive",
            remedy: "remove resources, or move them into the ConfigMap of overrideConfig",
        },
    ),
    (
        "storage",
        Rule {
            cel: "!(has(self.storage) && has(self.overrideConfig))",
            message: "storage and overrideConfig are mutually exclusive",
            remedy: "remove storage, or move it into the ConfigMap of overrideConfig",
        },
    ),
    (
        "disabled",
        Rule {
            cel: "!(has(self.disabled) && has(self.overrideConfig))",
            message: "disabled and overrideConfig are mutually exclusive",
            remedy: "remove disabled, or leave those APIs out of the ConfigMap of overrideConfig",
        },
    ),
    (
        "access",
        Rule {
            cel: "!(has(self.access) && has(self.overrideConfig))",
            message: "access and overrideConfig are mutually exclusive",
            remedy: "remove access, or write server.auth into the ConfigMap of overrideConfig",
        },
    ),
];

pub const ONE_WAY_IN: Rule = Rule {
    cel: "[has(self.oidc), has(self.kubernetes), has(self.github), has(self.custom), \
          has(self.apiKeys), has(self.gateway)].filter(given, given).size() == 1",
    message: "exactly one way in must be set",
    remedy: "keep one of oidc, kubernetes, github, custom, apiKeys and gateway",
};
pub const INTROSPECTION_XOR_KEYS: Rule = Rule {
    cel: "!(has(self.introspection) && has(self.jwksUri))",
    message: "introspection and jwksUri are mutually exclusive",
    remedy: "remove jwksUri to ask the provider about every token, or introspection to use its keys",
};
/// At the spec.
pub const ACCESS_EXCLUDES_COMMAND: Rule = Rule {
    cel: "!has(self.access) || !has(self.workload) || !has(self.workload.overrides) || \
          !has(self.workload.overrides.command) || self.workload.overrides.command.size() == 0",
    message: "a command of your own and access are mutually exclusive",
    remedy: "remove command: with access the server is started by a program that sees that it asks for tokens",
};
/// At the spec.
pub const ACCESS_EXCLUDES_ARGS: Rule = Rule {
    cel: "!has(self.access) || !has(self.workload) || !has(self.workload.overrides) || \
          !has(self.workload.overrides.args) || self.workload.overrides.args.size() == 0",
    message: "arguments of your own and access are mutually exclusive",
    remedy: "remove args: they could serve paths under other names, or take a caller's word for its address",
};
/// At the spec: each process would take the port for itself, and only the first gets it.
pub const METRICS_ONE_WORKER: Rule = Rule {
    cel: "!has(self.monitoring) || !has(self.monitoring.metrics) || !self.monitoring.metrics.enabled || \
          !has(self.workload) || !has(self.workload.workers) || self.workload.workers < 2",
    message: "metrics need a server of one worker",
    remedy: "remove workers and use replicas, or send metrics by monitoring.otlp",
};
/// At the spec.
pub const METRICS_PORT_OF_ITS_OWN: Rule = Rule {
    cel: "!has(self.monitoring) || !has(self.monitoring.metrics) || !self.monitoring.metrics.enabled || \
          (has(self.monitoring.metrics.port) ? self.monitoring.metrics.port : 9464) != \
          (has(self.networking) && has(self.networking.port) ? self.networking.port : 8321)",
    message: "metrics need a port of their own",
    remedy: "set monitoring.metrics.port to another port than the server's",
};
pub const PERMIT_XOR_FORBID: Rule = Rule {
    cel: "has(self.permit) != has(self.forbid)",
    message: "exactly one of permit and forbid must be set",
    remedy: "say either what is permitted or what is forbidden",
};
pub const SINGLE_NEEDS_TENANT: Rule = Rule {
    cel: "self.mode != 'single' || has(self.defaultTenantId)",
    message: "mode single needs defaultTenantId",
    remedy: "set defaultTenantId to the tenant of all callers",
};

pub const REDIS_NEEDS_ENDPOINT: Rule = Rule {
    cel: "!(has(self.type) && self.type == 'redis') || has(self.endpoint)",
    message: "type redis needs endpoint",
    remedy: "set endpoint to redis://HOST:PORT, or rediss:// for TLS",
};
pub const ENDPOINT_IS_FOR_REDIS: Rule = Rule {
    cel: "!has(self.endpoint) || (has(self.type) && self.type == 'redis')",
    message: "endpoint is only for type redis",
    remedy: "set type to redis, or remove endpoint",
};
pub const PASSWORD_IS_FOR_REDIS: Rule = Rule {
    cel: "!has(self.password) || (has(self.type) && self.type == 'redis')",
    message: "password is only for type redis",
    remedy: "set type to redis, or remove password",
};
pub const ENDPOINT_WITHOUT_CREDENTIALS: Rule = Rule {
    cel: "!has(self.endpoint) || !self.endpoint.contains('@')",
    message: "endpoint must not hold a user or a password",
    remedy: "put the password into a Secret and name it in password",
};
pub const POSTGRES_NEEDS_CONNECTION_STRING: Rule = Rule {
    cel: "!(has(self.type) && self.type == 'postgres') || has(self.connectionString)",
    message: "type postgres needs connectionString",
    remedy: "name the Secret and key that hold the connection string",
};
pub const CONNECTION_STRING_IS_FOR_POSTGRES: Rule = Rule {
    cel: "!has(self.connectionString) || (has(self.type) && self.type == 'postgres')",
    message: "connectionString is only for type postgres",
    remedy: "set type to postgres, or remove connectionString",
};

/// For secret references whose parents are all typed; below an untyped field CEL never runs, and
/// the schema says the same by `oneOf`.
pub const ONE_SECRET_SPELLING: Rule = Rule {
    cel: "has(self.secretKeyRef) ? !has(self.name) && !has(self.key) : has(self.name) && has(self.key)",
    message: "a secret reference is either {secretKeyRef: {name, key}} or {name, key}",
    remedy: "name the Secret and the key in exactly one of the two spellings",
};

pub const TLS_NEEDS_SECRET: Rule = Rule {
    cel: "!(has(self.enabled) && self.enabled) || has(self.secretName)",
    message: "enabled needs secretName",
    remedy: "set secretName to a Secret of type kubernetes.io/tls",
};

pub const ONE_DISRUPTION_BOUND: Rule = Rule {
    cel: "has(self.minAvailable) != has(self.maxUnavailable)",
    message: "exactly one of minAvailable and maxUnavailable must be set",
    remedy: "keep the one you need",
};

/// What a claim of the user's own has already, and so cannot be asked of it.
pub const EXISTING_CLAIM_EXCLUDES: [(&str, Rule); 4] = [
    (
        "size",
        Rule {
            cel: "!(has(self.existingClaim) && has(self.size))",
            message: "existingClaim and size are mutually exclusive",
            remedy: "remove size; the claim has one of its own",
        },
    ),
    (
        "storageClassName",
        Rule {
            cel: "!(has(self.existingClaim) && has(self.storageClassName))",
            message: "existingClaim and storageClassName are mutually exclusive",
            remedy: "remove storageClassName; the claim has one of its own",
        },
    ),
    (
        "accessModes",
        Rule {
            cel: "!(has(self.existingClaim) && has(self.accessModes))",
            message: "existingClaim and accessModes are mutually exclusive",
            remedy: "remove accessModes; the claim has its own",
        },
    ),
    (
        "deletionPolicy",
        Rule {
            // Retain is the schema's default, and so always there.
            cel: "!(has(self.existingClaim) && has(self.deletionPolicy) && self.deletionPolicy == 'Delete')",
            message: "deletionPolicy Delete is not for existingClaim",
            remedy: "remove deletionPolicy; a claim of your own is yours to delete",
        },
    ),
];

pub const DRAIN_WITHIN_GRACE: Rule = Rule {
    cel: "!has(self.drainSeconds) || !has(self.terminationGracePeriodSeconds) || \
          self.drainSeconds == 0 || self.drainSeconds < self.terminationGracePeriodSeconds",
    message: "drainSeconds must be below terminationGracePeriodSeconds, which includes it",
    remedy: "raise terminationGracePeriodSeconds or lower drainSeconds",
};
pub const READY_WITHIN_DEADLINE: Rule = Rule {
    cel: "!has(self.minReadySeconds) || !has(self.progressDeadlineSeconds) || \
          self.minReadySeconds < self.progressDeadlineSeconds",
    message: "minReadySeconds must be below progressDeadlineSeconds",
    remedy: "raise progressDeadlineSeconds or lower minReadySeconds",
};

pub const MAX_NOT_BELOW_MIN: Rule = Rule {
    cel: "!has(self.minReplicas) || self.maxReplicas >= self.minReplicas",
    message: "maxReplicas must not be below minReplicas",
    remedy: "raise maxReplicas or lower minReplicas",
};
pub const ONE_CPU_TARGET: Rule = Rule {
    cel: "!has(self.targetCPUUtilization) || !has(self.targetCPUUtilizationPercentage) || \
          self.targetCPUUtilization == self.targetCPUUtilizationPercentage",
    message: "targetCPUUtilization and targetCPUUtilizationPercentage are the same field and must not differ",
    remedy: "keep one of the two",
};
pub const ONE_MEMORY_TARGET: Rule = Rule {
    cel: "!has(self.targetMemoryUtilization) || !has(self.targetMemoryUtilizationPercentage) || \
          self.targetMemoryUtilization == self.targetMemoryUtilizationPercentage",
    message: "targetMemoryUtilization and targetMemoryUtilizationPercentage are the same field and must not differ",
    remedy: "keep one of the two",
};

/// `<name>-service` must be a valid Service name. Judged on creation alone: a name cannot be
/// changed, and the status of an object that has a bad one must still be writable.
pub const RESOURCE_NAME: Rule = Rule {
    cel: "oldSelf.hasValue() || (self.metadata.name.size() <= 55 && \
          self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$'))",
    message: "metadata.name must be at most 55 lower-case letters, digits and -, beginning with a letter",
    remedy: "use lower-case letters, digits and -, for example my-stack",
};

/// What a rule says that only the admission policy and the Rust validation can judge, because it
/// looks into fields that are untyped to the CRD. Its CEL is in [`crate::policy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    pub message: &'static str,
    pub remedy: &'static str,
}

pub const PROVIDER_SHAPE: Words = Words {
    message: "must be an object or a list of objects",
    remedy: "write one provider as an object, or several as a list",
};
pub const PROVIDER_REQUIRED: Words = Words {
    message: "each provider needs its type",
    remedy: "set provider to a type, for example vllm",
};
pub const REMOVAL_ALONE: Words = Words {
    message: "an entry that takes a provider away has an id and nothing else beside enabled",
    remedy: "name the provider of the base by its id and remove the other fields, or remove enabled",
};
pub const REMOVED_OR_CONFIGURED: Words = Words {
    message: "a provider is either taken away or configured, and once",
    remedy: "keep one of the entries with this id",
};
pub const AGENTS_OR_RESPONSES: Words = Words {
    message: "agents and responses are the same API under two names",
    remedy: "move all entries to one of the two",
};
pub const IDS_REQUIRED: Words = Words {
    message: "each of several providers of one API needs an id",
    remedy: "add an id that is unique over all providers",
};
pub const IDS_UNIQUE: Words = Words {
    message: "provider ids must be unique over all APIs",
    remedy: "give each provider an id of its own",
};
pub const HOST_SHAPE: Words = Words {
    message: "must be a string or a secret reference",
    remedy: "put the host in quotes, or name the Secret and the key",
};
pub const DEPLOYMENT_NAME_IS_FOR_AZURE: Words =
    Words { message: "deploymentName is only for provider azure", remedy: "remove deploymentName" };
pub const ONE_API_KEY: Words = Words {
    message: "apiKey and secretRefs.api_key set the same field",
    remedy: "keep one of the two",
};
pub const SETTINGS_OR_CONFIG: Words = Words {
    message: "settings and config are the same field under two names",
    remedy: "move all keys to settings",
};
pub const NAME_OR_OBJECT: Words = Words {
    message: "must be a name or an object",
    remedy: "write the name as a string, or an object with a name",
};
pub const UNKNOWN_FIELDS: Words =
    Words { message: "unknown field", remedy: "correct the spelling or remove it" };
pub const EMBEDDING_DIMENSION: Words = Words {
    message: "modelType embedding needs embeddingDimension",
    remedy: "set embeddingDimension to the length of the model's vectors",
};
pub const EXPOSE_SHAPE: Words = Words {
    message: "must be true, false or an object",
    remedy: "write true, or an object with a hostname",
};
pub const CONDITION_SHAPE: Words = Words {
    message: "must be a string or a list of strings",
    remedy: "write one condition as a string, or several as a list",
};
pub const WHEN_OR_UNLESS: Words = Words {
    message: "when and unless are mutually exclusive",
    remedy: "keep one of the two, or write two rules",
};
/// The sentences of all releases.
pub const CONDITION_SENTENCE: Words = Words {
    message: "no condition that the server understands",
    remedy: "write `user is owner`, `user in owners NAME`, `user with VALUE in NAME`, `resource is unowned`, \
             or one of the first three with `not`",
};
/// A v1alpha1 client that replaces an object would open its server without a word.
pub const ACCESS_IS_CARRIED: Words = Words {
    message: "v1alpha1 has no field for access, and this change would drop it",
    remedy: "keep the annotation llamastack.io/v1alpha2-extras, or remove access through v1alpha2",
};
