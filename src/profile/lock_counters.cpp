#include "profile/lock_counters.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "profile/model.hpp"

namespace flameprobe {
namespace {

std::string counter_of(const std::string& lock, std::string_view what) {
    return std::string(lock_counter::prefix) + lock + std::string(what);
}

std::optional<std::uint64_t> find(const Counters& counters, const std::string& name) {
    const auto found = counters.find(name);
    return found == counters.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

std::string lock_address(std::uint64_t address) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%" PRIx64, address);
    return text;
}

std::vector<std::string> deadlocks(const Counters& counters) {
    std::vector<std::string> sentences;
    const std::string begin = std::string(counter::note).append(deadlock_begin);
    for (auto counter = counters.lower_bound(begin); counter != counters.end(); ++counter) {
        if (!counter->first.starts_with(begin)) break;
        sentences.push_back(counter->first.substr(counter::note.size()));
    }
    return sentences;
}

void set_lock(Counters& counters, const std::string& lock, std::uint64_t waits, std::uint64_t longest_ns) {
    if (waits != 0) counters[counter_of(lock, lock_counter::waits)] = waits;
    if (longest_ns != 0) counters[counter_of(lock, lock_counter::longest)] = longest_ns;
}

std::optional<std::uint64_t> lock_waits(const Counters& counters, const std::string& lock) {
    return find(counters, counter_of(lock, lock_counter::waits));
}

std::optional<std::uint64_t> longest_wait(const Counters& counters, const std::string& lock) {
    return find(counters, counter_of(lock, lock_counter::longest));
}

bool is_longest_wait(std::string_view name) {
    return name.starts_with(lock_counter::prefix) && name.ends_with(lock_counter::longest);
}

void rename_lock(Counters& counters, const std::string& lock, const std::string& name) {
    for (const std::string_view what : {lock_counter::waits, lock_counter::longest}) {
        auto counter = counters.extract(counter_of(lock, what));
        if (!counter) continue;
        std::uint64_t& value = counters[counter_of(name, what)];
        value = what == lock_counter::longest ? std::max(value, counter.mapped()) : value + counter.mapped();
    }
}

}  // namespace flameprobe
