#include "base/task_schedule.hpp"

#include <cstdlib>

#include "base/proc.hpp"

namespace flameprobe {

std::optional<TaskSchedule> parse_schedule(const char* text) {
    TaskSchedule schedule;
    for (auto* number : {&schedule.cpu_ns, &schedule.delay_ns, &schedule.slices}) {
        char* end = nullptr;
        *number = std::strtoull(text, &end, 10);
        if (end == text) return std::nullopt;
        text = end;
    }
    return schedule;
}

std::optional<TaskSchedule> read_schedule(const std::string& task) {
    const auto text = read_small_file((task + "/schedstat").c_str());
    return text ? parse_schedule(text->c_str()) : std::nullopt;
}

std::optional<std::uint64_t> read_migrations(const std::string& task) {
    const std::string text = read_small_file((task + "/sched").c_str()).value_or("");
    const std::size_t key = text.find("nr_migrations"), colon = text.find(':', key);
    if (key == text.npos || colon == text.npos) return std::nullopt;
    return std::strtoull(text.c_str() + colon + 1, nullptr, 10);
}

}  // namespace flameprobe
