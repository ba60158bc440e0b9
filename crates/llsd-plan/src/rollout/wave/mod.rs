//! A change of an input that several servers share, such as a bundle of certificate authorities, reaches a few
//! of them at a time: one wave. What is known of it is recorded on the Deployments ([`Wave`]), so that another
//! operator continues it; who may go next is decided in [`Waves`].

mod budget;
mod change;
mod line;
mod note;
mod order;
mod record;
mod servers;
mod sources;
mod turn;
mod waves;

pub use budget::{Budget, Fleet, Share};
pub use change::{SharedChange, shared_change};
pub use record::{Member, MemberStage, Wave};
pub use servers::KnownServers;
pub use sources::{Source, names_source};
pub use turn::Turn;
pub use waves::{Candidate, Course, GATHERING, Waiting, WaveProgress, Waves};

pub(super) use note::note;
