// Makes elliptic-curve keys on request, in Rust on OpenSSL's libcrypto: key_server PORT WORKERS. A request is a datagram of
// any content, the answer the same datagram with the public key behind it. Ends at SIGTERM.
// Build: rustc -O -g -l crypto key_server.rs
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::io::Write;
use std::net::UdpSocket;
use std::os::raw::{c_char, c_int};
use std::os::unix::io::AsRawFd;
use std::sync::{Arc, Mutex};
use std::{mem, process, ptr, slice, thread};

#[link(name = "crypto")]
extern "C" {
    fn EVP_PKEY_Q_keygen(library: *mut c_void, properties: *const c_char, kind: *const c_char, ...) -> *mut c_void;
    fn EVP_PKEY_get1_encoded_public_key(key: *mut c_void, text: *mut *mut u8) -> usize;
    fn EVP_PKEY_free(key: *mut c_void);
    fn CRYPTO_free(memory: *mut c_void, file: *const c_char, line: c_int);
}

// Of libc, which std is linked with.
extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn sigemptyset(set: *mut SignalSet) -> c_int;
    fn sigaddset(set: *mut SignalSet, signal: c_int) -> c_int;
    fn sigwait(set: *const SignalSet, signal: *mut c_int) -> c_int;
    fn pthread_sigmask(how: c_int, set: *const SignalSet, before: *mut SignalSet) -> c_int;
    fn shutdown(socket: c_int, how: c_int) -> c_int;
}
#[repr(C)]
struct SignalSet([u64; 16]);
const SIG_BLOCK: c_int = 0;
const SIGTERM: c_int = 15;
const SHUT_RDWR: c_int = 2;

fn literal(text: &'static [u8]) -> *const c_char {
    assert_eq!(text.last(), Some(&0));
    text.as_ptr().cast()
}

/// Units of work as FlameProbe counts them; nothing where its library is not preloaded.
#[derive(Clone, Copy)]
struct Units(Option<unsafe extern "C" fn(*const c_char, u64)>);

impl Units {
    fn find() -> Units {
        let found = unsafe { dlsym(ptr::null_mut(), literal(b"flameprobe_count_units\0")) };
        Units(if found.is_null() { None } else { Some(unsafe { mem::transmute(found) }) })
    }

    /// `name` is known by its address, so it must be a literal.
    fn add(self, name: &'static [u8], amount: u64) {
        if let Some(call) = self.0 {
            unsafe { call(literal(name), amount) }
        }
    }
}

#[inline(never)]
fn make_key() -> Vec<u8> {
    unsafe {
        let key = EVP_PKEY_Q_keygen(ptr::null_mut(), ptr::null(), literal(b"EC\0"), literal(b"P-256\0"));
        let mut text = ptr::null_mut();
        let size = EVP_PKEY_get1_encoded_public_key(key, &mut text);
        assert!(size > 0, "libcrypto makes no key");
        let public = slice::from_raw_parts(text, size).to_vec();
        CRYPTO_free(text.cast(), ptr::null(), 0);
        EVP_PKEY_free(key);
        public
    }
}

/// Every key that was handed out, under one lock: what more workers wait for.
#[derive(Default)]
struct Register(Mutex<BTreeMap<Vec<u8>, u32>>);

impl Register {
    #[inline(never)]
    fn remember(&self, key: &[u8]) {
        let mut seen = self.0.lock().unwrap();
        for part in key.windows(8).step_by(4) {
            *seen.entry(part.to_vec()).or_default() += 1;
        }
        if seen.len() > 20_000 {
            seen.clear();
        }
    }
}

fn serve(socket: &UdpSocket, register: &Register, units: Units) {
    let mut request = [0; 64];
    while let Ok((size, from)) = socket.recv_from(&mut request) {
        if size == 0 {
            return; // the socket was shut down
        }
        let key = make_key();
        register.remember(&key);
        let answer = [&request[..size], &key].concat();
        let _ = socket.send_to(&answer, from); // a client that has gone needs no answer
        units.add(b"keys\0", 1);
    }
}

fn main() {
    let numbers: Vec<u16> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let (port, workers) = match numbers[..] {
        [port, workers] => (port, workers),
        _ => {
            eprintln!("usage: key_server PORT WORKERS");
            process::exit(2);
        }
    };
    let mut stop = SignalSet([0; 16]);
    unsafe {
        sigemptyset(&mut stop);
        sigaddset(&mut stop, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &stop, ptr::null_mut()); // the workers, too
    }
    let socket = UdpSocket::bind(("127.0.0.1", port)).unwrap_or_else(|error| {
        eprintln!("key_server: port {port}: {error}");
        process::exit(1);
    });
    let shared = Arc::new((socket, Register::default()));
    let units = Units::find();
    let threads: Vec<_> = (0..workers)
        .map(|number| {
            let shared = Arc::clone(&shared);
            let body = move || serve(&shared.0, &shared.1, units);
            thread::Builder::new().name(format!("worker-{number}")).spawn(body).expect("a thread")
        })
        .collect();
    println!("ready");
    let _ = std::io::stdout().flush();
    let mut signal = 0;
    unsafe {
        sigwait(&stop, &mut signal);
        shutdown(shared.0.as_raw_fd(), SHUT_RDWR); // a worker that waits in recvfrom gets 0 bytes
    }
    for thread in threads {
        thread.join().expect("a worker that ends");
    }
}
