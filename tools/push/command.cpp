#include "push/command.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "push/uploader.hpp"

namespace flameprobe {

namespace {

int complain(int status, const std::string& message) {
    if (!message.empty()) std::fprintf(stderr, "flameprobe push: %s\n", message.c_str());
    if (status == 2) std::fputs("Try 'flameprobe push --help'.\n", stderr);
    return status;
}

int print_status(push::SpoolDirectory& spool) {
    const push::Counts counts = spool.read_counts();
    std::uint64_t bytes = 0, oldest = 0;
    const auto windows = spool.windows();
    for (const push::Window& window : windows) bytes += window.bytes;
    if (!windows.empty())
        oldest = static_cast<std::uint64_t>(std::max<std::time_t>(0, std::time(nullptr) - windows.front().written));
    const auto line = [](const char* name, std::uint64_t value) {
        std::printf("%s: %llu\n", name, static_cast<unsigned long long>(value));
    };
    line("waiting", windows.size());
    line("waiting bytes", bytes);
    line("oldest seconds", oldest);
    line("sent", counts.sent);
    line("sent bytes", counts.sent_bytes);
    line("requests", counts.requests);
    line("retries", counts.retries);
    line("refused", counts.refused);
    line("dropped", counts.dropped);
    line("dropped bytes", counts.dropped_bytes);
    line("unreadable", counts.unreadable);
    line("of other users", spool.of_other_users());
    std::printf("last error: %s\n", counts.last_error.empty() ? "none" : counts.last_error.c_str());
    return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace

int push_command(int argc, char* argv[]) {
    const auto settings = push::parse(argc, argv);
    if (!settings) return complain(2, settings.error().message);
    if (settings->help) return std::fputs(push::usage, stdout) < 0 ? 1 : 0;
    auto spool = push::SpoolDirectory::open(settings->spool);
    if (!spool) return complain(1, spool.error().message);
    if (settings->other_users) spool->take_other_users();
    if (settings->status) return print_status(*spool);
    auto client = push::HttpClient::make(*settings);
    if (!client) return complain(1, client.error().message);
    return push::Uploader(*settings, *spool, *client).run();
}

}  // namespace flameprobe
