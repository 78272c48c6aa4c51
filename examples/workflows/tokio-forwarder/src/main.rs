// A port forwarder with tokio: tokio-forwarder LISTEN-PORT TARGET-PORT, both on the loopback. It ends at SIGTERM.
use tokio::io::{copy_bidirectional, Result};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{signal, SignalKind};

async fn forward(mut from: TcpStream, target: u16) -> Result<(u64, u64)> {
    let mut to = TcpStream::connect(("127.0.0.1", target)).await?;
    copy_bidirectional(&mut from, &mut to).await
}

async fn accept(listener: TcpListener, target: u16) -> Result<()> {
    loop {
        let (from, _) = listener.accept().await?;
        tokio::spawn(forward(from, target));
    }
}

fn main() -> Result<()> {
    let ports: Vec<u16> = std::env::args().skip(1).map(|a| a.parse().expect("a port")).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", ports[0])).await?;
        let mut end = signal(SignalKind::terminate())?;
        tokio::spawn(accept(listener, ports[1]));
        end.recv().await;
        Ok(())
    })
}
