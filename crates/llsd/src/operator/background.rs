//! Tasks that go on for as long as the operator leads. One that ends has met a bug: whatever relies on it must
//! not go on as if it were there, so the term ends with it, and the next one reads everything anew.

use std::panic::resume_unwind;

use tokio::task::{JoinError, JoinSet};

/// Works until the work is done, which it returns, or one of the tasks has ended.
pub(super) async fn until_one_ends(
    work: impl Future<Output = ()>,
    tasks: &mut JoinSet<()>,
) -> bool {
    tokio::select! {
        () = work => true,
        Some(ended) = tasks.join_next() => {
            let error = ended.err().map(|error| error.to_string()).unwrap_or_default();
            tracing::error!(error, "a bug in the operator: a background task ended; everything is read again");
            false
        }
    }
}

/// Panics where a task did.
pub(super) fn pass_on_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        resume_unwind(error.into_panic());
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn the_term_ends_with_a_task_that_panics_also_below_another_one() {
        let mut tasks = JoinSet::new();
        tasks.spawn(pending());
        tasks.spawn(async {
            let mut inner = JoinSet::new();
            inner.spawn(async { panic!("a bug") });
            let cancelled = inner.spawn(pending());
            cancelled.abort();
            while let Some(ended) = inner.join_next().await {
                pass_on_panic(ended);
            }
            pending::<()>().await;
        });
        assert!(!until_one_ends(pending(), &mut tasks).await);
        assert_eq!(tasks.len(), 1);
        assert!(until_one_ends(async {}, &mut tasks).await);
    }
}
