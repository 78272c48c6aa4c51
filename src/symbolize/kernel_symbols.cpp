#include "symbolize/kernel_symbols.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/proc.hpp"

namespace flameprobe {

namespace {

std::size_t underscores(std::string_view name) { return std::min(name.find_first_not_of('_'), name.size()); }

}  // namespace

KernelSymbols KernelSymbols::running() { return parse(read_small_file("/proc/kallsyms").value_or("")); }

KernelSymbols KernelSymbols::parse(std::string text) {
    KernelSymbols symbols;
    symbols.text_ = std::move(text);
    const std::string_view all = symbols.text_;
    for (std::size_t at = 0; at < all.size();) {
        const auto end = std::min(all.find('\n', at), all.size());
        const std::string_view line = all.substr(at, end - at);
        std::uint64_t start = 0;
        const auto number = std::from_chars(line.data(), line.data() + line.size(), start, 16);
        const auto blank = static_cast<std::size_t>(number.ptr - line.data());
        const std::size_t line_at = at;
        at = end + 1;
        if (number.ec != std::errc{} || start == 0 || blank + 3 >= line.size()) continue;
        const char type = line[blank + 1];
        // Only text symbols (nm's letters): data lies elsewhere and would swallow what comes after the last function.
        if (std::tolower(static_cast<unsigned char>(type)) != 't' && type != 'W' && type != 'w') continue;
        const std::size_t name_at = blank + 3, name_end = std::min(line.find('\t', name_at), line.size());
        const std::size_t module_size = name_end < line.size() ? line.size() - name_end - 1 : 0;
        symbols.entries_.push_back({start, static_cast<std::uint32_t>(line_at + name_at),
                                    static_cast<std::uint16_t>(name_end - name_at),
                                    static_cast<std::uint16_t>(module_size), type == 'T'});
    }
    const auto name = [all](const Entry& entry) { return all.substr(entry.name_at, entry.name_size); };
    std::sort(symbols.entries_.begin(), symbols.entries_.end(), [&](const Entry& a, const Entry& b) {
        if (a.start != b.start) return a.start < b.start;
        if (a.global != b.global) return b.global;  // the best name last: `find` takes the last of equal starts
        if (underscores(name(a)) != underscores(name(b))) return underscores(name(a)) > underscores(name(b));
        return name(a) > name(b);
    });
    return symbols;
}

std::string KernelSymbols::find(std::uint64_t address) const {
    const auto after = std::upper_bound(entries_.begin(), entries_.end(), address,
                                        [](std::uint64_t value, const Entry& entry) { return value < entry.start; });
    // Symbols have no sizes. No function of the kernel is as large as a MiB, so an address farther behind is not in it.
    if (after == entries_.begin() || address - std::prev(after)->start > (1 << 20)) return {};
    const Entry& entry = *std::prev(after);
    std::string name = text_.substr(entry.name_at, entry.name_size);
    if (entry.module_size != 0) name += " " + text_.substr(entry.name_at + entry.name_size + 1u, entry.module_size);
    return name;
}

}  // namespace flameprobe
