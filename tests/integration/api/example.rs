// FlameProbe from Rust: starts, works in labelled scopes, writes what was sampled, and stops.
// Build: rustc -O example.rs -L native=LIBDIR -l flameprobe      Run: ./example RESULT
use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::raw::{c_char, c_int, c_long};

#[repr(C)]
struct Scope {
    tag: usize,
    label: *const c_char,
    outer: usize,
}

#[repr(C)]
struct Error {
    size: usize,
    code: i32,
    message: [c_char; 500],
}

#[repr(C)]
struct Options {
    size: usize,
    frequency: u32,
    stack_bytes: u32,
    output: *const c_char,
    format: *const c_char,
    others: [*const c_char; 10], // engine, unwind, event, kernel, dump_every, children, log, signal, max_size, debug_dir
}

extern "C" {
    fn clock() -> c_long; // of libc
    fn flameprobe_start(options: *const Options, error: *mut Error) -> c_int;
    fn flameprobe_stop(error: *mut Error) -> c_int;
    fn flameprobe_dump(path: *const c_char, error: *mut Error) -> c_int;
    fn flameprobe_is_running() -> c_int;
    fn flameprobe_scope_open(scope: *mut Scope, label: *const c_char);
    fn flameprobe_scope_close(scope: *mut Scope);
    fn flameprobe_label_pair(key: *const c_char, value: *const c_char) -> *const c_char;
}

/// C string literals (c"...") came with Rust 1.77 only.
fn literal(text: &'static [u8]) -> *const c_char {
    assert_eq!(text.last(), Some(&0));
    text.as_ptr().cast()
}

/// Runs `body` inside a scope, which is closed on a panic too. `label` must live for ever. The record stays in this
/// function's frame: a guard that is returned would be moved, and one that was moved is not seen.
fn scoped<R>(label: *const c_char, body: impl FnOnce() -> R) -> R {
    struct Close(*mut Scope);
    impl Drop for Close {
        fn drop(&mut self) {
            unsafe { flameprobe_scope_close(self.0) }
        }
    }
    let mut scope = MaybeUninit::<Scope>::uninit();
    unsafe { flameprobe_scope_open(scope.as_mut_ptr(), label) };
    let _close = Close(scope.as_mut_ptr());
    body()
}

/// Until the process has used that much CPU time.
#[inline(never)]
fn work(seconds: f64) {
    const CLOCKS_PER_SECOND: f64 = 1e6;
    let end = unsafe { clock() } + (seconds * CLOCKS_PER_SECOND) as c_long;
    while unsafe { clock() } < end {}
}

fn check(what: &str, code: c_int, error: &Error) {
    if code != 0 {
        let message = unsafe { CStr::from_ptr(error.message.as_ptr()) };
        eprintln!("{what}: {} (code {code})", message.to_string_lossy());
        std::process::exit(1);
    }
}

fn main() {
    let output = CString::new(std::env::args().nth(1).unwrap_or("example".into())).unwrap();
    let mut error = Error { size: std::mem::size_of::<Error>(), code: 0, message: [0; 500] };
    let options = Options {
        size: std::mem::size_of::<Options>(),
        frequency: 999,
        stack_bytes: 0,
        output: output.as_ptr(),
        format: literal(b"folded\0"),
        others: [std::ptr::null(); 10],
    };
    check("start", unsafe { flameprobe_start(&options, &mut error) }, &error);
    scoped(literal(b"checkout\0"), || {
        work(0.3);
        scoped(literal(b"pay\0"), || work(0.3));
    });
    let tenant = unsafe { flameprobe_label_pair(literal(b"tenant\0"), literal(b"acme\0")) };
    scoped(tenant, || work(0.3));
    check("dump", unsafe { flameprobe_dump(std::ptr::null(), &mut error) }, &error);
    check("stop", unsafe { flameprobe_stop(&mut error) }, &error);
    assert_eq!(unsafe { flameprobe_is_running() }, 0);
}
