//! `make fuzz-servers`: random resources against real servers; prints each disagreement once, as a golden case.

use std::num::NonZero;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use clap::Parser;
use llsd_server_fuzzer::golden::golden_case;
use llsd_server_fuzzer::run::{Range, Report, run, run_mutated_samples};
use llsd_testkit::Release;

/// Tries random resources on which the operator and real servers must agree
#[derive(Debug, Parser)]
struct Arguments {
    /// Releases of the server, divided by commas, or `all`
    #[arg(long, default_value = "all")]
    releases: String,

    /// So many resources for each release
    #[arg(long, default_value_t = u64::MAX >> 16)]
    count: u64,

    /// So many seconds for each release
    #[arg(long)]
    seconds: Option<u64>,

    /// The seed of the first resource
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// So many processes for a release; as many as there are processors, unless told
    #[arg(long)]
    jobs: Option<NonZero<usize>>,

    /// Samples with a mistake in place of random resources
    #[arg(long)]
    mutated_samples: bool,

    /// Show what is refused here and a server would have taken
    #[arg(long)]
    doubtful: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let releases: Vec<Release> = match arguments.releases.as_str() {
        "all" => Release::all(),
        some => some.split(',').map(|name| name.trim().parse()).collect::<Result<_, _>>()?,
    };
    let mut agree = true;
    for release in releases {
        let begun = Instant::now();
        let report = shared(release, &arguments)?;
        let (mistakes, doubtful) = (report.mistakes().count(), report.doubtful().count());
        println!(
            "{release}: {} resources in {:.0?}, {} generated, {mistakes} kinds of disagreements, {doubtful} of doubtful refusals",
            report.tried,
            begun.elapsed(),
            report.generated,
        );
        agree &= mistakes == 0;
        for (count, finding) in report.mistakes() {
            println!("\n--- {count} times\n{}", golden_case(finding));
        }
        for (count, finding) in report.doubtful() {
            println!("doubtful, {count} times: {}", finding.what);
            if arguments.doubtful {
                println!("{}", golden_case(finding));
            }
        }
    }
    Ok(if agree { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Every job does its share.
fn shared(release: Release, arguments: &Arguments) -> anyhow::Result<Report> {
    let jobs = arguments.jobs.or_else(|| thread::available_parallelism().ok());
    let jobs = jobs.map_or(1, |jobs| jobs.get() as u64).min(arguments.count.max(1));
    let time = arguments.seconds.map(Duration::from_secs);
    release.install()?;
    let run = if arguments.mutated_samples { run_mutated_samples } else { run };
    let start = |number: u64| {
        let count = arguments.count / jobs;
        let range = Range { first: arguments.seed + number * count, count, time };
        thread::spawn(move || run(release, range))
    };
    let shares: Vec<_> = (0..jobs).map(start).collect();
    let mut report = Report::default();
    for share in shares {
        report.add(share.join().map_err(|_| anyhow!("a share of the work panicked"))??);
    }
    Ok(report)
}
