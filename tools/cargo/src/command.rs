//! The command line of cargo that runs a program under the profiler: cargo finds and builds it, and calls the profiler as
//! the target's runner.

use crate::arguments::{Arguments, Kind};
use std::env;
use std::process::Command;

/// Profiles that are built get debug information, and keep it.
const PROFILES: [&str; 2] = ["RELEASE", "BENCH"];

pub fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// This machine's target, as in x86_64-unknown-linux-gnu.
pub fn host() -> Result<String, String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let told = Command::new(&rustc).arg("-vV").output().map_err(|error| format!("{}: {error}", rustc.to_string_lossy()))?;
    let text = String::from_utf8_lossy(&told.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc -vV does not tell its host".into())
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out + "\""
}

/// A setting of cargo, as TOML.
pub fn runner(host: &str, profiler: &str, out: &str, arguments: &Arguments) -> String {
    let mut words = vec![profiler, "run", "--out", out];
    words.extend(arguments.profiler.iter().map(String::as_str));
    words.push("--");
    let list: Vec<String> = words.into_iter().map(quoted).collect();
    format!("target.{host}.runner=[{}]", list.join(","))
}

pub fn run(host: &str, profiler: &str, out: &str, arguments: &Arguments) -> Command {
    let mut command = cargo();
    command.arg(match arguments.kind {
        Kind::Run => "run",
        Kind::Bench => "bench",
        Kind::Test => "test",
    });
    command.args(["--config", &runner(host, profiler, out, arguments)]);
    match (arguments.dev, arguments.kind) {
        (false, Kind::Run | Kind::Test) => command.arg("--release"),
        (true, Kind::Bench) => command.args(["--profile", "dev"]),
        _ => &mut command,
    };
    for profile in PROFILES {
        command.env(format!("CARGO_PROFILE_{profile}_DEBUG"), "1");
        command.env(format!("CARGO_PROFILE_{profile}_STRIP"), "none");
    }
    command.args(&arguments.cargo);
    if !arguments.program.is_empty() {
        command.arg("--").args(&arguments.program);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{parse, Parsed};

    #[test]
    fn the_runner_is_toml_whatever_the_names_hold() {
        let given = ["-F", "99"].map(String::from);
        let arguments = match parse(given.into_iter()) {
            Parsed::Run(arguments) => arguments,
            _ => panic!(),
        };
        assert_eq!(
            runner("x86_64-unknown-linux-gnu", "/opt/my tools/flameprobe", "a \"b\"\\c", &arguments),
            r#"target.x86_64-unknown-linux-gnu.runner=["/opt/my tools/flameprobe","run","--out","a \"b\"\\c","--freq","99","--"]"#
        );
    }
}
