#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace flameprobe::push {

/// Answers GET /metrics on 127.0.0.1 with what was last published, from a thread of its own: an upload that hangs does
/// not stop it. One connection at a time, two seconds for each.
class MetricsServer {
public:
    /// 0 is a free port.
    static Result<MetricsServer> listen(std::uint16_t port);
    MetricsServer(MetricsServer&&) = default;
    ~MetricsServer();

    std::uint16_t port() const { return port_; }
    void publish(std::string text);

private:
    struct Shared {
        std::mutex mutex;
        std::string text;
        Descriptor listener, ended;
    };

    explicit MetricsServer(std::unique_ptr<Shared> shared, std::uint16_t port);
    static void serve(Shared& shared);

    std::unique_ptr<Shared> shared_;
    std::uint16_t port_ = 0;
    std::thread thread_;
};

}  // namespace flameprobe::push
