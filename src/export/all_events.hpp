// All events of a profile with one set of tables, for formats that hold several events in one file.
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
        const NamedProfile* event;  // for its run and summary; its counts are a part of tables().counts
        std::size_t begin, end;     // indices of tables().counts
    };
    const std::vector<Part>& parts() const { return parts_; }
    /// The tables of all parts: the profile itself if it has no other events.
    const NamedProfile& tables() const { return parts_.size() == 1 ? *parts_.front().event : joined_; }

private:
    void join(const NamedProfile& event);

    NamedProfile joined_;
    std::vector<Part> parts_;
};

}  // namespace flameprobe
