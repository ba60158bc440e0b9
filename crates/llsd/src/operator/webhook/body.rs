//! Reads what was sent, within bounds: of one body, and of all that are held at the same time.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use futures::StreamExt;
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

/// Of one body. A page of a list has up to 500 objects, so 64 KiB of each pass; what a resource
/// usually needs is 2 KiB, and one alone may have 3 MiB.
pub(super) const BODY: usize = 32 << 20;

/// Room for all small bodies together, counted by what each takes while it is answered.
const SMALL_BODIES: usize = 16 << 20;

/// A body that takes more than this while it is answered is large. Large bodies are read and
/// answered one at a time, so that several of them cannot add up.
const SMALL: usize = 1 << 20;

/// How many large bodies are held at once: one is read and answered, the others wait for it with what
/// was read of them while they were small.
const LARGE_BODIES: usize = 16;

/// How long a caller may take to send a body, without the time that it waits for room here. The API
/// server takes milliseconds.
const ARRIVAL: Duration = Duration::from_secs(3);

/// What one value of an object takes while the object is processed, at most.
const VALUE: usize = 400;

/// The unit in which room is counted.
const PIECE: usize = 16 << 10;

/// Room for the bodies that are being read and answered.
#[derive(Clone, Debug)]
pub(super) struct Room {
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
    turn: Arc<Semaphore>,
}

/// A body, and the room it takes as long as it is there.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) bytes: Vec<u8>,
    small: Option<OwnedSemaphorePermit>,
    large: Option<Large>,
}

/// The place among the large bodies, and the turn to be read and answered.
#[derive(Debug)]
struct Large {
    _place: OwnedSemaphorePermit,
    _turn: OwnedSemaphorePermit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum Unread {
    #[error("the body has more than {BODY} bytes")]
    TooLarge,
    #[error("the body ended early")]
    Broken,
    #[error("the body took more than {} s to arrive", ARRIVAL.as_secs())]
    Slow,
    #[error("{LARGE_BODIES} large bodies are being answered; try again")]
    Busy,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            small: Arc::new(Semaphore::new(SMALL_BODIES / PIECE)),
            large: Arc::new(Semaphore::new(LARGE_BODIES)),
            turn: Arc::new(Semaphore::new(1)),
        }
    }
}

impl Room {
    /// Takes room as bytes arrive, so that a caller that announces much and sends nothing takes
    /// none. Waits while there is no room; the caller of this function sets the limit on that.
    pub(super) async fn receive(&self, body: Body) -> Result<Received, Unread> {
        let mut received = Received { bytes: Vec::new(), small: None, large: None };
        let mut values = 0;
        let mut pieces = body.into_data_stream();
        let mut time_left = ARRIVAL;
        loop {
            let began = Instant::now();
            let next = timeout(time_left, pieces.next()).await.map_err(|_| Unread::Slow)?;
            time_left = time_left.saturating_sub(began.elapsed());
            let Some(piece) = next else { return Ok(received) };
            let piece = piece.map_err(|_| Unread::Broken)?;
            let length = received.bytes.len() + piece.len();
            if length > BODY {
                return Err(Unread::TooLarge);
            }
            values += piece.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
            // Twice: for what comes in and for what goes out.
            received.make_room(self, 2 * length + values * VALUE).await?;
            received.bytes.extend_from_slice(&piece);
        }
    }
}

impl Received {
    /// Takes room for `total` bytes, among the small bodies or as a large one. A body that waits for
    /// its turn as a large one takes no room from small ones, so these are answered meanwhile.
    async fn make_room(&mut self, room: &Room, total: usize) -> Result<(), Unread> {
        if self.large.is_some() {
            return Ok(());
        }
        if total > SMALL {
            let place = Arc::clone(&room.large).try_acquire_owned().map_err(|_| Unread::Busy)?;
            self.small = None;
            let turn = Arc::clone(&room.turn).acquire_owned().await.map_err(|_| Unread::Busy)?;
            self.large = Some(Large { _place: place, _turn: turn });
            return Ok(());
        }
        let counted = self.small.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let more = total.div_ceil(PIECE).saturating_sub(counted);
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        let more = Arc::clone(&room.small).acquire_many_owned(more).await;
        let more = more.map_err(|_| Unread::Busy)?;
        match &mut self.small {
            Some(small) => small.merge(more),
            none => *none = Some(more),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Bytes;
    use futures::stream;
    use tokio::time::sleep;

    use super::*;

    const MOMENT: Duration = Duration::from_millis(50);

    async fn received(room: &Room, body: impl Into<Body>) -> Option<Received> {
        timeout(MOMENT, room.receive(body.into()))
            .await
            .ok()
            .map(|received| received.expect("read"))
    }

    #[tokio::test(start_paused = true)]
    async fn large_bodies_are_answered_one_at_a_time_and_small_ones_beside_them() {
        let room = Room::default();
        let first = received(&room, vec![b'0'; BODY]).await.expect("the largest body is read");
        assert!(received(&room, vec![b'0'; SMALL]).await.is_none(), "the second large body waits");
        // Few bytes, and many values.
        assert!(received(&room, vec![b','; 4 << 10]).await.is_none(), "and so does this one");
        assert_eq!(received(&room, "{}").await.expect("a small body is read").bytes, b"{}");
        drop(first);
        assert!(received(&room, vec![b'0'; SMALL]).await.is_some(), "the next large body is read");
    }

    #[tokio::test(start_paused = true)]
    async fn small_bodies_share_their_room_and_give_it_back() {
        let room = Room::default();
        let at_once = SMALL_BODIES / SMALL;
        let mut held = Vec::new();
        for _ in 0..at_once {
            held.push(received(&room, vec![b'0'; SMALL / 2]).await.expect("there is room"));
        }
        assert!(received(&room, "{}").await.is_none(), "there is no room");
        held.pop();
        assert!(received(&room, "{}").await.is_some(), "there is room again");
    }

    #[tokio::test(start_paused = true)]
    async fn few_large_bodies_wait_and_small_ones_do_not_wait_for_them() {
        let room = Room::default();
        let mut waiting: Vec<_> =
            (0..LARGE_BODIES).map(|_| Box::pin(room.receive(vec![b'0'; SMALL].into()))).collect();
        let first = futures::poll!(waiting[0].as_mut());
        assert!(first.is_ready(), "the first one has its turn");
        for large in &mut waiting[1..] {
            assert!(futures::poll!(large.as_mut()).is_pending());
        }
        let refused = room.receive(vec![b'0'; SMALL].into()).await;
        assert_eq!(refused.map(drop), Err(Unread::Busy));
        assert!(received(&room, "{}").await.is_some(), "a small body is read");
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_sends_slowly_is_refused() {
        let drip = stream::unfold((), |()| async {
            sleep(Duration::from_secs(1)).await;
            Some((Ok::<_, std::io::Error>(Bytes::from_static(b" ")), ()))
        });
        let began = Instant::now();
        let refused = Room::default().receive(Body::from_stream(drip)).await;
        assert_eq!(refused.map(drop), Err(Unread::Slow));
        assert_eq!(began.elapsed(), ARRIVAL);
    }

    #[tokio::test]
    async fn a_body_above_the_limit_is_refused() {
        let refused = Room::default().receive(vec![b'0'; BODY + 1].into()).await;
        assert_eq!(refused.map(drop), Err(Unread::TooLarge));
    }
}
