//! `networking`, `monitoring` and `workload`, as far as the configuration hears of them, and variables of one's own.

use serde_json::{Value, json};

use super::maker::Maker;

impl Maker<'_> {
    pub(super) fn pods(&mut self) {
        if self.random.chance(20) {
            let mut networking = json!({"port": 1024 + self.random.below(60_000)});
            if self.random.chance(40) {
                networking["tls"] = json!({"enabled": true, "secretName": "certificate"});
            }
            self.spec.insert("networking".to_owned(), networking);
        }
        if self.random.chance(10) {
            let mut monitoring = json!({});
            if self.random.chance(70) {
                monitoring["otlp"] = json!({"endpoint": "http://collector.example.com:4318"});
            }
            if self.random.chance(30) {
                monitoring["metrics"] = json!({"enabled": true});
            }
            self.spec.insert("monitoring".to_owned(), monitoring);
        }
        let mut workload = json!({});
        if self.random.chance(10) {
            workload["workers"] = json!(1 + self.random.below(4));
        }
        let overrides = self.variables();
        if overrides != json!({}) {
            workload["overrides"] = overrides;
        }
        if workload != json!({}) {
            self.spec.insert("workload".to_owned(), workload);
        }
    }

    /// What the base asks for, one by one or as whole objects.
    fn variables(&mut self) -> Value {
        let mut overrides = json!({});
        let mut single = Vec::new();
        for (name, variable) in self.base.variables.iter() {
            if self.random.chance(if variable.required { 90 } else { 4 }) {
                let from = json!({"secretKeyRef": {"name": "variables", "key": "value"}});
                // A secret text stands for any value, so for none of a certain form.
                single.push(match variable.fitting.as_str() {
                    "a-value" if self.random.chance(30) => json!({"name": name, "valueFrom": from}),
                    fitting => json!({"name": name, "value": fitting}),
                });
            }
        }
        if !single.is_empty() {
            overrides["env"] = single.into();
        }
        if self.random.chance(15) {
            let source = if self.random.chance(50) { "secretRef" } else { "configMapRef" };
            overrides["envFrom"] = json!([{source: {"name": "more-variables"}}]);
        }
        overrides
    }
}
