#include <algorithm>
#include <cctype>
#include <charconv>
#include <tuple>

#include "base/paths.hpp"
#include "base/proc.hpp"
#include "symbolize/other_names.hpp"

namespace flameprobe {

namespace {

std::size_t underscores(std::string_view name) { return std::min(name.find_first_not_of('_'), name.size()); }

/// Among names of one address: a global one, one with few underscores, the first by the alphabet.
bool is_better(bool global, std::string_view name, bool than_global, std::string_view than) {
    if (global != than_global) return global;
    return std::tuple(underscores(name), name) < std::tuple(underscores(than), than);
}

}  // namespace

KernelSymbols::KernelSymbols(std::vector<std::uint64_t> addresses) {
    std::ranges::sort(addresses);
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
    asked_.reserve(addresses.size());
    for (const std::uint64_t address : addresses) asked_.push_back({.address = address, .name = {}, .module = {}});
}

void KernelSymbols::add_running() { add(read_small_file("/proc/kallsyms").value_or("")); }

void KernelSymbols::add(std::string_view lines) {
    for (const std::string_view line : parts_of_list(lines, '\n')) add_line(line);
}

void KernelSymbols::add_line(std::string_view line) {
    std::uint64_t start = 0;
    const auto number = std::from_chars(line.data(), line.data() + line.size(), start, 16);
    const auto blank = static_cast<std::size_t>(number.ptr - line.data());
    if (number.ec != std::errc{} || start == 0 || blank + 3 >= line.size()) return;
    const char type = line[blank + 1];
    // Only text symbols (nm's letters): data lies elsewhere and would swallow what comes after the last function.
    if (std::tolower(static_cast<unsigned char>(type)) != 't' && type != 'W' && type != 'w') return;

    const auto is_of = [&](std::size_t i) {
        return start <= asked_[i].address && (i == 0 || start > asked_[i - 1].address);
    };
    if (last_ >= asked_.size() || !is_of(last_))
        last_ = static_cast<std::size_t>(std::ranges::lower_bound(asked_, start, {}, &Asked::address) - asked_.begin());
    if (last_ == asked_.size()) return;
    Asked& asked = asked_[last_];
    if (start < asked.start) return;
    const std::size_t tab = std::min(line.find('\t', blank + 3), line.size());
    const std::string_view name = line.substr(blank + 3, tab - blank - 3);
    const bool global = type == 'T';
    if (start == asked.start && !is_better(global, name, asked.global, asked.name)) return;
    asked.start = start;
    asked.global = global;
    asked.name = name;
    asked.module = line.substr(std::min(tab + 1, line.size()));
}

std::string KernelSymbols::find(std::uint64_t address) const {
    auto found = std::ranges::lower_bound(asked_, address, {}, &Asked::address);
    if (found == asked_.end() || found->address != address) return {};
    while (found->start == 0 && found != asked_.begin()) --found;
    // Symbols have no sizes. No function of the kernel is as large as a MiB, so an address farther behind is not in it.
    if (found->start == 0 || address - found->start > (1 << 20)) return {};
    return found->module.empty() ? found->name : found->name + ' ' + found->module;
}

bool KernelSymbols::empty() const {
    return std::ranges::all_of(asked_, [](const Asked& asked) { return asked.start == 0; });
}

bool kernel_symbols_are_visible() {
    KernelSymbols any({~std::uint64_t{0}});
    any.add_running();
    return !any.empty();
}

}  // namespace flameprobe
