// A page on a loopback port, for clients that send its token.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace flameprobe {

struct PageAnswer {
    unsigned status = 200;
    std::string type = "text/html; charset=utf-8";
    std::string body;
};

/// Answers only GET requests to 127.0.0.1 that name this host (else another site could direct a browser here by its own
/// host name) and whose path begins with the token; all others get 404. Short connections; many that send no token do
/// not keep others out.
class PageServer {
public:
    /// `answer` gets the path after the token: "" or "data". It is called from the server's thread, one call at a time.
    /// `port` 0: a free one.
    static Result<PageServer> start(std::uint16_t port, std::function<PageAnswer(const std::string& path)> answer);
    PageServer(PageServer&&) noexcept;
    PageServer& operator=(PageServer&&) = delete;
    /// Waits until answers in progress are sent.
    ~PageServer();

    /// http://127.0.0.1:PORT/TOKEN/
    const std::string& url() const;

private:
    struct State;
    explicit PageServer(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace flameprobe
