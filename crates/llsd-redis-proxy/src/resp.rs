//! As much of Redis's protocol as a greeting takes: commands as arrays of bulk strings, which hold
//! any bytes, and replies of one line. What clients and Redis say to each other is not looked at.

use tokio::io::{AsyncRead, AsyncReadExt};

use super::failure::Failure;

/// Redis answers a greeting with some ten bytes, and refuses it with less than 200. An upstream
/// that goes on without a line break is not Redis and gets no more memory than this.
const LONGEST: usize = 1024;

/// Appends one command.
pub(super) fn command(bytes: &mut Vec<u8>, words: &[&[u8]]) {
    bytes.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
}

/// Reads one line for each of `expected` and compares them. Bytes beyond the last line are wrong
/// too: nothing was asked yet that they could answer.
pub(super) async fn expect(
    stream: &mut (impl AsyncRead + Unpin),
    expected: &[&str],
) -> Result<(), Failure> {
    let mut buffer = [0; LONGEST];
    let mut filled = 0;
    for wanted in expected {
        let end = loop {
            if let Some(end) = buffer[..filled].windows(2).position(|pair| pair == b"\r\n") {
                break end;
            }
            if filled == LONGEST {
                return Err(Failure::NotRedis);
            }
            match stream.read(&mut buffer[filled..]).await {
                Ok(0) => return Err(Failure::Closed),
                Ok(count) => filled += count,
                Err(error) => return Err(Failure::of_stream(&error)),
            }
        };
        match &buffer[..end] {
            [b'-', error @ ..] => return Err(Failure::of_reply(error)),
            line if line == wanted.as_bytes() => {}
            _ => return Err(Failure::NotRedis),
        }
        buffer.copy_within(end + 2..filled, 0);
        filled -= end + 2;
    }
    if filled == 0 { Ok(()) } else { Err(Failure::NotRedis) }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use tokio::io::{ReadBuf, repeat};

    use super::*;

    /// Gives its bytes one at a time, the worst way a network may cut them.
    struct Trickle<'a>(&'a [u8]);

    impl AsyncRead for Trickle<'_> {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let (next, rest) = self.0.split_at(1.min(self.0.len()));
            buffer.put_slice(next);
            self.0 = rest;
            Poll::Ready(Ok(()))
        }
    }

    #[test]
    fn any_bytes_make_a_bulk_string() {
        let mut bytes = Vec::new();
        command(&mut bytes, &[b"AUTH", "p\" '\r\n ß\u{1f511}".as_bytes(), b"\xff"]);
        let expected =
            b"*3\r\n$4\r\nAUTH\r\n$13\r\np\" '\r\n \xc3\x9f\xf0\x9f\x94\x91\r\n$1\r\n\xff\r\n";
        assert_eq!(bytes.escape_ascii().to_string(), expected.escape_ascii().to_string());
    }

    #[tokio::test]
    async fn replies_are_judged_however_the_network_cuts_them() {
        for (answer, expected, verdict) in [
            ("+OK\r\n", &["+OK"][..], Ok(())),
            ("+OK\r\n+OK\r\n", &["+OK", "+OK"], Ok(())),
            ("-NOAUTH x\r\n", &["+OK"], Err(Failure::PasswordNeeded)),
            ("-WRONGPASS x\r\n-NOAUTH x\r\n", &["+OK", "+OK"], Err(Failure::WrongPassword)),
            (
                "+OK\r\n-ERR DB index is out of range\r\n",
                &["+OK", "+OK"],
                Err(Failure::NoSuchDatabase),
            ),
            ("+OK\r\n", &["+OK", "+OK"], Err(Failure::Closed)),
            ("+OK\r", &["+OK"], Err(Failure::Closed)),
            ("", &["+OK"], Err(Failure::Closed)),
            ("+OKAY\r\n", &["+OK"], Err(Failure::NotRedis)),
            ("\r\n", &["+OK"], Err(Failure::NotRedis)),
            ("HTTP/1.1 400 Bad Request\r\n\r\n", &["+OK"], Err(Failure::NotRedis)),
        ] {
            assert_eq!(expect(&mut answer.as_bytes(), expected).await, verdict, "{answer:?}");
            let cut = expect(&mut Trickle(answer.as_bytes()), expected).await;
            assert_eq!(cut, verdict, "{answer:?} byte by byte");
        }
    }

    #[tokio::test]
    async fn answers_to_what_was_not_asked_are_refused() {
        let verdict = expect(&mut &b"+OK\r\n+OK\r\n"[..], &["+OK"]).await;
        assert_eq!(verdict, Err(Failure::NotRedis));
    }

    #[tokio::test]
    async fn a_line_without_end_is_refused() {
        assert_eq!(expect(&mut repeat(b'+'), &["+OK"]).await, Err(Failure::NotRedis));
        assert_eq!(expect(&mut repeat(b'\n'), &["+OK"]).await, Err(Failure::NotRedis));
    }
}
