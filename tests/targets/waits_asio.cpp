// A server and its clients in asio, four threads that run one io_context: they wait in epoll, on a condition variable,
// for timers, and in a blocking connect and read. `waits-asio SECONDS`.
#define BOOST_ASIO_DISABLE_CO_AWAIT  // that part of 1.74 lacks an include
#include <boost/asio.hpp>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

class Echo : public std::enable_shared_from_this<Echo> {
public:
    explicit Echo(tcp::socket socket) : socket_(std::move(socket)) {}

    void read() {
        socket_.async_read_some(asio::buffer(bytes_), [self = shared_from_this()](auto failed, std::size_t size) {
            if (!failed) self->write(size);
        });
    }

private:
    void write(std::size_t size) {
        asio::async_write(socket_, asio::buffer(bytes_, size), [self = shared_from_this()](auto failed, std::size_t) {
            if (!failed) self->read();
        });
    }

    tcp::socket socket_;
    char bytes_[512];
};

void accept(tcp::acceptor& acceptor) {
    acceptor.async_accept([&acceptor](auto failed, tcp::socket socket) {
        if (failed) return;
        std::make_shared<Echo>(std::move(socket))->read();
        accept(acceptor);
    });
}

void every(asio::steady_timer& timer, std::chrono::milliseconds period) {
    timer.expires_after(period);
    timer.async_wait([&timer, period](auto failed) {
        if (!failed) every(timer, period);
    });
}

void ask(const tcp::endpoint& server, std::chrono::steady_clock::time_point end) {
    asio::io_context blocking;
    tcp::socket socket(blocking);
    socket.connect(server);
    char bytes[64] = {};
    while (std::chrono::steady_clock::now() < end) {
        asio::write(socket, asio::buffer(bytes));
        asio::read(socket, asio::buffer(bytes));
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}

}  // namespace

int main(int count, char** arguments) {
    const std::chrono::duration<double> seconds(count > 1 ? std::atof(arguments[1]) : 1);
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(seconds);
    asio::io_context context;
    tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    asio::steady_timer timer(context);
    accept(acceptor);
    every(timer, std::chrono::milliseconds(5));
    std::vector<std::thread> servers, clients;
    for (int i = 0; i < 4; ++i) servers.emplace_back([&context] { context.run(); });
    for (int i = 0; i < 2; ++i) clients.emplace_back(ask, acceptor.local_endpoint(), end);
    for (auto& client : clients) client.join();
    context.stop();
    for (auto& server : servers) server.join();
}
