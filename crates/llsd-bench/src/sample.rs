//! What a process takes of the machine over time, beside how far it is; and what figures have in common.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use crate::operator::{cpu, descriptors, memory};
use crate::readiness::Counter;

/// One moment.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// In seconds since the first one.
    pub at: f64,
    /// In megabytes, without swap.
    pub memory: f64,
    pub descriptors: usize,
    /// In seconds of a core, since the process started.
    pub cpu: f64,
    /// Resources that are Ready.
    pub ready: usize,
}

/// Samples a process until it is dropped.
#[derive(Debug)]
pub struct Sampler {
    samples: Arc<Mutex<Vec<Sample>>>,
    task: JoinHandle<()>,
}

impl Sampler {
    pub fn start(process: u32, ready: Counter, every: Duration) -> Self {
        let samples = Arc::new(Mutex::new(Vec::new()));
        let theirs = Arc::clone(&samples);
        let begun = Instant::now();
        let task = tokio::spawn(async move {
            // A process that has ended has no more samples.
            while let (Ok(memory), Ok(cpu), Ok(descriptors)) =
                (memory(process), cpu(process), descriptors(process))
            {
                let sample = Sample {
                    at: begun.elapsed().as_secs_f64(),
                    memory: memory.megabytes(),
                    descriptors,
                    cpu: cpu.as_secs_f64(),
                    ready: ready.now(),
                };
                theirs.lock().unwrap_or_else(PoisonError::into_inner).push(sample);
                tokio::time::sleep(every).await;
            }
        });
        Self { samples, task }
    }

    pub fn samples(&self) -> Vec<Sample> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The slope of the line that fits best, by least squares; none through fewer than two values of `x`.
pub fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let mean = |value: fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>() / count;
    let (x_mean, y_mean) = (mean(|it| it.0), mean(|it| it.1));
    let above: f64 = points.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    let below: f64 = points.iter().map(|(x, _)| (x - x_mean).powi(2)).sum();
    (below > 0.0).then(|| above / below)
}

/// The value that this share of all does not exceed; zero of none.
pub fn percentile(values: &[Duration], share: f64) -> Duration {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a length is a place in it"
    )]
    let place = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(place.saturating_sub(1)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_is_of_the_line_that_fits_best() {
        assert_eq!(slope(&[(100.0, 20.0), (1100.0, 27.0)]), Some(0.007));
        assert_eq!(slope(&[(0.0, 0.0), (1.0, 2.0), (2.0, 2.0)]), Some(1.0));
        assert_eq!(slope(&[(5.0, 1.0), (5.0, 2.0)]), None);
        assert_eq!(slope(&[]), None);
    }

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let values: Vec<Duration> = (1..=200).rev().map(Duration::from_millis).collect();
        assert_eq!(percentile(&values, 0.99), Duration::from_millis(198));
        assert_eq!(percentile(&values, 0.5), Duration::from_millis(100));
        assert_eq!(percentile(&values[..1], 0.99), Duration::from_millis(200));
        assert_eq!(percentile(&[], 0.99), Duration::ZERO);
    }
}
