#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/descriptor.hpp"

namespace flameprobe::push {

/// The root directories of this machine's containers, each by the process that has lived in it for the longest. /proc
/// shows processes of this user, of all users to root, and of the containers whose pid namespace the uploader shares.
class ContainerRoots {
public:
    /// The root of the container with this place (base/proc.hpp); null if no process has lived in it since `unix_ns`:
    /// else the kernel may have given the namespace's number to another container.
    std::shared_ptr<const Descriptor> find(const std::string& place, std::uint64_t unix_ns);
    /// The next find() looks at /proc anew.
    void forget();

private:
    struct Inhabitant {
        Descriptor process;  // its directory in /proc
        std::uint64_t started_unix_ns = 0;
        std::shared_ptr<const Descriptor> root;  // once it was asked for
    };

    void look();

    std::map<std::string, Inhabitant> oldest_;  // by place
    bool looked_ = false;
};

}  // namespace flameprobe::push
