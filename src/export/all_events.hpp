// The events of a profile with one set of tables, for formats whose one file has them all.
#pragma once

#include <cstddef>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

class AllEvents {
public:
    /// `profile` and its `others` must outlive it. They come from one run, and have the same threads, mappings and
    /// locations.
    explicit AllEvents(const NamedProfile& profile);
    AllEvents(const AllEvents&) = delete;

    struct Part {
        const NamedProfile* event;  // its run and summary; its counts are in tables().counts
        std::size_t begin, end;     // indices of tables().counts
    };
    const std::vector<Part>& parts() const { return parts_; }
    /// Of all parts: the profile itself where it has no others.
    const NamedProfile& tables() const { return parts_.size() == 1 ? *parts_.front().event : joined_; }

private:
    void join(const NamedProfile& event);

    NamedProfile joined_;
    std::vector<Part> parts_;
};

}  // namespace flameprobe
