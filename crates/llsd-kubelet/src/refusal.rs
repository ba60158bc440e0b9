//! Why a container does not start, in the words that a kubelet shows while it waits.

const ERR_IMAGE_PULL: &str = "ErrImagePull";
const PATIENCE: u32 = 5;

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

    /// The same after so many failures: a kubelet calls it by another name once it waits longer and
    /// longer for an image.
    pub(crate) fn after(self, failures: u32) -> Self {
        let waits = failures >= PATIENCE && self.reason == ERR_IMAGE_PULL;
        Self { reason: if waits { "ImagePullBackOff" } else { self.reason }, ..self }
    }

    /// Nothing stands for the image.
    pub(crate) fn image(image: &str) -> Self {
        let message = format!("nothing stands in for the image {image}");
        Self { reason: ERR_IMAGE_PULL, message }
    }

    /// Volumes or network are not ready yet.
    pub(crate) fn preparing(message: impl Into<String>) -> Self {
        Self { reason: "ContainerCreating", message: message.into() }
    }
}
