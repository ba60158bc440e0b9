//! What nodes do: they pull images, and run the pods of the Deployment and of preflight Jobs.

use super::state::World;
use crate::wish::Mood;

impl World {
    /// Makes the pods of Jobs, which a quota may deny, and starts them once their image is there.
    pub(super) fn run_jobs(&mut self) {
        let (is_denied, is_away) = (self.given.trouble.quota, self.given.trouble.registry_away);
        for job in &mut self.jobs {
            let before = (job.has_pod, job.has_image);
            job.has_pod |= !is_denied;
            job.has_image |= job.has_pod && has_image(&mut self.images, &job.image, is_away);
            self.revision += u64::from(before != (job.has_pod, job.has_image));
        }
    }

    /// Pods become available a tick after they were made, if they have luck and their image is there.
    pub(super) fn run_pods(&mut self) {
        let (now, is_away) = (self.now, self.given.trouble.registry_away);
        for set in &mut self.replica_sets {
            for pod in &mut set.pods {
                pod.has_image |= has_image(&mut self.images, &set.template.image, is_away);
                let is_lucky = set.template.mood == Mood::Good;
                pod.is_available = is_lucky && pod.has_image && pod.created < now;
            }
        }
    }
}

/// Whether the nodes have an image, or can get it.
fn has_image(images: &mut Vec<String>, image: &str, is_away: bool) -> bool {
    let is_there = images.iter().any(|known| known == image);
    if !is_there && !is_away {
        images.push(image.to_owned());
    }
    is_there || !is_away
}
