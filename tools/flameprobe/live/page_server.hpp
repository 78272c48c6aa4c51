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

/// Answers GET only, on 127.0.0.1 only, of requests that name that host (a page elsewhere could lead a browser here by
/// a name of its own) and whose path begins with the token; all else is 404. Few connections at a time, short ones.
class PageServer {
public:
    /// `answer` gets what stands behind the token: "" or "data". It is called from the server's thread, one call at a
    /// time. `port` 0: a free one.
    static Result<PageServer> start(std::uint16_t port, std::function<PageAnswer(const std::string& path)> answer);
    PageServer(PageServer&&) noexcept;
    PageServer& operator=(PageServer&&) = delete;
    /// Waits for the answers that are under way.
    ~PageServer();

    /// http://127.0.0.1:PORT/TOKEN/
    const std::string& url() const;

private:
    struct State;
    explicit PageServer(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace flameprobe
