// One POST at a time over libcurl, whose types stay in http_client.cpp.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "push/settings.hpp"

namespace flameprobe::push {

struct Request {
    std::string url;
    std::vector<std::string> headers;  // "Name: value"
    std::string body;
};

struct Answer {
    long status = 0;   // 0: there was none
    std::string text;  // what the engine said, its first 4 KiB; or why there was no answer
    std::optional<std::chrono::seconds> retry_after;
};

enum class Verdict { accepted, later, refused };

/// 2xx is accepted. Worth another try: no answer, 408, 425, 429 and 5xx. All else is refused, a redirection included.
Verdict verdict_of(const Answer& answer);

/// Certificates are verified, redirections not followed, proxies taken from the environment as curl does.
class HttpClient {
public:
    /// Reads the files with secrets, which nothing else does. An Error names the file.
    static Result<HttpClient> make(const Settings& settings);
    HttpClient(HttpClient&&) noexcept;
    HttpClient& operator=(HttpClient&&) noexcept;
    ~HttpClient();

    Answer post(const Request& request);

private:
    struct State;
    explicit HttpClient(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace flameprobe::push
