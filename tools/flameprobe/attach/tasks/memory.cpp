#include "memory.hpp"

#include <limits.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <array>

#include "base/host_process.hpp"

namespace flameprobe::async {
namespace {

constexpr std::size_t most_between = 512;  // bytes that are read for nothing, where that is cheaper than another page

/// One call for `places`, at most IOV_MAX / 2. `together`: what lies close is read as one piece, since the kernel looks
/// a piece's pages up anew. Gives how many were read whole.
std::size_t read_part(std::span<const Place> places, std::byte* to, bool together) {
    std::array<iovec, IOV_MAX> own, theirs;
    std::array<std::byte, most_between> nothing;
    std::size_t owns = 0, pieces = 0;
    std::uint64_t end = 0;
    for (const Place& place : places) {
        const bool joins = together && pieces != 0 && place.address >= end && place.address - end <= most_between;
        const std::uint64_t between = joins ? place.address - end : 0;
        if (between != 0) own[owns++] = {nothing.data(), between};
        own[owns++] = {to, place.size};
        if (joins)
            theirs[pieces - 1].iov_len += between + place.size;
        else
            theirs[pieces++] = {reinterpret_cast<void*>(place.address), place.size};
        to += place.size;
        end = place.address + place.size;
    }
    const ssize_t got = ::process_vm_readv(host_process(), own.data(), owns, theirs.data(), pieces, 0);
    std::size_t left = got < 0 ? 0 : static_cast<std::size_t>(got), whole = 0;
    for (std::size_t i = 0; i < owns && left >= own[i].iov_len; ++i) {
        left -= own[i].iov_len;
        if (own[i].iov_base != nothing.data()) ++whole;
    }
    return whole;
}

}  // namespace

std::size_t read_places(std::span<const Place> places, std::vector<std::byte>& bytes) {
    std::size_t size = 0, done = 0;
    for (const Place& place : places) size += place.size;
    bytes.resize(size);
    std::byte* to = bytes.data();
    while (done < places.size()) {
        const auto part = places.subspan(done, std::min<std::size_t>(places.size() - done, IOV_MAX / 2));
        std::size_t whole = read_part(part, to, true);
        // A piece is read whole or not at all, so the others of it are tried by themselves.
        if (whole < part.size()) whole = read_part(part, to, false);
        if (whole < part.size()) return done + whole;
        for (const Place& place : part) to += place.size;
        done += part.size();
    }
    return done;
}

Memory::Memory() {
    const auto maps = read_proc_maps();
    if (!maps) return;
    for (const std::string_view text : parts_of_list({maps->text.data(), maps->text.size()}, '\n')) {
        MapsLine line;
        if (!parse_maps_line(text, line)) continue;
        const bool writable = text.substr(text.find(' ') + 2, 1) == "w";  // "start-end rwxp"
        ranges_.push_back(
            {line.start, line.end, line.offset, writable, line.executable, line.readable, std::string(line.path)});
    }
}

}  // namespace flameprobe::async
