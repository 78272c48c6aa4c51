//! A host for pprof-rs that every program can be: preloaded, it starts the profiler as pprof-rs' README does in a program of its
//! own, and writes folded stacks to PPROF_RS_OUT at the end. PPROF_RS_FREQUENCY: samples a second.
use pprof::{ProfilerGuard, ProfilerGuardBuilder, Report};
use std::{env, fs, sync::Mutex};

static GUARD: Mutex<Option<ProfilerGuard<'static>>> = Mutex::new(None);

extern "C" fn start() {
    let frequency = env::var("PPROF_RS_FREQUENCY").ok().and_then(|text| text.parse().ok()).unwrap_or(99);
    match ProfilerGuardBuilder::default().frequency(frequency).blocklist(&["libc", "libgcc", "pthread", "vdso"]).build() {
        Ok(guard) => *GUARD.lock().unwrap() = Some(guard),
        Err(why) => eprintln!("pprof-rs: {why}"),
    }
    unsafe { libc::atexit(finish) };
}

extern "C" fn finish() {
    let Some(guard) = GUARD.lock().unwrap().take() else { return };
    match guard.report().build() {
        Ok(report) => fs::write(env::var("PPROF_RS_OUT").unwrap_or("pprof_rs.folded".into()), folded(&report)).unwrap_or(()),
        Err(why) => eprintln!("pprof-rs: {why}"),
    }
}

fn folded(report: &Report) -> String {
    let mut text = String::new();
    for (stack, count) in &report.data {
        text += &stack.thread_name_or_id();
        // Of each address the inlined functions, innermost first.
        for symbol in stack.frames.iter().rev().flat_map(|inlined| inlined.iter().rev()) {
            text += &format!(";{}", symbol.name().replace(';', ":"));
        }
        text += &format!(" {count}\n");
    }
    text
}

#[used]
#[link_section = ".init_array"]
static START: extern "C" fn() = start;
