#include "http_client.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/binary_text.hpp"

namespace flameprobe::push {

namespace {

constexpr std::size_t most_kept = 4096, most_taken = std::size_t{1} << 20;

struct FreeHandle {
    void operator()(CURL* handle) const { ::curl_easy_cleanup(handle); }
};
struct FreeList {
    void operator()(curl_slist* list) const { ::curl_slist_free_all(list); }
};

struct AnswerText {
    std::string kept;
    std::size_t taken = 0;
    bool head_is_whole = false;  // curl accepts a head that breaks off
};

std::size_t look_at_head(char* line, std::size_t size, std::size_t count, void* into) {
    const std::string_view text(line, size * count);
    static_cast<AnswerText*>(into)->head_is_whole = text == "\r\n" || text == "\n";
    return size * count;
}

std::size_t keep_answer(char* data, std::size_t size, std::size_t count, void* into) {
    auto& text = *static_cast<AnswerText*>(into);
    text.kept.append(data, std::min(size * count, most_kept - text.kept.size()));
    text.taken += size * count;
    return text.taken > most_taken ? 0 : size * count;
}

/// Removes a secret from an answer: servers and proxies may repeat a request, and answers are logged.
void blank_out(const std::string& secret, std::string& text) {
    if (secret.empty()) return;
    for (std::size_t at = 0; (at = text.find(secret, at)) != text.npos;) text.replace(at, secret.size(), "***");
}

/// The first line of a file.
Result<std::string> secret_in(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line) || line.empty()) return Error{path + ": cannot be read, or its first line is empty"};
    if (line.back() == '\r') line.pop_back();
    return line;
}

}  // namespace

struct HttpClient::State {
    std::unique_ptr<CURL, FreeHandle> handle{::curl_easy_init()};
    Settings settings;
    std::string token, user;
    std::vector<std::string> secrets;  // in every form in which an answer could repeat them
};

HttpClient::HttpClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

Result<HttpClient> HttpClient::make(const Settings& settings) {
    auto state = std::make_unique<State>();
    if (!state->handle) return Error{"libcurl cannot be used"};
    state->settings = settings;
    for (const auto& [path, into] :
         {std::pair(&settings.token_file, &state->token), std::pair(&settings.user_file, &state->user)}) {
        if (path->empty()) continue;
        auto secret = secret_in(*path);
        if (!secret) return secret.error();
        *into = std::move(*secret);
    }
    state->secrets = {state->token, state->user, base64(state->user),
                      state->user.substr(std::min(state->user.find(':') + 1, state->user.size()))};
    for (const std::string* path : {&settings.ca_file, &settings.certificate_file, &settings.key_file})
        if (!path->empty() && !std::ifstream(*path)) return Error{*path + ": cannot be read"};
    return HttpClient(std::move(state));
}

Answer HttpClient::post(const Request& request) {
    CURL* curl = state_->handle.get();
    const Settings& settings = state_->settings;
    Answer answer;
    AnswerText text;
    auto timeout = settings.timeout;
    if (request.most_time.count() > 0) timeout = std::min(timeout, request.most_time);
    ::curl_easy_reset(curl);  // keeps connections and TLS sessions
    std::unique_ptr<curl_slist, FreeList> headers(::curl_slist_append(nullptr, "Expect:"));
    const auto header = [&](const std::string& line) {
        headers.reset(::curl_slist_append(headers.release(), line.c_str()));
    };
    for (const std::string& line : request.headers) header(line);
    if (!settings.tenant.empty() && request.is_secret_known) header("X-Scope-OrgID: " + settings.tenant);
    ::curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
    ::curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    ::curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    ::curl_easy_setopt(curl, CURLOPT_POST, 1L);
    ::curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
    ::curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    ::curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
    ::curl_easy_setopt(curl, CURLOPT_USERAGENT, "flameprobe/" FLAMEPROBE_VERSION);
    ::curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    ::curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout.count()));
    ::curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, look_at_head);
    ::curl_easy_setopt(curl, CURLOPT_HEADERDATA, &text);
    ::curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep_answer);
    ::curl_easy_setopt(curl, CURLOPT_WRITEDATA, &text);
    if (!request.is_secret_known) {
        // Neither of them.
    } else if (!state_->token.empty()) {
        ::curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
        ::curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, state_->token.c_str());
    } else if (!state_->user.empty()) {
        ::curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
        ::curl_easy_setopt(curl, CURLOPT_USERPWD, state_->user.c_str());
    }
    ::curl_easy_setopt(curl, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    if (!settings.ca_file.empty()) {
        ::curl_easy_setopt(curl, CURLOPT_CAINFO, settings.ca_file.c_str());
        ::curl_easy_setopt(curl, CURLOPT_CAPATH, nullptr);  // or the system's would be trusted as well
    }
    if (!settings.certificate_file.empty()) {
        ::curl_easy_setopt(curl, CURLOPT_SSLCERT, settings.certificate_file.c_str());
        ::curl_easy_setopt(curl, CURLOPT_SSLKEY, settings.key_file.c_str());
    }
    const CURLcode done = ::curl_easy_perform(curl);
    if (done != CURLE_OK) {
        // An answer that breaks off counts as none, whatever its status is.
        answer.text = text.taken > most_taken ? "the answer is longer than 1 MiB" : ::curl_easy_strerror(done);
        return answer;
    }
    if (!text.head_is_whole) {
        answer.text = "the answer breaks off";
        return answer;
    }
    answer.text = std::move(text.kept);
    for (const std::string& secret : state_->secrets) blank_out(secret, answer.text);
    ::curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
    curl_off_t wait = 0;
    if (::curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &wait) == CURLE_OK && wait > 0)
        answer.retry_after = std::chrono::seconds(wait);
    return answer;
}

}  // namespace flameprobe::push
