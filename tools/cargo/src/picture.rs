//! The picture that a run has left.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// The newest HTML beside the results that is not older than `since`.
pub fn newest(out: &str, since: SystemTime) -> Option<PathBuf> {
    let directory = match Path::new(out).parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut found: Vec<(SystemTime, PathBuf)> = fs::read_dir(directory)
        .ok()?
        .flatten()
        .filter(|entry| entry.path().extension().map_or(false, |ending| ending == "html"))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .filter(|(time, _)| *time >= since)
        .collect();
    found.sort();
    found.pop().map(|(_, path)| path)
}

pub fn open(path: &Path) -> Result<(), String> {
    let status = Command::new("xdg-open").arg(path).status().map_err(|error| format!("xdg-open: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("xdg-open {}: {status}", path.display()))
    }
}
