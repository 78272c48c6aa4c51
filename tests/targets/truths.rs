// Each of Rust's kinds of waits between threads in a function of its own, beside the program's own account, as truths.cpp:
// `truths SECONDS` says "FUNCTION NANOSECONDS WAITS".
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{mpsc, Arc, Condvar, Mutex, RwLock};
use std::thread::{sleep, Builder, JoinHandle};
use std::time::{Duration, Instant};

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}
extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}
const THREAD_CPU_TIME: i32 = 3;

fn ran_ns() -> i64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    unsafe { clock_gettime(THREAD_CPU_TIME, &mut time) };
    time.seconds * 1_000_000_000 + time.nanoseconds
}

/// How long the calling thread has wanted a CPU and had none.
fn queued_ns(schedule: &File) -> i64 {
    let mut text = [0u8; 128];
    let length = schedule.read_at(&mut text, 0).unwrap();
    let text = std::str::from_utf8(&text[..length]).unwrap();
    text.split_whitespace().nth(1).unwrap().parse().unwrap()
}

static OVER: AtomicBool = AtomicBool::new(false);
const HELD: Duration = Duration::from_millis(3);

/// One thread holds again and again; the other waits for it, in a function with the kind's name.
fn pair<S, H, W>(name: &'static str, state: S, mut hold: H, wait: W) -> [JoinHandle<()>; 2]
where
    S: Send + 'static,
    H: FnMut() + Send + 'static,
    W: Fn(&S) + Send + 'static,
{
    let holder = Builder::new().name(format!("h-{name}")).spawn(move || {
        while !OVER.load(Relaxed) {
            hold();
            sleep(Duration::from_micros(400));
        }
        // Wakes the one that still waits for the condition or the message.
        for _ in 0..100 {
            hold();
        }
    });
    let waiter = Builder::new().name(name.to_string()).spawn(move || {
        let schedule = File::open("/proc/thread-self/schedstat").unwrap();
        let (mut waited, mut waits) = (0, 0);
        while !OVER.load(Relaxed) {
            let (queued, ran, begin) = (queued_ns(&schedule), ran_ns(), Instant::now());
            wait(&state);
            let (all, ran) = (begin.elapsed().as_nanos() as i64, ran_ns() - ran);
            waited += all - ran - (queued_ns(&schedule) - queued);
            waits += 1;
            sleep(Duration::from_micros(100));
        }
        println!("{name} {waited} {waits}");
    });
    [holder.unwrap(), waiter.unwrap()]
}

#[inline(never)]
fn wait_mutex(lock: &Arc<Mutex<u64>>) {
    *lock.lock().unwrap() += 1;
}
#[inline(never)]
fn wait_read(lock: &Arc<RwLock<u64>>) {
    std::hint::black_box(*lock.read().unwrap());
}
#[inline(never)]
fn wait_write(lock: &Arc<RwLock<u64>>) {
    *lock.write().unwrap() += 1;
}
#[inline(never)]
fn wait_condvar(pair: &Arc<(Mutex<u64>, Condvar)>) {
    *pair.1.wait(pair.0.lock().unwrap()).unwrap() += 1;
}
#[inline(never)]
fn wait_channel(messages: &mpsc::Receiver<u64>) {
    let _ = std::hint::black_box(messages.recv());
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1);
    let mut threads = Vec::new();
    let (mutex, read, write) = (Arc::new(Mutex::new(0)), Arc::new(RwLock::new(0)), Arc::new(RwLock::new(0)));
    let condition = Arc::new((Mutex::new(0), Condvar::new()));
    let (sender, messages) = mpsc::channel();
    let held = mutex.clone();
    threads.extend(pair("wait_mutex", mutex, move || { let _held = held.lock(); sleep(HELD) }, wait_mutex));
    let held = read.clone();
    threads.extend(pair("wait_read", read, move || { let _held = held.write(); sleep(HELD) }, wait_read));
    let held = write.clone();
    threads.extend(pair("wait_write", write, move || { let _held = held.read(); sleep(HELD) }, wait_write));
    let told = condition.clone();
    threads.extend(pair("wait_condvar", condition, move || { sleep(HELD); told.1.notify_all() }, wait_condvar));
    threads.extend(pair("wait_channel", messages, move || { sleep(HELD); let _ = sender.send(1); }, wait_channel));
    sleep(Duration::from_secs(seconds));
    OVER.store(true, Relaxed);
    for thread in threads {
        thread.join().unwrap();
    }
}
