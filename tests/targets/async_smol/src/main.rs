//! One task for each kind of wait, on two executors of smol's: of the crates that it is made of.
use async_channel::{bounded, unbounded, Receiver, Sender};
use async_executor::Executor;
use async_io::{block_on, Timer};
use async_lock::{Barrier, Mutex, RwLock, Semaphore};
use async_net::{TcpListener, TcpStream, UdpSocket};
use blocking::unblock;
use futures_lite::future::{or, pending};
use futures_lite::io::{AsyncReadExt, AsyncWriteExt};
use std::sync::Arc;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(10_000);

async fn inner() { Timer::after(LONG).await; }
async fn middle() { inner().await; std::hint::black_box(1); }
async fn on_timer() { middle().await; std::hint::black_box(2); }
async fn on_mutex(mutex: Arc<Mutex<u64>>) { *mutex.lock().await += 1; }
async fn on_rwlock(lock: Arc<RwLock<u64>>) { *lock.write().await += 1; }
async fn on_semaphore(semaphore: Arc<Semaphore>) { let _permit = semaphore.acquire().await; std::hint::black_box(3); }
async fn on_receive(receiver: Receiver<u64>) { std::hint::black_box(receiver.recv().await.ok()); }
async fn on_send(sender: Sender<u64>) { std::hint::black_box(sender.send(2).await.ok()); }
async fn on_barrier(barrier: Arc<Barrier>) { barrier.wait().await; }
async fn on_read(mut stream: TcpStream) { let mut bytes = [0u8; 64]; std::hint::black_box(stream.read(&mut bytes).await.ok()); }
async fn on_write(mut stream: TcpStream) { let bytes = vec![7u8; 1 << 26]; std::hint::black_box(stream.write_all(&bytes).await.ok()); }
async fn on_accept(listener: TcpListener) { std::hint::black_box(listener.accept().await.ok()); }
async fn on_datagram(socket: UdpSocket) { let mut bytes = [0u8; 64]; std::hint::black_box(socket.recv_from(&mut bytes).await.ok()); }
async fn on_task(executor: Arc<Executor<'static>>) { executor.spawn(middle()).await; }
async fn on_blocking() { unblock(|| std::thread::sleep(LONG)).await; }
async fn on_boxed() { let boxed: std::pin::Pin<Box<dyn std::future::Future<Output = ()> + Send>> = Box::pin(middle()); boxed.await; }
async fn on_race() { or(middle(), on_boxed()).await; }
/// Turns between two waits.
async fn relay(words: Receiver<u64>, back: Sender<u64>) {
    loop {
        let word = words.recv().await.unwrap();
        Timer::after(Duration::from_millis(20)).await;
        back.send(word).await.unwrap();
    }
}

fn on_thread() -> Arc<Executor<'static>> {
    let executor = Arc::new(Executor::new());
    let runner = executor.clone();
    std::thread::spawn(move || block_on(runner.run(pending::<()>())));
    executor
}

fn main() {
    let executor = on_thread();
    let mutex = Arc::new(Mutex::new(1));
    let lock = Arc::new(RwLock::new(1));
    let semaphore = Arc::new(Semaphore::new(0));
    let guards = (mutex.try_lock_arc().unwrap(), lock.try_read().unwrap());
    let listener = block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let place = listener.local_addr().unwrap();
    let (reader, writer) = block_on(async { (TcpStream::connect(place).await.unwrap(), TcpStream::connect(place).await.unwrap()) });
    let accepted = block_on(async { (listener.accept().await.unwrap(), listener.accept().await.unwrap()) });
    let (sender, receiver) = bounded(1);
    sender.try_send(1).unwrap();
    let (never, nothing) = unbounded();
    executor.spawn(on_timer()).detach();
    executor.spawn(on_mutex(mutex.clone())).detach();
    executor.spawn(on_rwlock(Arc::clone(&lock))).detach();
    executor.spawn(on_semaphore(semaphore)).detach();
    executor.spawn(on_receive(nothing)).detach();
    executor.spawn(on_send(sender)).detach();
    executor.spawn(on_barrier(Arc::new(Barrier::new(2)))).detach();
    executor.spawn(on_read(reader)).detach();
    executor.spawn(on_write(writer)).detach();
    executor.spawn(on_accept(listener)).detach();
    executor.spawn(on_datagram(block_on(UdpSocket::bind("127.0.0.1:0")).unwrap())).detach();
    executor.spawn(on_task(executor.clone())).detach();
    executor.spawn(on_blocking()).detach();
    executor.spawn(on_boxed()).detach();
    executor.spawn(on_race()).detach();
    let own = on_thread();
    let (words, to) = (unbounded(), unbounded());
    words.0.try_send(1).unwrap();
    own.spawn(relay(words.1, to.0)).detach();
    own.spawn(relay(to.1, words.0)).detach();
    std::thread::sleep(Duration::from_millis(300));
    println!("ready");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    std::hint::black_box((guards.0, receiver, never, accepted));
    std::process::exit(0);
}
