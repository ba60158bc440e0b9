//! A pod template, read once.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use crate::wish::{MOOD, Mood, SECRETS};

/// A pod template, and what is asked about it again and again.
#[derive(Clone, Debug)]
pub struct Template {
    pub json: Value,
    /// Stands for it, as `pod-template-hash` does.
    pub hash: String,
    pub mood: Mood,
    pub port: i64,
    pub image: String,
    /// What it is, without what only says from which values and which image it was made.
    pub identity: String,
    /// Which Secrets its pods read.
    pub reads: [bool; 2],
}

impl Template {
    pub fn read(json: Value) -> Self {
        let text = json.to_string();
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let container = &json["spec"]["containers"][0];
        let env = container["env"].as_array().into_iter().flatten();
        let mut moods = env.filter(|variable| variable["name"] == MOOD);
        let wish = moods.find_map(|it| it["value"].as_str()).unwrap_or_default().to_owned();
        let port = container["ports"][0]["containerPort"].as_i64().unwrap_or_default();
        let has_volume = text.contains("\"persistentVolumeClaim\"");
        Self {
            hash: format!("{:010x}", hasher.finish() & 0xff_ffff_ffff),
            mood: match wish.split('-').next() {
                Some("Refused") => Mood::Refused,
                Some("Broken") => Mood::Broken,
                _ => Mood::Good,
            },
            port,
            image: container["image"].as_str().unwrap_or_default().to_owned(),
            identity: identity(&wish, port, has_volume),
            reads: SECRETS.map(|name| text.contains(&format!("\"name\":\"{name}\""))),
            json,
        }
    }
}

/// What a template is, or is to be.
pub fn identity(wish: &str, port: i64, has_volume: bool) -> String {
    let volume = if has_volume { " with a volume" } else { "" };
    format!("{wish} on {port}{volume}")
}
