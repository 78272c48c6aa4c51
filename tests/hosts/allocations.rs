// As allocations.c, in Rust: its standard library asks malloc, calloc and posix_memalign.
use std::thread;

fn keep<T>(value: &T) {
    unsafe { std::ptr::read_volatile(&(value as *const T)) };
}

#[repr(align(64))]
struct Wide([u8; 6400]);

#[no_mangle]
#[inline(never)]
fn vec_site(calls: usize) {
    for _ in 0..calls {
        keep(&Vec::<u8>::with_capacity(7000));
    }
}

#[no_mangle]
#[inline(never)]
fn zeroed_site(calls: usize) {
    for _ in 0..calls {
        keep(&vec![0u8; 6000]);
    }
}

#[no_mangle]
#[inline(never)]
fn aligned_site(calls: usize) {
    for _ in 0..calls {
        keep(&Vec::<Wide>::with_capacity(1));
    }
}

#[no_mangle]
#[inline(never)]
fn thread_site(calls: usize) {
    for _ in 0..calls {
        keep(&Box::new([1u8; 5000]));
    }
}

fn main() {
    let calls = 20000;
    vec_site(calls);
    zeroed_site(calls);
    aligned_site(calls);
    let threads: Vec<_> = (0..4).map(|_| thread::spawn(move || thread_site(calls))).collect();
    for thread in threads {
        thread.join().unwrap();
    }
    thread::sleep(std::time::Duration::from_millis(100));
    println!("vec_site {} {}", calls * 7000, calls);
    println!("zeroed_site {} {}", calls * 6000, calls);
    println!("aligned_site {} {}", calls * std::mem::size_of::<Wide>(), calls);
    println!("thread_site {} {}", 4 * calls * 5000, 4 * calls);
}
