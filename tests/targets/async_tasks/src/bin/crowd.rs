//! Many tasks: `crowd SLEEPERS BIRTHS` has so many that sleep for good, seven of ten by a timer and the others by a Notify; so
//! many births a millisecond, of tasks that live for 20 ms or so; and two that hand words to and fro all the time. Each line on
//! stdin is answered by the nanoseconds that the brief ones lived which have ended, as JSON.
use std::io::BufRead;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, Notify};

async fn parked() { tokio::time::sleep(Duration::from_secs(10_000)).await; }
async fn by_timer() { parked().await; std::hint::black_box(1); }
async fn by_notify(never: Arc<Notify>) { never.notified().await; std::hint::black_box(2); }

/// `ended` has the time that those which have ended lived.
struct Life { begun: Instant, ended: Arc<AtomicU64> }
impl Drop for Life { fn drop(&mut self) { self.ended.fetch_add(self.begun.elapsed().as_nanos() as u64, Relaxed); } }

async fn brief(life: Life, long: u64) {
    tokio::time::sleep(Duration::from_millis(10 + long % 20)).await;
    std::hint::black_box(&life);
}

async fn inner_left(words: &mut mpsc::Receiver<u64>) -> u64 { words.recv().await.unwrap() }
async fn left(words: &mut mpsc::Receiver<u64>) -> u64 { inner_left(words).await + 1 }
async fn inner_right(told: &Notify) { told.notified().await }
async fn right(told: &Notify, word: u64) -> u64 { inner_right(told).await; word + 2 }
async fn restless(mut words: mpsc::Receiver<u64>, told: Arc<Notify>) {
    let mut sum = 0;
    loop {
        sum += left(&mut words).await;
        sum = right(&told, sum).await;
    }
}
async fn partner(words: mpsc::Sender<u64>, told: Arc<Notify>) {
    loop {
        words.send(7).await.unwrap();
        tokio::task::yield_now().await;
        told.notify_one();
        tokio::task::yield_now().await;
    }
}

async fn births(rate: u64, ended: Arc<AtomicU64>) {
    let mut random = 1u64;
    let mut every = tokio::time::interval(Duration::from_millis(1));
    loop {
        every.tick().await;
        for _ in 0..rate {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            tokio::spawn(brief(Life { begun: Instant::now(), ended: ended.clone() }, random >> 40));
        }
    }
}

#[tokio::main(worker_threads = 2)]
async fn main() {
    let number = |at: usize| std::env::args().nth(at).unwrap().parse::<u64>().unwrap();
    let never = Arc::new(Notify::new());
    for i in 0..number(1) {
        if i % 10 < 7 { tokio::spawn(by_timer()); } else { tokio::spawn(by_notify(never.clone())); }
    }
    let (words, receiver) = mpsc::channel(1);
    let told = Arc::new(Notify::new());
    tokio::spawn(restless(receiver, told.clone()));
    tokio::spawn(partner(words, told));
    let ended = Arc::new(AtomicU64::new(0));
    tokio::spawn(births(number(2), ended.clone()));
    tokio::time::sleep(Duration::from_millis(50)).await;
    println!("ready");
    tokio::task::spawn_blocking(move || {
        for line in std::io::stdin().lock().lines() {
            if line.is_err() { break; }
            println!("{{\"brief\":{}}}", ended.load(Relaxed));
        }
        std::process::exit(0);
    }).await.unwrap();
}
