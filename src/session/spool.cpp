#include "session/spool.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace flameprobe {
namespace {

Descriptor create_new(const std::string& path) {
    return Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
}

// A new file takes the older one's name in one step; who reads the older one keeps it.
Descriptor replace(const std::string& path) {
    const std::string temporary = path + ".new." + std::to_string(::getpid());
    ::unlink(temporary.c_str());  // of a killed process that had our pid
    auto file = create_new(temporary);
    if (file && ::rename(temporary.c_str(), path.c_str()) != 0) {
        const int why = errno;
        ::unlink(temporary.c_str());
        file.reset();
        errno = why;
    }
    return file;
}

}  // namespace

Result<void> Spool::create() {
    if (created_) return {};
    const std::string stem = stem_;
    auto file = create_new(path());
    for (unsigned number = 2; !file && errno == EEXIST && keep_others_ && number < 100000; ++number) {
        stem_ = stem + "." + std::to_string(number);
        file = create_new(path());
    }
    if (!file && errno == EEXIST && !keep_others_) file = replace(path());
    if (!file) {
        stem_ = stem;
        return Error{path() + " cannot be created: " + std::strerror(errno) +
                     "; set FLAMEPROBE_OUT to a path in a directory that can be written"};
    }
    writer_.attach(std::move(file));
    created_ = true;
    return {};
}

Result<void> Spool::flush() {
    if (auto flushed = writer_.flush(); !flushed) return flushed;
    if (created_ && writer_.bytes_written() >= compact_at_) compact();
    return {};
}

// Beside the old file, which stays until the new one is whole. Without room for both, the old one goes on growing.
void Spool::compact() {
    const std::string temporary = path() + ".new." + std::to_string(::getpid());
    ::unlink(temporary.c_str());
    auto file = create_new(temporary);
    if (!file || !writer_.compact_into(std::move(file))) {
        ::unlink(temporary.c_str());
    } else {
        // Should this fail, the profile goes on under its temporary name rather than nowhere.
        [[maybe_unused]] const int renamed = ::rename(temporary.c_str(), path().c_str());
    }
    // Where stacks rather than samples fill the file little is gained: it may double before the next attempt.
    compact_at_ = std::max(most_bytes_, 2 * writer_.bytes_written());
}

void Spool::remove() {
    if (created_) ::unlink(path().c_str());
    created_ = false;
}

}  // namespace flameprobe
