//! `cargo flameprobe`: see README.md.

mod arguments;
mod command;
mod picture;

use arguments::{parse, Arguments, Parsed, USAGE};
use std::env;
use std::process::{exit, Command};
use std::time::SystemTime;

/// The exit status of a bad call, as that of `flameprobe run`.
const USAGE_STATUS: i32 = 2;

fn fail(message: &str, status: i32) -> ! {
    eprintln!("cargo flameprobe: {message}");
    exit(status)
}

fn profiler() -> String {
    let name = env::var("FLAMEPROBE").unwrap_or_else(|_| "flameprobe".into());
    if let Err(error) = Command::new(&name).arg("--version").output() {
        fail(
            &format!("{name}: {error}; install FlameProbe, or name its program in the variable FLAMEPROBE"),
            USAGE_STATUS,
        );
    }
    name
}

/// cargo runs benchmarks and tests elsewhere. FLAMEPROBE_OUT is a template: a percent sign of the directory's is doubled.
fn absolute(out: &str) -> String {
    match env::current_dir() {
        Ok(here) if !out.starts_with('/') => format!("{}/{out}", here.display().to_string().replace('%', "%%")),
        _ => out.to_owned(),
    }
}

fn run(arguments: &Arguments) -> i32 {
    let host = command::host().unwrap_or_else(|message| fail(&message, 1));
    let begun = SystemTime::now();
    let status = command::run(&host, &profiler(), &absolute(&arguments.out), arguments)
        .status()
        .unwrap_or_else(|error| fail(&format!("cargo: {error}"), 1));
    if arguments.open {
        match picture::newest(&arguments.out, begun) {
            Some(path) => picture::open(&path).unwrap_or_else(|message| fail(&message, 1)),
            None => fail("there is no picture to open", 1),
        }
    }
    status.code().unwrap_or(1)
}

fn main() {
    // cargo calls `cargo-flameprobe flameprobe ARGUMENTS`.
    let given = env::args().skip(1);
    let first = env::args().nth(1);
    let given = given.skip(usize::from(first.as_deref() == Some("flameprobe")));
    match parse(given) {
        Parsed::Help => print!("{USAGE}"),
        Parsed::Bad(message) => fail(&format!("{message}; see cargo flameprobe --help"), USAGE_STATUS),
        Parsed::Run(arguments) => exit(run(&arguments)),
    }
}
