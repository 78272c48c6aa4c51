#include "collect/rotation.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace flameprobe {

Result<void> Rotation::put_away(std::string path, std::uint64_t samples) {
    earlier_.push_back({std::move(path), samples});
    ++number_;
    if (earlier_.size() <= most_earlier) return {};
    const Part oldest = std::move(earlier_.front());
    earlier_.pop_front();
    if (::unlink(oldest.path.c_str()) == 0)
        given_up_ += oldest.samples;
    else if (errno != ENOENT)  // else the user has moved it elsewhere
        return Error{oldest.path +
                     " cannot be removed to make room for the next part of the profile: " + std::strerror(errno)};
    return {};
}

std::string Rotation::describe(const std::string& last) const {
    std::string text = "the profile has outgrown " + std::to_string(file_bytes() >> 10) + " KiB and is in " +
                       std::to_string(earlier_.size() + (last.empty() ? 0 : 1)) +
                       " parts, of which the results show the last; all: " + "flameprobe-render";
    for (const auto& part : earlier_) text += " " + part.path;
    if (!last.empty()) text += " " + last + ".fprobe";
    if (given_up_ != 0) {
        text +=
            "; the oldest parts, with " + std::to_string(given_up_) + " samples, were given up for FLAMEPROBE_MAX_SIZE";
    }
    return text;
}

}  // namespace flameprobe
