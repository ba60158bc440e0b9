//! Why a container does not start, in the words that a kubelet shows while it waits.

/// Reason and message of a waiting container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

impl Refusal {
    /// Something that an environment variable names is not there.
    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        Self { reason: "CreateContainerConfigError", message: message.into() }
    }

    /// The container cannot be made as it is described.
    pub(crate) fn create(message: impl Into<String>) -> Self {
        Self { reason: "CreateContainerError", message: message.into() }
    }

    /// Nothing stands for the image.
    pub(crate) fn image(image: &str) -> Self {
        Self { reason: "ErrImagePull", message: format!("nothing stands in for the image {image}") }
    }

    /// Volumes or network are not ready yet.
    pub(crate) fn preparing(message: impl Into<String>) -> Self {
        Self { reason: "ContainerCreating", message: message.into() }
    }
}
