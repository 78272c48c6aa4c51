//! Runtimes of other kinds: `kinds local` has tasks of a LocalSet, `current` of a runtime of one thread, `several` of two
//! runtimes, and of a third that is made when a line comes on stdin.
use std::time::Duration;

const LONG: Duration = Duration::from_secs(10_000);

async fn on_timer() { tokio::time::sleep(LONG).await; std::hint::black_box(1); }
async fn of_local() { on_timer().await; std::hint::black_box(2); }
async fn of_current() { on_timer().await; std::hint::black_box(3); }
async fn of_second() { on_timer().await; std::hint::black_box(4); }
async fn of_later() { on_timer().await; std::hint::black_box(5); }
fn main() {
    let kind = std::env::args().nth(1).unwrap();
    let current = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if kind == "local" {
        let set = tokio::task::LocalSet::new();
        set.block_on(&current(), async {
            for _ in 0..5 { tokio::task::spawn_local(of_local()); }
            println!("ready");
            tokio::time::sleep(LONG).await;
        });
    } else if kind == "current" {
        current().block_on(async {
            for _ in 0..5 { tokio::spawn(of_current()); }
            println!("ready");
            tokio::time::sleep(LONG).await;
        });
    } else {
        let first = current();
        std::thread::spawn(move || first.block_on(async {
            for _ in 0..5 { tokio::spawn(of_current()); }
            tokio::time::sleep(LONG).await;
        }));
        let second = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        for _ in 0..3 { second.spawn(of_second()); }
        println!("ready");
        std::io::stdin().read_line(&mut String::new()).unwrap();
        let later = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        for _ in 0..2 { later.spawn(of_later()); }
        std::thread::sleep(LONG);
    }
}
