// A small trading engine that profiles itself on command. Commands on standard input:
//   profile SECONDS   samples at 4 kHz for so long, and says where the profile is
//   quit
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <flameprobe/flameprobe.hpp>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>

namespace {

struct Order {
    std::uint64_t price;
    std::uint64_t amount;
    bool buys;
};

class Book {
public:
    /// The amount that found a partner.
    std::uint64_t match(Order order) {
        return order.buys ? trade(order, sells_, buys_, true) : trade(order, buys_, sells_, false);
    }

private:
    using Side = std::map<std::uint64_t, std::uint64_t>;  // amount by price

    static std::uint64_t trade(Order order, Side& against, Side& own, bool cheapest) {
        std::uint64_t traded = 0;
        while (order.amount > 0 && !against.empty()) {
            const auto best = cheapest ? against.begin() : std::prev(against.end());
            if (cheapest ? best->first > order.price : best->first < order.price) break;
            const std::uint64_t part = std::min(order.amount, best->second);
            order.amount -= part, best->second -= part, traded += part;
            if (best->second == 0) against.erase(best);
        }
        if (order.amount > 0) own[order.price] += order.amount;
        if (own.size() > 1000) own.erase(own.begin());
        return traded;
    }

    Side buys_, sells_;
};

class Signals {
public:
    double update(double price) {
        double sum = 0;
        for (std::size_t i = 0; i < averages_.size(); ++i) {
            averages_[i] += (price - averages_[i]) / static_cast<double>(2u << i);
            sum += price > averages_[i] ? 1 : -1;
        }
        return sum;
    }

private:
    std::array<double, 16> averages_{};
};

std::atomic<bool> over{false};

void trade() {
    Book book;
    Signals signals;
    std::uint64_t random = 88172645463325252u;
    while (!over.load(std::memory_order_relaxed)) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        const std::uint64_t price = 10'000 + random % 512;
        const double signal = signals.update(static_cast<double>(price));
        const FlameProbe::Scope scope{"match"};
        book.match({price, 1 + random % 7, signal > 0});
        FlameProbe::count("orders");
    }
}

void profile(double seconds, unsigned number) {
    FlameProbe::Options options;
    options.frequency = 4000;
    options.format = "none";
    options.output = "engine.profile-" + std::to_string(number);
    if (const auto started = FlameProbe::start(options); !started) {
        std::printf("not profiled: %s\n", started.message());
    } else {
        std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
        const auto stopped = FlameProbe::stop();
        std::printf("%s %s.fprobe\n", stopped ? "profiled" : stopped.message(), options.output.c_str());
    }
    std::fflush(stdout);
}

}  // namespace

int main() {
    std::thread trader(trade);
    unsigned profiles = 0;
    for (std::string line; std::getline(std::cin, line) && line != "quit";) {
        std::istringstream words(line);
        std::string command;
        double seconds = 0;
        if (words >> command >> seconds && command == "profile" && seconds > 0 && seconds <= 600)
            profile(seconds, ++profiles);
        else
            std::puts("commands: profile SECONDS (up to 600), quit"), std::fflush(stdout);
    }
    over = true;
    trader.join();
}
