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

/// Room for the bytes of all small bodies that are being read or answered.
const ARRIVING: usize = 8 << 20;

/// Room for what small bodies take while they are answered.
const ANSWERED: usize = 16 << 20;

/// A body that takes more than this while it is answered is large. Large bodies are read and
/// answered one at a time, so that several of them cannot add up.
const SMALL: usize = 1 << 20;

/// How many large bodies are held at once: one is read and answered, the others wait for it with what
/// was read of them while they were small.
const LARGE_BODIES: usize = 16;

/// How long a caller may take to send a body, without the time that it waits for room here. The API
/// server takes milliseconds.
const ARRIVAL: Duration = Duration::from_secs(3);

/// What is left of it to a large body that has its turn, because others wait for that.
const ARRIVAL_IN_TURN: Duration = Duration::from_secs(1);

/// What one value of an object takes while the object is processed, at most.
const VALUE: usize = 400;

/// The unit in which room is counted.
const PIECE: usize = 16 << 10;

/// Room for the bodies that are being read and answered.
#[derive(Clone, Debug)]
pub(super) struct Room {
    arriving: Arc<Semaphore>,
    answered: Arc<Semaphore>,
    large: Arc<Semaphore>,
    turn: Arc<Semaphore>,
}

/// A body, and the room it takes as long as it is there.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) bytes: Vec<u8>,
    /// For its bytes, as long as it is small.
    arriving: Option<OwnedSemaphorePermit>,
    answered: Option<OwnedSemaphorePermit>,
    large: Option<Large>,
    time_left: Duration,
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
    #[error("too many bodies are being answered; try again")]
    Busy,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            arriving: Arc::new(Semaphore::new(ARRIVING / PIECE)),
            answered: Arc::new(Semaphore::new(ANSWERED / PIECE)),
            large: Arc::new(Semaphore::new(LARGE_BODIES)),
            turn: Arc::new(Semaphore::new(1)),
        }
    }
}

impl Room {
    /// Takes room as bytes arrive, so that a caller that announces much and sends nothing takes
    /// none; and room for the values in them once the body is whole, because they are parsed only then.
    /// Waits while there is no room; the caller of this function sets the limit on that.
    pub(super) async fn receive(&self, body: Body) -> Result<Received, Unread> {
        let mut received = Received {
            bytes: Vec::new(),
            arriving: None,
            answered: None,
            large: None,
            time_left: ARRIVAL,
        };
        let mut values = 0;
        let mut pieces = body.into_data_stream();
        while let Some(piece) = received.within_time(pieces.next()).await? {
            let piece = piece.map_err(|_| Unread::Broken)?;
            let length = received.bytes.len() + piece.len();
            if length > BODY {
                return Err(Unread::TooLarge);
            }
            values += piece.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
            received.take_room_for_bytes(self, length).await?;
            received.bytes.extend_from_slice(&piece);
        }
        received.take_room_for_answer(self, values).await?;
        Ok(received)
    }
}

impl Received {
    /// Waits for what the caller does, as long as it has time.
    async fn within_time<T>(&mut self, event: impl Future<Output = T>) -> Result<T, Unread> {
        let began = Instant::now();
        let event = timeout(self.time_left, event).await.map_err(|_| Unread::Slow)?;
        self.time_left = self.time_left.saturating_sub(began.elapsed());
        Ok(event)
    }

    async fn take_room_for_bytes(&mut self, room: &Room, length: usize) -> Result<(), Unread> {
        if answer_size(length, 0) > SMALL {
            return self.become_large(room).await;
        }
        let counted = self.arriving.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let more = pieces(length).saturating_sub(u32::try_from(counted).unwrap_or(u32::MAX));
        let more = Arc::clone(&room.arriving).acquire_many_owned(more);
        if let Some(mut arriving) = self.arriving.take() {
            // Bodies that hold a part of the room and wait for more could wait for each other, so not for long.
            let more = self.within_time(more).await.map_err(|_| Unread::Busy)?;
            arriving.merge(more.map_err(|_| Unread::Busy)?);
            self.arriving = Some(arriving);
        } else {
            self.arriving = Some(more.await.map_err(|_| Unread::Busy)?);
        }
        Ok(())
    }

    async fn take_room_for_answer(&mut self, room: &Room, values: usize) -> Result<(), Unread> {
        let total = answer_size(self.bytes.len(), values);
        if total > SMALL {
            return self.become_large(room).await;
        }
        let answered = Arc::clone(&room.answered).acquire_many_owned(pieces(total)).await;
        self.answered = Some(answered.map_err(|_| Unread::Busy)?);
        Ok(())
    }

    /// A body that waits for its turn as a large one takes no room from small ones, so these are answered
    /// meanwhile.
    async fn become_large(&mut self, room: &Room) -> Result<(), Unread> {
        if self.large.is_some() {
            return Ok(());
        }
        let place = Arc::clone(&room.large).try_acquire_owned().map_err(|_| Unread::Busy)?;
        self.arriving = None;
        let turn = Arc::clone(&room.turn).acquire_owned().await.map_err(|_| Unread::Busy)?;
        self.large = Some(Large { _place: place, _turn: turn });
        self.time_left = self.time_left.min(ARRIVAL_IN_TURN);
        Ok(())
    }
}

/// What a body takes while it is answered; its bytes twice, for what comes in and for what goes out.
fn answer_size(length: usize, values: usize) -> usize {
    2 * length + values * VALUE
}

fn pieces(size: usize) -> u32 {
    u32::try_from(size.div_ceil(PIECE)).unwrap_or(u32::MAX)
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
        let mut held = Vec::new();
        for _ in 0..ANSWERED / SMALL {
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

    /// A body that begins and goes on only much later.
    fn unfinished(begun: impl Into<Bytes>) -> Body {
        let begun = stream::iter([Ok::<_, std::io::Error>(begun.into())]);
        Body::from_stream(begun.chain(stream::pending()))
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_that_never_end_keep_no_other_from_being_answered() {
        let room = Room::default();
        // Of few bytes, and with more values than small bodies have room for.
        let many = vec![b','; SMALL / VALUE + 1];
        let mut begun: Vec<_> =
            (0..64).map(|_| Box::pin(room.receive(unfinished(many.clone())))).collect();
        for unfinished in &mut begun {
            assert!(futures::poll!(unfinished.as_mut()).is_pending());
        }
        assert!(received(&room, "{}").await.is_some(), "a small body is read");
        assert!(received(&room, vec![b'0'; SMALL]).await.is_some(), "a large body is read");
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_that_wait_for_each_other_give_up() {
        let room = Room::default();
        let half = SMALL / 4;
        let grows = || {
            let parts = [0, 1].map(|_| Ok::<_, std::io::Error>(Bytes::from(vec![b'0'; half])));
            let late = stream::iter(parts).then(async |part| {
                sleep(MOMENT).await;
                part
            });
            room.receive(Body::from_stream(late))
        };
        let all = futures::future::join_all((0..ARRIVING / half).map(|_| grows()));
        let ends = timeout(2 * ARRIVAL, all).await.expect("none waits for ever");
        assert!(ends.iter().any(|end| matches!(end, Err(Unread::Busy))));
        drop(ends);
        assert!(received(&room, "{}").await.is_some(), "there is room again");
    }

    #[tokio::test(start_paused = true)]
    async fn a_large_body_that_stalls_gives_its_turn_to_the_next() {
        let room = Room::default();
        let mut stalled = Box::pin(room.receive(unfinished(vec![b'0'; SMALL])));
        assert!(futures::poll!(stalled.as_mut()).is_pending());
        let began = Instant::now();
        let next = room.receive(vec![b'0'; SMALL].into());
        let (stalled, next) = futures::join!(stalled, next);
        assert_eq!(stalled.map(drop), Err(Unread::Slow));
        assert!(next.is_ok() && began.elapsed() == ARRIVAL_IN_TURN);
    }

    #[tokio::test]
    async fn a_body_above_the_limit_is_refused() {
        let refused = Room::default().receive(vec![b'0'; BODY + 1].into()).await;
        assert_eq!(refused.map(drop), Err(Unread::TooLarge));
    }
}
