//! A client that knows as much of the protocol as the tests need.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than anything takes on a busy machine; a test that waits for it has failed.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self::try_connect(address).unwrap()
    }

    pub(crate) fn try_connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    pub(crate) fn send(&mut self, words: &[&str]) -> io::Result<()> {
        let mut command = format!("*{}\r\n", words.len());
        for word in words {
            command.extend([format!("${}\r\n{word}\r\n", word.len())]);
        }
        self.stream.get_mut().write_all(command.as_bytes())
    }

    /// The next reply: its line, or the string that it announces, or the last of several. Empty
    /// when the other side has ended.
    pub(crate) fn reply(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let line = line.trim_end().to_owned();
        let number = |line: &str| line[1..].parse::<usize>().unwrap();
        match line.as_bytes().first() {
            Some(b'$') if line != "$-1" => {
                let mut bytes = vec![0; number(&line) + 2];
                self.stream.read_exact(&mut bytes)?;
                bytes.truncate(bytes.len() - 2);
                Ok(String::from_utf8(bytes).unwrap())
            }
            Some(b'*') => (0..number(&line)).try_fold(String::new(), |_, _| self.reply()),
            _ => Ok(line),
        }
    }

    pub(crate) fn ask(&mut self, words: &[&str]) -> String {
        // A refusal may come, and the connection end, before anything was asked.
        let _ = self.send(words);
        self.reply().unwrap()
    }

    /// Says that nothing more will be asked.
    pub(crate) fn end_asking(&self) {
        self.stream.get_ref().shutdown(Shutdown::Write).unwrap();
    }

    /// All that still comes until the other side ends.
    pub(crate) fn rest(mut self) -> String {
        let mut rest = String::new();
        self.stream.read_to_string(&mut rest).unwrap();
        rest
    }
}
