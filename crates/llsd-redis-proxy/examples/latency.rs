//! What the proxy costs: the latency of PING and the rate of pipelined PINGs, direct and through
//! `llsd redis-proxy`, against a Redis of its own on loopback. Needs `redis-server`.
//!
//! ```sh
//! cargo run --release -p llsd-redis-proxy --example latency [ROUNDS]
//! ```

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use llsd_redis_proxy::{Limits, Times, Upstream, serve};

const PONG: &[u8] = b"+PONG\r\n";
const PIPELINED: usize = 1_000;

fn main() -> io::Result<()> {
    let rounds = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(20_000);
    let (redis, direct) = start_redis()?;
    let _redis = Ended(redis);
    let proxied = start_proxy(direct)?;

    let (mut direct, mut proxied) = (connect(direct)?, connect(proxied)?);
    // Once unmeasured, then in turns, so that a busy machine disturbs both alike.
    let (mut one, mut other) = (Vec::new(), Vec::new());
    latencies(&mut direct, rounds / 10)?;
    latencies(&mut proxied, rounds / 10)?;
    for _ in 0..10 {
        one.extend(latencies(&mut direct, rounds / 10)?);
        other.extend(latencies(&mut proxied, rounds / 10)?);
    }
    one.sort_unstable();
    other.sort_unstable();
    println!("{rounds} PINGs      direct    proxied   ratio");
    for (name, percent) in [("median", 50), ("99 %", 99)] {
        let at = |sorted: &[Duration]| sorted[(sorted.len() - 1) * percent / 100];
        row(name, at(&one).as_secs_f64() * 1e6, at(&other).as_secs_f64() * 1e6, "µs");
    }
    let (one, other) = (rate(&mut direct, rounds)?, rate(&mut proxied, rounds)?);
    row("pipelined", one / 1e3, other / 1e3, "k/s");
    Ok(())
}

fn row(name: &str, direct: f64, proxied: f64, unit: &str) {
    println!("{name:<12} {direct:>8.1} {proxied:>8.1} {unit} {:>6.2}", proxied / direct);
}

fn latencies(redis: &mut TcpStream, rounds: usize) -> io::Result<Vec<Duration>> {
    let mut taken = Vec::with_capacity(rounds);
    let mut answer = [0; PONG.len()];
    for _ in 0..rounds {
        let start = Instant::now();
        redis.write_all(b"PING\r\n")?;
        redis.read_exact(&mut answer)?;
        taken.push(start.elapsed());
    }
    Ok(taken)
}

/// PINGs in a second, a thousand of them at a time.
fn rate(redis: &mut TcpStream, rounds: usize) -> io::Result<f64> {
    let mut answers = vec![0; PONG.len() * PIPELINED];
    let start = Instant::now();
    for _ in 0..(rounds / 10) {
        redis.write_all(&b"PING\r\n".repeat(PIPELINED))?;
        redis.read_exact(&mut answers)?;
    }
    #[allow(clippy::cast_precision_loss, reason = "a figure of three digits")]
    let asked = (rounds / 10 * PIPELINED) as f64;
    Ok(asked / start.elapsed().as_secs_f64())
}

fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// In a thread of its own with the runtime that the command uses.
fn start_proxy(redis: SocketAddr) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let target = format!("redis://{redis}").parse().map_err(io::Error::other)?;
    let times = Times { connect: Duration::from_secs(5), greet: Duration::from_secs(5) };
    let upstream = Upstream::new(target, None, None, times).map_err(io::Error::other)?;
    let limits = Limits { connections: 256, grace: Duration::ZERO };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::spawn(move || {
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            serve(listener, upstream, limits, std::future::pending()).await;
            io::Result::Ok(())
        })
    });
    Ok(address)
}

fn start_redis() -> io::Result<(Child, SocketAddr)> {
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
    let port = address.port().to_string();
    let mut command = Command::new("redis-server");
    command.args(["--bind", "127.0.0.1", "--port", &port, "--save", ""]).stdout(Stdio::null());
    let redis = command.spawn()?;
    for _ in 0..200 {
        if TcpStream::connect(address).is_ok() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok((redis, address))
}

/// Ends Redis also when measuring fails.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
