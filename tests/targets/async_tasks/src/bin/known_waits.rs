//! Requests with known waits, and the program's own account of them: each line on stdin is answered by the nanoseconds
//! that its tasks spent so far in each kind of wait, as JSON, the waits in progress included.
use std::io::BufRead;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, Mutex};

const KINDS: [&str; 7] = ["none", "cpu", "query", "cart", "lock", "hold", "reply"];
const CPU: usize = 1;
const QUERY: usize = 2;
const CART: usize = 3;
const LOCK: usize = 4;
const HOLD: usize = 5;
const REPLY: usize = 6;
const KIND_SHIFT: u32 = 56;

struct Account { begun: Instant, sums: [AtomicU64; KINDS.len()], tasks: Vec<AtomicU64> }

impl Account {
    fn now(&self) -> u64 { self.begun.elapsed().as_nanos() as u64 }
    /// What the task does from now on.
    fn enter(&self, task: usize, kind: usize) {
        let now = self.now();
        let before = self.tasks[task].swap((kind as u64) << KIND_SHIFT | now, Relaxed);
        self.sums[(before >> KIND_SHIFT) as usize].fetch_add(now - (before & ((1 << KIND_SHIFT) - 1)), Relaxed);
    }
    fn read(&self) -> String {
        let now = self.now();
        let mut sums: Vec<u64> = self.sums.iter().map(|sum| sum.load(Relaxed)).collect();
        for task in &self.tasks {
            let state = task.load(Relaxed);
            sums[(state >> KIND_SHIFT) as usize] += now.saturating_sub(state & ((1 << KIND_SHIFT) - 1));
        }
        let each: Vec<String> = (1..KINDS.len()).map(|kind| format!("\"{}\":{}", KINDS[kind], sums[kind])).collect();
        format!("{{{}}}", each.join(","))
    }
}

async fn pause(microseconds: u64) { tokio::time::sleep(Duration::from_micros(microseconds)).await; }

async fn query(account: &Account, task: usize, random: u64) {
    account.enter(task, QUERY);
    pause(15_000 + random % 20_000).await;
    account.enter(task, CPU);
}
async fn load_user(account: &Account, task: usize, random: u64) { query(account, task, random).await; std::hint::black_box(random); }
async fn load_cart(account: &Account, task: usize, random: u64) {
    account.enter(task, CART);
    pause(5_000 + random % 5_000).await;
    account.enter(task, CPU);
}
async fn update(account: &Account, task: usize, mutex: &Mutex<u64>, random: u64) {
    account.enter(task, LOCK);
    let mut held = mutex.lock().await;
    account.enter(task, HOLD);
    *held += random;
    pause(100 + random % 400).await; // held over an await
    account.enter(task, CPU);
}
async fn ask(account: &Account, task: usize, sender: &mpsc::Sender<usize>, receiver: &mut mpsc::Receiver<u64>) -> u64 {
    sender.send(task).await.unwrap();
    account.enter(task, REPLY);
    let reply = receiver.recv().await.unwrap();
    account.enter(task, CPU);
    reply
}
fn burn(microseconds: u128) -> u64 {
    let (begun, mut value) = (Instant::now(), 1u64);
    while begun.elapsed().as_micros() < microseconds { for _ in 0..50 { value = value.wrapping_mul(6364136223846793005).wrapping_add(1); } }
    value
}
fn next(state: &mut u64) -> u64 { *state ^= *state << 13; *state ^= *state >> 7; *state ^= *state << 17; *state >> 11 }

async fn handle_requests(account: Arc<Account>, task: usize, mutex: Arc<Mutex<u64>>, sender: mpsc::Sender<usize>, mut receiver: mpsc::Receiver<u64>) {
    let mut random = 88172645463325252u64.wrapping_mul(task as u64 * 2 + 1);
    account.enter(task, CPU);
    loop {
        load_user(&account, task, next(&mut random)).await;
        std::hint::black_box(burn(20));
        load_cart(&account, task, next(&mut random)).await;
        update(&account, task, &mutex, next(&mut random)).await;
        std::hint::black_box(ask(&account, task, &sender, &mut receiver).await);
    }
}
async fn answer(mut receiver: mpsc::Receiver<usize>, senders: Vec<mpsc::Sender<u64>>) {
    while let Some(task) = receiver.recv().await {
        let sender = senders[task].clone();
        tokio::spawn(async move { pause(3_000).await; let _ = sender.send(1).await; });
    }
}

fn main() {
    let tasks: usize = std::env::args().nth(1).map_or(50, |number| number.parse().unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let account = Arc::new(Account { begun: Instant::now(), sums: Default::default(), tasks: (0..tasks).map(|_| AtomicU64::new(0)).collect() });
    let mutex = Arc::new(Mutex::new(0));
    let (sender, receiver) = mpsc::channel(1000);
    let mut senders = Vec::new();
    for task in 0..tasks {
        let (own, replies) = mpsc::channel(4);
        senders.push(own);
        runtime.spawn(handle_requests(account.clone(), task, mutex.clone(), sender.clone(), replies));
    }
    runtime.spawn(answer(receiver, senders));
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        if line.is_err() { break; }
        println!("{}", account.read());
    }
    std::process::exit(0);
}
