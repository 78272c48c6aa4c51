#include "page_server.hpp"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <list>
#include <string_view>

#include "base/binary_text.hpp"

namespace flameprobe {

namespace {

constexpr unsigned most_connections = 256, seconds_idle = 10;
// Any user of this machine can connect and send nothing: of connections that have not shown the token, the oldest is
// shut where there are more than this, before the server takes none at all.
constexpr std::size_t most_strangers = 16;
constexpr std::size_t bytes_per_connection = 32 * 1024;

Result<std::string> new_token() {
    std::string bytes(16, '\0');
    if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        return Error{"no random numbers for a token: " + error_text(errno)};
    return hex_text(bytes);
}

/// Compares in a time that does not depend on where the texts differ.
bool equal(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    unsigned char difference = 0;
    for (std::size_t at = 0; at < a.size(); ++at) difference |= static_cast<unsigned char>(a[at] ^ b[at]);
    return difference == 0;
}

struct Client {
    int socket;
    bool known = false;  // it has shown the token
    bool shut = false;
};

struct DaemonStop {
    void operator()(MHD_Daemon* daemon) const { MHD_stop_daemon(daemon); }
};
struct ResponseDelete {
    void operator()(MHD_Response* response) const { MHD_destroy_response(response); }
};

}  // namespace

struct PageServer::State {
    std::function<PageAnswer(const std::string&)> answer;
    std::string token, url;
    std::array<std::string, 2> hosts;
    std::list<Client> clients;                       // oldest first; the server's thread only
    std::unique_ptr<MHD_Daemon, DaemonStop> daemon;  // last member: it uses the others until it has stopped

    PageAnswer answer_to(MHD_Connection* connection, std::string_view path, std::string_view method) const;
    void shut_oldest_stranger();
    static void on_connection(void* self, MHD_Connection* connection, void** client,
                              MHD_ConnectionNotificationCode what);
    static MHD_Result on_request(void* self, MHD_Connection* connection, const char* path, const char* method,
                                 const char* version, const char* upload, std::size_t* upload_size, void** context);
};

PageAnswer PageServer::State::answer_to(MHD_Connection* connection, std::string_view path,
                                        std::string_view method) const {
    const PageAnswer unknown{404, "text/plain; charset=utf-8", "Not found.\n"};
    const char* host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
    if (host == nullptr || (host != hosts[0] && host != hosts[1])) return unknown;
    // Its own page's requests have none, or this server's: one with another site's is for that site's page.
    const char* origin = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Origin");
    if (origin != nullptr && origin != std::string("http://") + host) return unknown;
    if (path.size() < token.size() + 2 || path[0] != '/' || path[token.size() + 1] != '/') return unknown;
    if (!equal(path.substr(1, token.size()), token)) return unknown;
    const MHD_ConnectionInfo* client = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (client != nullptr && client->socket_context != nullptr)
        static_cast<Client*>(client->socket_context)->known = true;
    if (method != "GET") return {405, "text/plain; charset=utf-8", "Only GET is answered here.\n"};
    try {
        return answer(std::string(path.substr(token.size() + 2)));
    } catch (const std::exception& exception) {
        return {500, "text/plain; charset=utf-8", std::string(exception.what()) + "\n"};
    }
}

void PageServer::State::shut_oldest_stranger() {
    const auto is_idle = [](const Client& client) { return !client.known && !client.shut; };
    const auto idle = std::count_if(clients.begin(), clients.end(), is_idle);
    if (static_cast<std::size_t>(idle) <= most_strangers) return;
    Client& oldest = *std::find_if(clients.begin(), clients.end(), is_idle);
    oldest.shut = ::shutdown(oldest.socket, SHUT_RDWR) == 0;  // the server closes it in its next round
}

void PageServer::State::on_connection(void* self, MHD_Connection* connection, void** client,
                                      MHD_ConnectionNotificationCode what) {
    auto& clients = static_cast<State*>(self)->clients;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const MHD_ConnectionInfo* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        clients.push_back({info != nullptr ? info->connect_fd : -1});
        *client = &clients.back();
        static_cast<State*>(self)->shut_oldest_stranger();
    } else {
        clients.remove_if([client](const Client& one) { return &one == *client; });
    }
}

MHD_Result PageServer::State::on_request(void* self, MHD_Connection* connection, const char* path, const char* method,
                                         const char* /*version*/, const char* /*upload*/, std::size_t* upload_size,
                                         void** context) {
    static int seen = 0;
    if (*context == nullptr) {  // this call has the headers only; a body is not read
        *context = &seen;
        return MHD_YES;
    }
    if (*upload_size > 0) return MHD_NO;
    const PageAnswer made = static_cast<const State*>(self)->answer_to(connection, path, method);
    const std::unique_ptr<MHD_Response, ResponseDelete> response(
        MHD_create_response_from_buffer(made.body.size(), const_cast<char*>(made.body.data()), MHD_RESPMEM_MUST_COPY));
    if (!response) return MHD_NO;
    for (const auto& [name, value] :
         {std::pair{"Content-Type", made.type.c_str()}, std::pair{"Cache-Control", "no-store"},
          std::pair{"Referrer-Policy", "no-referrer"}, std::pair{"X-Content-Type-Options", "nosniff"},
          std::pair{"X-Frame-Options", "DENY"}, std::pair{"Cross-Origin-Resource-Policy", "same-origin"}}) {
        MHD_add_response_header(response.get(), name, value);
    }
    return MHD_queue_response(connection, made.status, response.get());
}

PageServer::PageServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
PageServer::PageServer(PageServer&&) noexcept = default;
PageServer::~PageServer() = default;
const std::string& PageServer::url() const { return state_->url; }

Result<PageServer> PageServer::start(std::uint16_t port, std::function<PageAnswer(const std::string&)> answer) {
    auto state = std::make_unique<State>();
    state->answer = std::move(answer);
    auto token = new_token();
    if (!token) return token.error();
    state->token = std::move(*token);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    state->daemon.reset(MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO, 0, nullptr, nullptr, &State::on_request, state.get(),
        MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT, most_connections, MHD_OPTION_CONNECTION_TIMEOUT,
        seconds_idle, MHD_OPTION_CONNECTION_MEMORY_LIMIT, bytes_per_connection, MHD_OPTION_NOTIFY_CONNECTION,
        &State::on_connection, state.get(), MHD_OPTION_END));
    if (!state->daemon) return Error{"port " + std::to_string(port) + " on 127.0.0.1: " + error_text(errno)};
    const MHD_DaemonInfo* bound = MHD_get_daemon_info(state->daemon.get(), MHD_DAEMON_INFO_BIND_PORT);
    const std::string number = std::to_string(bound != nullptr ? bound->port : port);
    state->hosts = {"127.0.0.1:" + number, "localhost:" + number};
    state->url = "http://127.0.0.1:" + number + "/" + state->token + "/";
    return PageServer(std::move(state));
}

}  // namespace flameprobe
