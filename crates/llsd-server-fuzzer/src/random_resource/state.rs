//! `spec.storage` and `spec.disabled`.

use serde_json::{Map, json};

use super::maker::Maker;

impl Maker<'_> {
    pub(super) fn storage(&mut self) {
        if !self.random.chance(25) {
            return;
        }
        let secret = json!({"name": "state", "key": "value"});
        let mut storage = Map::new();
        if self.random.chance(60) {
            let kv = match self.random.below(4) {
                0 => json!({"type": "sqlite"}),
                1 => json!({"type": "redis", "endpoint": "redis://redis.example.com:6379"}),
                2 => json!({"type": "redis", "endpoint": "redis.example.com:6380"}),
                _ => {
                    json!({"type": "redis", "endpoint": "rediss://redis.example.com:6379/2", "password": secret})
                }
            };
            storage.insert("kv".to_owned(), kv);
        }
        if self.random.chance(60) {
            let sql = match self.random.below(3) {
                0 => json!({"type": "sqlite"}),
                _ => json!({"type": "postgres", "connectionString": secret}),
            };
            storage.insert("sql".to_owned(), sql);
        }
        self.spec.insert("storage".to_owned(), storage.into());
    }

    pub(super) fn disabled(&mut self) {
        if !self.random.chance(20) {
            return;
        }
        let mut names: Vec<String> = self.types.iter().map(|known| known.api.clone()).collect();
        names.extend(self.base.providers().into_iter().map(|provider| provider.api));
        names.sort();
        names.dedup();
        let mut chosen: Vec<String> = Vec::new();
        for _ in 0..=self.random.below(3) {
            let Some(name) = self.random.one_of(&names).cloned() else { continue };
            let name = if self.random.chance(70) { in_camel_case(&name) } else { name };
            if !chosen.contains(&name) {
                chosen.push(name);
            }
        }
        self.spec.insert("disabled".to_owned(), json!(chosen));
    }
}

/// `vectorIo` of `vector_io`.
fn in_camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |all, word| {
        let (initial, rest) = word.split_at(word.len().min(1));
        all + &initial.to_ascii_uppercase() + rest
    })
}
