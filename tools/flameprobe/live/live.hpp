#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace flameprobe {

/// Serves the page of a process, for `run --live` too, until the object is destroyed.
class LivePage {
public:
    static Result<LivePage> start(pid_t pid, std::uint16_t port = 0);
    LivePage(LivePage&&) noexcept;
    LivePage& operator=(LivePage&&) = delete;
    ~LivePage();
    const std::string& url() const;

private:
    struct State;
    explicit LivePage(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace flameprobe
