#include <cstdio>
#include <optional>

#include "commands.hpp"
#include "metrics_server.hpp"
#include "report.hpp"
#include "uploader.hpp"

namespace flameprobe {

namespace {

int fail(int status, const std::string& message) {
    if (!message.empty()) print_message("flameprobe push", message);
    if (status == 2) std::fputs("Try 'flameprobe push --help'.\n", stderr);
    return status;
}

int print(const std::string& text) { return print_text(stdout, text) ? 0 : 1; }

}  // namespace

int push_command(int argc, char* argv[]) {
    const auto settings = push::parse(argc, argv);
    if (!settings) return fail(2, settings.error().message);
    if (settings->help) return print(push::usage);
    auto spool = push::SpoolDirectory::open(settings->spool, !settings->status);
    if (!spool) return fail(1, spool.error().message);
    if (settings->other_users)
        if (auto taken = spool->take_other_users(); !taken) return fail(1, taken.error().message);
    if (settings->status) return print(push::status_text(*spool, spool->read_counts()));
    auto client = push::HttpClient::make(*settings);
    if (!client) return fail(1, client.error().message);
    std::optional<push::MetricsServer> metrics;
    if (settings->metrics_port) {
        auto server = push::MetricsServer::listen(*settings->metrics_port);
        if (!server) return fail(1, server.error().message);
        metrics.emplace(std::move(*server));
        metrics->publish(push::metrics_text(*spool, spool->read_counts()));
        std::fprintf(stderr, "flameprobe push: metrics at http://127.0.0.1:%u/metrics\n", unsigned{metrics->port()});
    }
    return push::Uploader(*settings, *spool, *client, metrics ? &*metrics : nullptr).run();
}

}  // namespace flameprobe
