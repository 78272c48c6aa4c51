#include "symbolize/kernel_symbols.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <tuple>

#include "base/descriptor.hpp"

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

// The file has megabytes, of which the kernel writes a page at each read.
void KernelSymbols::add_running() {
    const Descriptor file(::open("/proc/kallsyms", O_RDONLY | O_CLOEXEC));
    if (!file) return;
    std::array<char, 8192> buffer;
    std::size_t kept = 0;  // of a line whose end is not read yet
    for (;;) {
        const ssize_t got = ::read(file.get(), buffer.data() + kept, buffer.size() - kept);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        const std::string_view text(buffer.data(), kept + static_cast<std::size_t>(got));
        const std::size_t whole = text.rfind('\n') + 1;  // 0: none
        add(text.substr(0, whole));
        kept = whole == 0 && text.size() == buffer.size() ? 0 : text.size() - whole;
        std::memmove(buffer.data(), buffer.data() + whole, kept);
    }
    add({buffer.data(), kept});
}

void KernelSymbols::add(std::string_view lines) {
    while (!lines.empty()) {
        const auto end = std::min(lines.find('\n'), lines.size());
        add_line(lines.substr(0, end));
        lines.remove_prefix(std::min(end + 1, lines.size()));
    }
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
