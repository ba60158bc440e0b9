//! What people and the cluster around the operator have decided. Values that only have to be new count up, and
//! only once between two looks of the operator: nobody can tell two edits from one that nobody saw.

use std::collections::BTreeMap;

use crate::wish::Wish;

/// An annotation of the resource that asks for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ask {
    Retry,
    Refresh,
    Approve,
}

/// What has a new value now and then.
#[derive(Clone, Copy, Debug)]
pub enum News {
    Edition,
    Generation,
    Secret(usize),
    Digest,
    Operator,
    Ask(Ask),
    Back,
}

impl News {
    fn bit(self) -> u16 {
        let place = match self {
            Self::Edition => 0,
            Self::Generation => 1,
            Self::Secret(which) => 2 + which,
            Self::Digest => 4,
            Self::Operator => 5,
            Self::Ask(ask) => 6 + ask as usize,
            Self::Back => 9,
        };
        1 << place
    }
}

/// A request to go back to a state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BackTo {
    /// As a ReplicaSet is named.
    pub hash: String,
    pub number: u8,
}

/// What is in the way in the cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Trouble {
    /// A quota allows no new pod.
    pub quota: bool,
    /// The registry does not answer.
    pub registry_away: bool,
}

/// Everything that is decided elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Given {
    pub wish: Wish,
    pub generation: i64,
    /// Which resource of the name it is, and whether it is there.
    pub resource: u8,
    pub exists: bool,
    pub paused: bool,
    pub asks: [u8; 3],
    pub back_to: Option<BackTo>,
    /// The values of the Secrets.
    pub secrets: [u8; 2],
    /// The operator's key, and its version, with which its own table of images changes.
    pub key: u8,
    pub operator: u8,
    /// What the image's tag points to.
    pub digest: u8,
    pub trouble: Trouble,
    /// What is new since the operator last looked.
    pub(super) unseen: u16,
}

impl Default for Given {
    fn default() -> Self {
        Self {
            wish: Wish::default(),
            generation: 1,
            resource: 1,
            exists: true,
            paused: false,
            asks: [0; 3],
            back_to: None,
            secrets: [1; 2],
            key: 1,
            operator: 0,
            digest: 1,
            trouble: Trouble::default(),
            unseen: 0,
        }
    }
}

impl Given {
    /// Whether this is new only now, and not since before the operator last looked.
    fn is_new(&mut self, news: News) -> bool {
        let is_new = self.unseen & news.bit() == 0;
        self.unseen |= news.bit();
        is_new
    }

    /// Gives what counts up its next value.
    pub fn renew(&mut self, news: News) {
        let step = u8::from(self.is_new(news));
        match news {
            News::Edition => self.wish.edition += step,
            News::Generation => self.generation += i64::from(step),
            News::Secret(which) => self.secrets[which] += step,
            News::Digest => self.digest += step,
            News::Operator => self.operator += step,
            News::Ask(ask) => self.asks[ask as usize] += step,
            News::Back => {
                if let Some(back) = &mut self.back_to {
                    back.number += step;
                }
            }
        }
    }

    /// Changes the resource's spec.
    pub fn edit(&mut self, change: impl FnOnce(&mut Wish)) {
        let before = self.wish;
        change(&mut self.wish);
        if self.wish != before {
            self.renew(News::Generation);
        }
    }

    /// A person deletes the resource.
    pub fn delete(&mut self) {
        self.exists = false;
    }

    /// A person creates the resource again, from the same file.
    pub fn create(&mut self) {
        if self.exists {
            return;
        }
        (self.exists, self.paused, self.generation) = (true, false, 1);
        self.resource += 1;
        self.asks = [0; 3];
        self.back_to = None;
    }

    pub fn ask(&mut self, ask: Ask) {
        self.renew(News::Ask(ask));
    }

    pub fn asked(&self, ask: Ask) -> u8 {
        self.asks[ask as usize]
    }

    pub fn owner(&self) -> String {
        owner(self.resource)
    }

    /// The same after the operator has looked at it.
    #[must_use]
    pub fn seen(&self) -> Self {
        Self { unseen: 0, ..self.clone() }
    }

    /// The same without what is not written in the resource.
    #[must_use]
    pub fn written(&self) -> Self {
        let Self { secrets, key, operator, .. } = Self::default();
        Self { secrets, key, operator, ..self.planned_from() }
    }

    /// The same without what planning does not know, or knows in its own way.
    #[must_use]
    pub fn planned_from(&self) -> Self {
        let Self { exists, digest, trouble, unseen, .. } = Self::default();
        Self { exists, digest, trouble, unseen, ..self.clone() }
    }

    pub fn annotations(&self) -> BTreeMap<&'static str, String> {
        let asks = [
            ("llamastack.io/retry", Ask::Retry),
            ("llamastack.io/refresh", Ask::Refresh),
            ("llamastack.io/approve", Ask::Approve),
        ];
        let asked = asks.into_iter().filter(|(_, ask)| self.asked(*ask) > 0);
        let mut annotations: BTreeMap<_, _> =
            asked.map(|(name, ask)| (name, self.asked(ask).to_string())).collect();
        if self.paused {
            annotations.insert("llamastack.io/paused", "true".to_owned());
        }
        if let Some(BackTo { hash, number }) = &self.back_to {
            annotations.insert("llamastack.io/rollback-to", format!("{hash} {number}"));
        }
        annotations
    }
}

/// The uid of the resource with this number.
pub fn owner(resource: u8) -> String {
    format!("owner-{resource}")
}
