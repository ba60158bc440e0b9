//! How long `llsd validate` takes for large files: as much as a resource may hold, and far more. The time of
//! each grows with the size of the file and not with its square. `cargo bench -p llsd-offline`.

use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

use llsd_offline::{Input, Report, Source, validate};
use llsd_plan::facts::Facts;

const ROUNDS: usize = 5;

fn main() {
    println!("the most that is accepted, 256 models and 19,000 settings: {:?}", time(&accepted()));
    for count in [1_000, 10_000, 100_000] {
        println!("{count} models: {:?}", time(&models(count)));
    }
    for count in [1_000, 10_000] {
        println!("{count} unknown fields: {:?}", time(&unknown_fields(count)));
    }
    for count in [1_000, 10_000] {
        println!("{count} resources, each in a file: {:?}", time_of_files(count));
    }
}

fn accepted() -> String {
    let mut text = resource("large");
    text.push_str(
        "  providers:\n    inference:\n      provider: vllm\n      endpoint: http://vllm:8000\n",
    );
    text.push_str("      settings:\n");
    for number in 0..19_000 {
        let _ = writeln!(text, "        key{number}: {number}");
    }
    text.push_str("  resources:\n    models:\n");
    for number in 0..256 {
        let _ = writeln!(text, "    - model-{number}");
    }
    text
}

fn models(count: usize) -> String {
    let mut text = resource("many");
    text.push_str("  resources:\n    models:\n");
    for number in 0..count {
        let _ = writeln!(text, "    - model-{number}");
    }
    text
}

fn unknown_fields(count: usize) -> String {
    let mut text = resource("misspelt");
    for number in 0..count {
        let _ = writeln!(text, "  field{number}: {number}");
    }
    text
}

fn resource(name: &str) -> String {
    format!(
        "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\n\
         metadata: {{name: {name}, namespace: demo}}\nspec:\n  distribution: {{name: starter}}\n"
    )
}

fn validated(sources: &[Source]) -> Report {
    let mut input = Input { facts: Some(Facts::default()), ..Input::default() };
    for source in sources {
        input.add(source);
    }
    validate(input)
}

fn time(text: &str) -> Duration {
    let source = [Source::new("stack.yaml", text.as_bytes().to_vec())];
    median(|| drop(black_box(validated(&source).to_text())))
}

fn time_of_files(count: usize) -> Duration {
    let text = resource("one");
    let sources: Vec<Source> = (0..count)
        .map(|number| Source::new(format!("{number}.yaml"), text.as_bytes().to_vec()))
        .collect();
    median(|| drop(black_box(validated(&sources).to_text())))
}

fn median(run: impl Fn()) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[ROUNDS / 2]
}
