#include "report.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

namespace flameprobe::push {

namespace {

double cpu_seconds() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::uint64_t resident_bytes() {
    unsigned long long all = 0, resident = 0;
    if (std::FILE* file = std::fopen("/proc/self/statm", "re")) {
        if (std::fscanf(file, "%llu %llu", &all, &resident) != 2) resident = 0;
        std::fclose(file);
    }
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::string metric(const std::string& name, const char* type, const std::string& value) {
    return "# TYPE " + name + ' ' + type + '\n' + name + ' ' + value + '\n';
}

}  // namespace

std::vector<Figure> figures(SpoolDirectory& spool, const Counts& counts) {
    const auto windows = spool.windows();
    std::uint64_t bytes = 0, oldest = 0;
    for (const Window& window : windows) bytes += window.bytes;
    if (!windows.empty())
        oldest = static_cast<std::uint64_t>(std::max<std::time_t>(0, std::time(nullptr) - windows.front().written));
    return {{"waiting", false, windows.size()},      {"waiting bytes", false, bytes},
            {"oldest seconds", false, oldest},       {"sent", true, counts.sent},
            {"sent bytes", true, counts.sent_bytes}, {"requests", true, counts.requests},
            {"retries", true, counts.retries},       {"refused", true, counts.refused},
            {"dropped", true, counts.dropped},       {"dropped bytes", true, counts.dropped_bytes},
            {"unreadable", true, counts.unreadable}, {"of other users", false, spool.of_other_users()}};
}

std::string status_text(SpoolDirectory& spool, const Counts& counts) {
    std::string text;
    for (const Figure& figure : figures(spool, counts))
        text += std::string(figure.name) + ": " + std::to_string(figure.value) + '\n';
    return text + "last error: " + (counts.last_error.empty() ? "none" : counts.last_error) + '\n';
}

std::string metrics_text(SpoolDirectory& spool, const Counts& counts) {
    std::string text;
    for (const Figure& figure : figures(spool, counts)) {
        std::string name = std::string("flameprobe_push_") + figure.name;
        std::replace(name.begin(), name.end(), ' ', '_');
        text += metric(figure.counts ? name + "_total" : name, figure.counts ? "counter" : "gauge",
                       std::to_string(figure.value));
    }
    return text + metric("process_cpu_seconds_total", "counter", std::to_string(cpu_seconds())) +
           metric("process_resident_memory_bytes", "gauge", std::to_string(resident_bytes()));
}

}  // namespace flameprobe::push
