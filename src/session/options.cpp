#include "session/options.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/closest.hpp"
#include "session/output_path.hpp"
#include "session/settings.hpp"

namespace flameprobe {
namespace {

std::string quote(std::string_view value) {
    std::string text = "'";
    for (const char c : value.substr(0, 80)) text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    return text + (value.size() > 80 ? "...'" : "'");
}

constexpr std::string_view own_prefix = "FLAMEPROBE_";

/// What was meant, else all.
std::string accepted_names(std::string_view typed) {
    std::vector<std::string> known;
    std::string all;
    for (const auto& setting : settings()) {
        known.emplace_back(setting.variable.substr(own_prefix.size()));
        all += (all.empty() ? "" : ", ") + std::string(setting.variable);
    }
    const std::string meant = closest(typed.substr(own_prefix.size()), known);
    return meant.empty() ? "accepted are " + all : "did you mean " + std::string(own_prefix) + meant + "?";
}

}  // namespace

bool Options::off_cpu() const {
    return std::ranges::any_of(shown,
                               [](auto& name) { return name == event_name::offcpu || name == event_name::wall; });
}

bool Options::allocations() const {
    return std::any_of(shown.begin(), shown.end(), [](const std::string& name) { return is_of_allocations(name); });
}

Options read_options(const std::vector<std::string_view>& environment, std::vector<std::string>& problems) {
    Options options;
    for (const auto line : environment) {
        const auto name = line.substr(0, line.find('='));
        if (!name.starts_with(own_prefix) || name.size() == line.size()) continue;
        const auto value = line.substr(name.size() + 1);
        // Ours: see session/family.hpp, and run_info.cpp.
        if (name == "FLAMEPROBE_ROOT" || name == "FLAMEPROBE_DIRTY") continue;
        const auto known =
            std::find_if(settings().begin(), settings().end(), [&](const Setting& s) { return s.variable == name; });
        if (known == settings().end()) {
            problems.push_back(std::string(name) + "=" + quote(value) + " is not a variable of FlameProbe; " +
                               accepted_names(name));
        } else if (!known->set(value, options)) {
            problems.push_back(std::string(name) + "=" + quote(value) + " is not accepted: it takes " +
                               known->accepted + "; the default is used");
        }
    }
    if (!options.push_directory.empty()) {
        options.out = window_pattern(options.push_directory);
        options.formats.clear();
        if (options.dump_every_ns == 0) options.dump_every_ns = 15 * ns_per_second;
    }
    return options;
}

}  // namespace flameprobe
