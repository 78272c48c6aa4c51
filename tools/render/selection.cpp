#include "selection.hpp"

#include <utility>

#include "render/text.hpp"

namespace flameprobe {

namespace {

bool is_chosen(const std::string& text) { return !text.empty(); }
bool is_chosen(const RequestChoice& requests) { return !requests.label.empty(); }
template <class T>
bool is_chosen(const std::optional<T>& value) {
    return value.has_value();
}

/// Calls `see` with each of the second values and the first one that it stands beside.
void for_each_choice(Arguments& arguments, const auto& see) {
    SampleFilter &first = arguments.filter, &second = arguments.second.filter;
    see(first.thread, second.thread);
    see(first.scope, second.scope);
    see(first.requests, second.requests);
    see(first.pid, second.pid);
    see(first.from_ns, second.from_ns);
    see(first.to_ns, second.to_ns);
    see(arguments.process, arguments.second.process);
}

struct Choices {
    unsigned once = 0, twice = 0, kinds = 0;  // kinds: of `once`, --from and --to are one
};

Choices choices_of(Arguments arguments) {
    Choices choices;
    for_each_choice(arguments, [&](const auto& first, const auto& second) {
        if (is_chosen(second))
            ++choices.twice;
        else if (is_chosen(first))
            ++choices.once;
    });
    const SampleFilter& filter = arguments.filter;
    choices.kinds = choices.once - (filter.from_ns && filter.to_ns && choices.twice == 0 ? 1 : 0);
    return choices;
}

}  // namespace

std::string selection_words(const Arguments& arguments) {
    std::string text;
    const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
    const SampleFilter& filter = arguments.filter;
    if (!filter.thread.empty()) add("thread " + filter.thread);
    if (!filter.scope.empty()) add("scope " + filter.scope);
    if (filter.pid) add("pid " + std::to_string(*filter.pid));
    if (!arguments.process.empty()) add("processes '" + arguments.process + "'");
    if (filter.from_ns) add("from " + duration_text(*filter.from_ns) + " on");
    if (filter.to_ns) add("before " + duration_text(*filter.to_ns));
    return text;
}

std::array<SelectedSide, 2> selected_sides(const Arguments& arguments) {
    std::array<SelectedSide, 2> sides = {SelectedSide{arguments, {}}, SelectedSide{arguments, {}}};
    const Choices choices = choices_of(arguments);
    for (const std::size_t at : {0, 1}) {
        Arguments& its = sides[at].arguments;
        its.inputs = {arguments.inputs[arguments.inputs.size() == 1 ? 0 : at]};
        for_each_choice(its, [at](auto& first, auto& second) {
            if (at == 1 && is_chosen(second)) first = second;
            second = {};
        });
    }
    const bool rest = arguments.inputs.size() == 1 && choices.twice == 0;
    sides[0].arguments.filter.others = rest;
    if (arguments.inputs.size() == 1 || choices.twice > 0)
        for (SelectedSide& side : sides)
            side.words = (side.arguments.filter.others ? "all but " : "") + selection_words(side.arguments);
    return sides;
}

std::string refused_sides(const Arguments& arguments) {
    const Choices choices = choices_of(arguments);
    if (!arguments.diff) return choices.twice > 0 ? "a choice of samples stands twice only with --diff" : "";
    for (const SelectedSide& side : selected_sides(arguments)) {
        const SampleFilter& filter = side.arguments.filter;
        if (filter.from_ns && filter.to_ns && *filter.from_ns >= *filter.to_ns) return "--from must be before --to";
    }
    if (arguments.inputs.size() == 2 || choices.twice > 0) return {};
    if (choices.once == 0)
        return "name two inputs, before and after, or one and what of it is compared with its rest: --from and --to, "
               "--thread, --pid, --process or --scope";
    return choices.kinds > 1
               ? "what is compared with the rest is chosen in one way: by time, --thread, --pid, --process or --scope"
               : "";
}

}  // namespace flameprobe
