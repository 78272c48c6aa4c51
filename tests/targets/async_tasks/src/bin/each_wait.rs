//! One task for each kind of wait; all wait for ever. tests/integration/test_tasks.py knows what each is to show.
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::sync::*;

const LONG: Duration = Duration::from_secs(100_000);

async fn inner() { tokio::time::sleep(LONG).await; }
async fn middle() { let kept = std::hint::black_box(3); inner().await; std::hint::black_box(kept); }
async fn on_timer() { middle().await; std::hint::black_box(0); }
async fn on_mutex(mutex: Arc<Mutex<u32>>) { let mut held = mutex.lock().await; *held += 1; }
async fn on_rwlock(lock: Arc<RwLock<u32>>) { let mut held = lock.write().await; *held += 1; }
async fn on_oneshot(receiver: oneshot::Receiver<u32>) { let _ = receiver.await; }
async fn on_receive(mut receiver: mpsc::Receiver<u32>) { while let Some(value) = receiver.recv().await { std::hint::black_box(value); } }
async fn on_send(sender: mpsc::Sender<u32>) { for value in 0.. { if sender.send(value).await.is_err() { return; } } }
async fn on_join_handle(handle: tokio::task::JoinHandle<()>) { let _ = handle.await; }
async fn on_read(mut stream: tokio::net::TcpStream) { let mut bytes = [0u8; 100]; let _ = stream.read(&mut bytes).await; std::hint::black_box(&bytes); }
async fn on_accept(listener: tokio::net::TcpListener) { let _ = listener.accept().await; }
async fn on_notify(notify: Arc<Notify>) { notify.notified().await; }
async fn on_join(notify: Arc<Notify>) { tokio::join!(middle(), on_notify(notify.clone()), inner()); }
async fn on_select(mut receiver: mpsc::Receiver<u32>, notify: Arc<Notify>) {
    loop {
        tokio::select! {
            _ = middle() => {}
            value = receiver.recv() => { std::hint::black_box(value); }
            _ = notify.notified() => {}
        }
    }
}
fn nested(depth: u32) -> Pin<Box<dyn Future<Output = u32> + Send>> {
    if depth == 0 { Box::pin(async { middle().await; 0 }) } else { Box::pin(async move { nested(depth - 1).await + 1 }) }
}
async fn on_boxes() { let value = nested(3).await; std::hint::black_box(value); }
trait Service: Send + Sync { fn call(&self, value: u32) -> Pin<Box<dyn Future<Output = u32> + Send + '_>>; }
struct Local;
impl Service for Local { fn call(&self, value: u32) -> Pin<Box<dyn Future<Output = u32> + Send + '_>> { Box::pin(async move { inner().await; value }) } }
async fn on_service(service: Arc<dyn Service>) { let value = service.call(7).await; std::hint::black_box(value); }
struct Cache { mutex: Mutex<u32> }
impl Cache { async fn get(&self) -> u32 { *self.mutex.lock().await } }
async fn on_method(cache: Arc<Cache>) { std::hint::black_box(cache.get().await); }
async fn on_timeout() { let _ = tokio::time::timeout(LONG, middle()).await; }
async fn on_semaphore(semaphore: Arc<Semaphore>) { let _permit = semaphore.acquire().await; }
async fn on_watch(mut receiver: watch::Receiver<u32>) { let _ = receiver.changed().await; }
async fn on_blocking() { let _ = tokio::task::spawn_blocking(|| std::thread::sleep(LONG)).await; }
async fn on_generic<F: Future>(future: F) -> F::Output { let value = future.await; std::hint::black_box(0); value }
async fn on_interval() { let mut interval = tokio::time::interval(LONG); loop { interval.tick().await; std::hint::black_box(1); } }

#[tokio::main(worker_threads = 2)]
async fn main() {
    let mutex = Arc::new(Mutex::new(0));
    let _held = mutex.clone().lock_owned().await;
    let lock = Arc::new(RwLock::new(0));
    let _shared = lock.clone().read_owned().await;
    let cache = Arc::new(Cache { mutex: Mutex::new(0) });
    let _cached = cache.mutex.lock().await;
    let (_one, one) = oneshot::channel();
    let (_many, many) = mpsc::channel(4);
    let (_other, other) = mpsc::channel(4);
    let (full, _never) = mpsc::channel(1);
    let notify = Arc::new(Notify::new());
    let semaphore = Arc::new(Semaphore::new(0));
    let (_watched, watched) = watch::channel(0);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stream = tokio::net::TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (_peer, _) = listener.accept().await.unwrap();
    let handle = tokio::spawn(middle());
    tokio::spawn(on_timer());
    tokio::spawn(on_mutex(mutex.clone()));
    tokio::spawn(on_rwlock(lock.clone()));
    tokio::spawn(on_oneshot(one));
    tokio::spawn(on_receive(many));
    tokio::spawn(on_send(full));
    tokio::spawn(on_join_handle(handle));
    tokio::spawn(on_read(stream));
    tokio::spawn(on_accept(listener));
    tokio::spawn(on_join(notify.clone()));
    tokio::spawn(on_notify(notify.clone()));
    tokio::spawn(on_select(other, notify.clone()));
    tokio::spawn(on_boxes());
    tokio::spawn(on_service(Arc::new(Local)));
    tokio::spawn(on_method(cache.clone()));
    tokio::spawn(on_timeout());
    tokio::spawn(on_semaphore(semaphore.clone()));
    tokio::spawn(on_watch(watched));
    tokio::spawn(on_blocking());
    tokio::spawn(on_generic(middle()));
    tokio::spawn(on_interval());
    tokio::spawn(async move { middle().await; });
    println!("ready");
    std::future::pending::<()>().await;
}
