// One POST at a time over libcurl, whose types stay in http_client.cpp.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "settings.hpp"

namespace flameprobe::push {

struct Request {
    std::string url;
    std::vector<std::string> headers;  // "Name: value"
    std::string body;
    std::size_t profile_bytes = 0;           // of the profile in it, uncompressed
    std::chrono::milliseconds most_time{0};  // limit, if shorter than settings.timeout; 0: none of its own
    bool is_secret_known = true;             // whether token, password and tenant may be sent to this URL
};

struct Answer {
    long status = 0;   // 0: there was none
    std::string text;  // what the server said, its first 4 KiB, without our secrets; or why there was no answer
    std::optional<std::chrono::seconds> retry_after;
};

/// Certificates are verified, redirections not followed, proxies taken from the environment as curl does. An answer of
/// more than 1 MiB counts as none.
class HttpClient {
public:
    /// Reads the files with secrets; no other code does. An Error names the file.
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
