//! What the user asked for.

/// What cargo is to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Run,
    Bench,
    Test,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Arguments {
    pub kind: Kind,
    pub dev: bool,
    pub open: bool,
    /// Of `flameprobe run`.
    pub profiler: Vec<String>,
    /// Path of the results without the ending.
    pub out: String,
    pub cargo: Vec<String>,
    pub program: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Parsed {
    Run(Arguments),
    Help,
    Bad(String),
}

pub const USAGE: &str = "\
cargo flameprobe [OPTIONS] [CARGO OPTIONS] [-- ARGUMENTS]

Runs the package's binary under FlameProbe, in release, and ends with the path of its flame graph.

  --bin NAME, --example NAME   run this one
  --bench NAME, --test NAME    run this benchmark, or test
  -F, --freq HZ                samples a second of CPU time, per thread (default 99)
  -o, --out PATH               of the results without the ending (default flameprobe.%e.%p)
      --event LIST             what is sampled: cpu, ...; as flameprobe run takes it
      --dev                    the dev profile instead of release
      --open                   open the picture afterwards
  -h, --help

Other options go to cargo: -p, --features, --manifest-path, ...
The profiler is `flameprobe` in the PATH, or what the variable FLAMEPROBE names.
";

pub fn parse(given: impl Iterator<Item = String>) -> Parsed {
    let mut given = given.peekable();
    let mut arguments = Arguments {
        kind: Kind::Run,
        dev: false,
        open: false,
        profiler: vec![],
        out: "flameprobe.%e.%p".into(),
        cargo: vec![],
        program: vec![],
    };
    while let Some(argument) = given.next() {
        let (name, attached) = match argument.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name.to_owned(), Some(value.to_owned())),
            _ => (argument.clone(), None),
        };
        let mut value = || match attached.clone().or_else(|| given.next()) {
            Some(value) => Ok(value),
            None => Err(Parsed::Bad(format!("{name} needs a value"))),
        };
        let done: Result<(), Parsed> = (|| {
            match name.as_str() {
                "--" => {}
                "-h" | "--help" => return Err(Parsed::Help),
                "--dev" => arguments.dev = true,
                "--open" => arguments.open = true,
                "-o" | "--out" => arguments.out = value()?,
                "-F" | "--freq" => arguments.profiler.extend(["--freq".into(), value()?]),
                "--event" => arguments.profiler.extend(["--event".into(), value()?]),
                "--bin" | "--example" => arguments.cargo.extend([name.clone(), value()?]),
                "--bench" | "--test" => {
                    arguments.kind = if name == "--bench" { Kind::Bench } else { Kind::Test };
                    arguments.cargo.extend([name.clone(), value()?]);
                }
                _ => arguments.cargo.push(argument.clone()),
            }
            Ok(())
        })();
        if let Err(end) = done {
            return end;
        }
        if argument == "--" {
            arguments.program = given.collect();
            break;
        }
    }
    Parsed::Run(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> Arguments {
        match parse(text.split_whitespace().map(str::to_owned)) {
            Parsed::Run(arguments) => arguments,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_not_known_goes_to_cargo_and_what_follows_to_the_program() {
        let arguments = run("--example insert -F 999 --features=fast -p db --open -- --dev 7");
        assert_eq!(arguments.kind, Kind::Run);
        assert_eq!(arguments.profiler, ["--freq", "999"]);
        assert_eq!(arguments.cargo, ["--example", "insert", "--features=fast", "-p", "db"]);
        assert_eq!(arguments.program, ["--dev", "7"]);
        assert!(arguments.open && !arguments.dev);
    }

    #[test]
    fn benchmarks_and_tests() {
        assert_eq!(run("--bench=parse").kind, Kind::Bench);
        assert_eq!(run("--bench=parse").cargo, ["--bench", "parse"]);
        assert_eq!(run("--test all").kind, Kind::Test);
    }

    #[test]
    fn a_value_that_is_missing() {
        assert_eq!(parse(["--out".to_owned()].into_iter()), Parsed::Bad("--out needs a value".into()));
    }
}
