#include "command_line.hpp"

#include "base/closest.hpp"

namespace flameprobe {

namespace {

/// What getopt_long(3) could not tell apart or does not know: --NAME.
std::string unknown_option(const std::string& typed, const std::vector<std::string>& known) {
    std::string like;
    for (const std::string& name : known)
        if (name.starts_with(typed)) like += (like.empty() ? "" : ", ") + ("'--" + name + "'");
    if (!like.empty()) return "option '--" + typed + "' may be " + like;
    const std::string near = closest(typed, known);
    return "unrecognized option '--" + typed + "'" + (near.empty() ? "" : "; did you mean '--" + near + "'?");
}

}  // namespace

Problem refused_option(int refusal, const std::string& argument, std::span<const option> options) {
    std::vector<std::string> known;
    std::string chosen = "-" + std::string(1, static_cast<char>(optopt));
    for (const option& one : options) {
        if (one.name == nullptr) continue;
        known.emplace_back(one.name);
        if (one.val == optopt) chosen = "--" + known.back();
    }
    if (refusal == ':') return "option '" + chosen + "' needs a value";
    if (optopt == 0) return unknown_option(argument.substr(2, argument.find('=') - 2), known);
    return chosen.starts_with("--") ? "option '" + chosen + "' takes no value" : "unrecognized option '" + chosen + "'";
}

}  // namespace flameprobe
