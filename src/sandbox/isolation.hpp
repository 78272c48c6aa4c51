#pragma once

namespace flameprobe {

/// Gives the calling thread a descriptor table, working directory, root and umask of its own (unshare(2): CLONE_FILES,
/// CLONE_FS; no privilege is needed). What it opens, the host can neither see nor close nor run out of, and the host's
/// chdir, chroot and umask do not move its files. The new table is empty but for /dev/null as 0, 1 and 2, so nothing of
/// the host's is held open: a pipe whose last writer closes still ends.
/// Gives false where the kernel refuses both close_range and unshare: then the table stays shared. Where it refuses
/// only a file system state of our own, working directory and umask stay the host's.
bool isolate_this_thread();

}  // namespace flameprobe
