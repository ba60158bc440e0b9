//! Bytes from one side to the other, unseen, and the last words to a client that cannot be served.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy, split};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::failure::Failure;

/// How long one side may go on after the other has ended. Redis ends at once when its client does,
/// and nothing that a client sends is of use when Redis has ended; but a client that never looks at
/// its idle connection must not hold its place for ever.
const FAREWELL: Duration = Duration::from_secs(30);

/// How long a refused client may take to read why.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Passes bytes both ways until both sides have ended. An idle connection may last for ever: a
/// client may be waiting in a blocking command.
///
/// `tokio::io::copy_bidirectional` does the same, but waits without limit for the second side.
pub(super) async fn pass(
    mut client: TcpStream,
    redis: impl AsyncRead + AsyncWrite,
) -> io::Result<()> {
    let (mut from_client, mut to_client) = client.split();
    let (mut from_redis, mut to_redis) = split(redis);
    // An error ends its direction as an end does: Redis's last reply should still get through when
    // it has stopped reading.
    let up = async {
        let copied = copy(&mut from_client, &mut to_redis).await;
        let _ = to_redis.shutdown().await;
        copied
    };
    let down = async {
        let copied = copy(&mut from_redis, &mut to_client).await;
        let _ = to_client.shutdown().await;
        copied
    };
    tokio::pin!(up, down);
    let (one, other) = tokio::select! {
        ended = &mut up => (ended, timeout(FAREWELL, down).await),
        ended = &mut down => (ended, timeout(FAREWELL, up).await),
    };
    one?;
    other.unwrap_or(Ok(0))?;
    Ok(())
}

/// Tells a client why it is not served, and closes.
pub(super) async fn refuse(mut client: TcpStream, failure: Failure) {
    let said = async {
        client.write_all(failure.reply().as_bytes()).await?;
        client.shutdown().await?;
        // Closing while the client's first command lies unread would reset the connection, and the
        // reply could be lost with it.
        let mut unread = [0; 1024];
        for _ in 0..64 {
            if client.read(&mut unread).await? == 0 {
                break;
            }
        }
        io::Result::Ok(())
    };
    // A client that went away does not need to know.
    let _ = timeout(LAST_WORDS, said).await;
}

/// The same without waiting for anything, for when there is no room to wait.
pub(super) fn refuse_at_once(client: &TcpStream, failure: Failure) {
    let _ = client.try_write(failure.reply().as_bytes());
}
