#include "collect/profile_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace flameprobe {
namespace {

Descriptor create_new(const std::string& path) {
    return Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
}

}  // namespace

Result<void> ProfileFile::create() {
    if (created_) return {};
    const std::string stem = stem_;
    auto file = create_new(path());
    for (unsigned number = 2; !file && errno == EEXIST && keep_others_ && number < 100000; ++number) {
        stem_ = stem + "." + std::to_string(number);
        file = create_new(path());
    }
    if (!file && errno == EEXIST && !keep_others_) {
        unpublished_ = temporary_path();
        ::unlink(unpublished_.c_str());  // of a killed process that had our pid
        file = create_new(unpublished_);
    }
    if (!file) {
        stem_ = stem;
        unpublished_.clear();
        return Error{path() + " cannot be created: " + std::strerror(errno) +
                     "; set FLAMEPROBE_OUT to a path in a directory that can be written"};
    }
    writer_.attach(std::move(file));
    created_ = true;
    return {};
}

// A new file takes the older one's name in one step, once it holds something; who reads the older one keeps it. Where
// that is refused (privileges were dropped meanwhile) the profile goes on under its temporary name rather than nowhere.
void ProfileFile::publish() {
    if (!unpublished_.empty() && ::rename(unpublished_.c_str(), own_path().c_str()) == 0) unpublished_.clear();
}

Result<void> ProfileFile::flush() {
    if (auto flushed = writer_.flush(); !flushed) {
        if (writer_.bytes_written() == 0) remove();  // an empty file helps nobody
        return flushed;
    }
    publish();
    if (created_ && !full_ && writer_.bytes_written() >= compact_at_) compact();
    return {};
}

void ProfileFile::close() {
    if (!created_) return;
    writer_.attach(Descriptor{});
    closed_ = true;
}

Result<void> ProfileFile::reopen() {
    if (!closed_) return {};
    Descriptor file(::open(path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0 ||
        static_cast<std::uint64_t>(status.st_size) != writer_.bytes_written()) {
        return Error{path() + " cannot be opened again, so the profile ends here: " + std::strerror(errno)};
    }
    writer_.attach(std::move(file));
    closed_ = false;
    return {};
}

// Beside the old file, which stays until the new one is whole.
void ProfileFile::compact() {
    const std::string temporary = temporary_path();
    ::unlink(temporary.c_str());
    auto file = create_new(temporary);
    if (!file || !writer_.compact_into(std::move(file))) {
        ::unlink(temporary.c_str());
    } else {
        unpublished_ = temporary;
        publish();
        compact_at_ = most_bytes_;
    }
    // What is left is stacks, threads and sums: after half of the size another attempt would come soon, and gain less.
    full_ = writer_.bytes_written() > most_bytes_ / 2;
}

Result<void> ProfileFile::move_to(std::string stem) {
    if (::rename(path().c_str(), (stem + ".fprobe").c_str()) != 0) {
        return Error{path() +
                     " cannot be renamed to make room for the next part of the profile: " + std::strerror(errno)};
    }
    stem_ = std::move(stem);
    unpublished_.clear();
    return {};
}

void ProfileFile::go_on() {
    compact_at_ = writer_.bytes_written() + most_bytes_;
    full_ = false;
}

void ProfileFile::remove() {
    if (created_) ::unlink(path().c_str());
    unpublished_.clear();
    created_ = false;
}

}  // namespace flameprobe
