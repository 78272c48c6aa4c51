#include "unpacked.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "base/descriptor.hpp"
#include "base/output_directory.hpp"
#include "remover.hpp"

// Of packed.S, which the script `pack` writes.
extern "C" const char packed_libflameprobe[], packed_libflameprobe_end[], packed_libflameprobe_core[],
    packed_libflameprobe_core_end[], packed_libflameprobe_alloc[], packed_libflameprobe_alloc_end[];

namespace flameprobe {

namespace {

/// A file that this program has in itself.
struct PackedFile {
    std::string_view name, bytes;
};

const std::array packed_files = {
    PackedFile{"libflameprobe.so", {packed_libflameprobe, packed_libflameprobe_end}},
    PackedFile{"libflameprobe-core.so", {packed_libflameprobe_core, packed_libflameprobe_core_end}},
    PackedFile{"libflameprobe-alloc.so", {packed_libflameprobe_alloc, packed_libflameprobe_alloc_end}}};

/// Where a directory of our own may be made, the best first. Programs that root starts may become other users, who
/// still have to read it, and have no way into root's XDG_RUNTIME_DIR.
std::vector<std::string> places() {
    std::vector<std::string> found;
    for (const char* variable : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
        const char* value = ::getenv(variable);
        if (value != nullptr && value[0] == '/' && (::geteuid() != 0 || variable[0] == 'T')) found.emplace_back(value);
    }
    found.insert(found.end(), {"/tmp", "/var/tmp", "/dev/shm", "/run"});
    std::error_code none;
    found.push_back(std::filesystem::current_path(none).string());
    return found;
}

/// What makes a directory no place for libraries that are loaded from it; empty: nothing. Another user who may rename
/// what lies in it could put a library of his own into our programs.
std::string fault_of(const std::string& place) {
    struct stat status {};
    struct statvfs system {};
    if (::stat(place.c_str(), &status) != 0 || ::statvfs(place.c_str(), &system) != 0) return error_text(errno);
    if ((system.f_flag & ST_NOEXEC) != 0) return "is mounted noexec";
    if (status.st_uid != 0 && status.st_uid != ::geteuid()) return "is another user's";
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (status.st_mode & S_ISVTX) == 0)
        return "may be changed by other users";
    if (place.find_first_of(" :") != place.npos) return "has a space or a colon, which LD_PRELOAD takes for its end";
    return {};
}

Result<std::string> make_directory() {
    std::string tried;
    for (const std::string& place : places()) {
        std::string why = fault_of(place), path = place + "/flameprobe-XXXXXX";
        if (why.empty() && ::mkdtemp(path.data()) != nullptr) {
            if (::geteuid() == 0) ::chmod(path.c_str(), 0711);
            return path;
        }
        if (why.empty()) why = error_text(errno);
        tried += (tried.empty() ? "" : ", ") + place + " (" + why + ")";
    }
    return Error{"there is no place for the library that is preloaded: " + tried + "; TMPDIR names another"};
}

Descriptor new_file(const std::string& path) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755));
    if (file) ::fchmod(file.get(), 0755);  // whatever the umask
    return file;
}

bool write_file(const std::string& path, std::string_view bytes) {
    const Descriptor file = new_file(path);
    while (file && !bytes.empty()) {
        const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return static_cast<bool>(file);
}

/// A copy, since the file itself may be gone or out of sight of a program that changes its root.
bool copy_of_this_program(const std::string& path) {
    const Descriptor from(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)), to = new_file(path);
    struct stat status {};
    if (!from || !to || ::fstat(from.get(), &status) != 0) return false;
    for (off_t at = 0; at < status.st_size;)
        if (::sendfile(to.get(), from.get(), &at, static_cast<std::size_t>(status.st_size - at)) <= 0) return false;
    return true;
}

Result<std::string> unpack() {
    auto directory = make_directory();
    if (!directory) return directory;
    start_remover(*directory);
    bool all = copy_of_this_program(*directory + "/" + drawing_copy);
    for (const PackedFile& file : packed_files)
        all = all && write_file(*directory + "/" + std::string(file.name), file.bytes);
    if (!all) return Error{*directory + " cannot be written: " + error_text(errno)};
    return directory;
}

}  // namespace

Result<std::string> unpacked_file(const std::string& name) {
    const std::string wanted = last_name(name);
    if (std::ranges::find(packed_files, wanted, &PackedFile::name) == packed_files.end())
        return Error{wanted + " is not part of this flameprobe, which is one file"};
    static const Result<std::string> directory = unpack();
    if (!directory) return directory;
    return *directory + "/" + wanted;
}

}  // namespace flameprobe
