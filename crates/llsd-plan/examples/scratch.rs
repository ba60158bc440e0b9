use llsd_plan::plan::{Outcome, plan};
fn main() {
    for file in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&file).unwrap();
        let value = llsd_plan::document::read(&text).unwrap();
        let value = llsd_api::conversion::convert(value, llsd_api::conversion::Version::V1Alpha2);
        println!("=== {file}");
        let mut facts = llsd_plan::facts::Facts::default();
        if let Ok(base) = std::env::var("BASE") {
            facts.image.base = Some(llsd_plan::facts::BaseFacts {
                text: std::fs::read_to_string(&base).unwrap(),
                source: llsd_plan::facts::BaseSource::File,
                found_in: Some(base),
            });
        }
        match plan(&value, &facts) {
            Outcome::Planned(plan) => {
                for w in &plan.warnings {
                    println!("W {}: {} -> {}", w.path, w.message, w.remedy);
                }
                println!("{} objects", plan.objects.in_order().len());
                if let Some(g) = &plan.generated {
                    println!("{:?} {} {}", g.counts, g.release, g.text.len());
                    if std::env::var("V").is_ok() {
                        println!("{}", g.text)
                    }
                }
            }
            Outcome::Refused(f) => {
                for w in &f.problems {
                    println!("P {}: {} -> {}", w.path, w.message, w.remedy);
                }
                for w in &f.warnings {
                    println!("W {}: {} -> {}", w.path, w.message, w.remedy);
                }
            }
            Outcome::Unavailable { missing, .. } => {
                for w in &missing {
                    println!("U {}: {} -> {}", w.path, w.message, w.remedy);
                }
            }
        }
    }
}
