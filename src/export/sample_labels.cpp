#include "export/sample_labels.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/number.hpp"
#include "export/text.hpp"

namespace flameprobe {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Characters of a key; texts such as "x == 1" and "f(x=1)" are not pairs.
bool may_be_key(char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.' || c == ':' || c == '/' ||
           static_cast<unsigned char>(c) >= 0x80;
}

std::string prometheus_name(std::string_view key) {
    std::string name;
    for (const char c : key) name += is_letter(c) || is_digit(c) || c == '_' ? c : '_';
    if (is_digit(name.front())) name.insert(name.begin(), '_');
    return name;
}

bool is_taken(std::string_view key) {
    constexpr std::array<std::string_view, 4> taken = {"thread", "tid", "scope", "service_name"};
    return key.starts_with("__") || std::ranges::find(taken, key) != taken.end();
}

/// At most SampleLabels::most_bytes, cut between characters.
std::string short_text(std::string text) {
    if (text.size() <= SampleLabels::most_bytes) return text;
    std::size_t end = SampleLabels::most_bytes - 3;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    return text.substr(0, end) + "...";
}

/// "worker 12" is "worker *".
std::string fold_digits(std::string_view name) {
    std::string folded;
    for (const char c : name) {
        if (!is_digit(c))
            folded += c;
        else if (folded.empty() || folded.back() != '*')
            folded += '*';
    }
    return folded;
}

}  // namespace

std::pair<std::string, std::string_view> label_of_scope(std::string_view scope) {
    const auto end = scope.find('=');
    if (end == scope.npos || end == 0 || end + 1 == scope.size()) return {"scope", scope};
    const auto key = scope.substr(0, end), value = scope.substr(end + 1);
    if (value.front() == '=' || !std::ranges::all_of(key, may_be_key)) return {"scope", scope};
    std::string name = prometheus_name(key);
    if (is_taken(name)) return {"scope", scope};
    return {std::move(name), value};
}

void SampleLabels::add_thread(ThreadId thread, Values& values) const {
    if (threads_ == ThreadLabels::none || thread >= profile_.threads.size()) return;
    const Thread& named = profile_.threads[thread];
    std::string name = short_text(one_line(named.name));
    if (threads_ == ThreadLabels::folded) name = fold_digits(name);
    if (!name.empty()) values["thread"] = {"thread", std::move(name), 0};
    // Threads that were merged have no tid.
    if (threads_ == ThreadLabels::exact && named.tid != 0) values["tid"] = {"tid", {}, named.tid};
}

std::uint32_t SampleLabels::intern(ThreadId thread, const std::vector<FunctionId>& scopes) {
    const ThreadId known_thread = threads_ == ThreadLabels::none ? 0 : thread;
    const auto [known, is_new] = known_.try_emplace({known_thread, scopes}, 0);
    if (!is_new) return known->second;
    Values values;
    for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
        const std::string text = one_line(profile_.strings.view(profile_.functions[*scope].name));
        const auto [key, value] = label_of_scope(text);
        SampleLabel& label = values[key];
        label.key = key;
        label.text += (label.text.empty() ? "" : " > ") + std::string(value);
    }
    for (auto& [key, label] : values) label.text = short_text(std::move(label.text));
    std::erase_if(values, [](const auto& entry) { return entry.second.text.empty(); });
    add_thread(thread, values);
    return known->second = intern(values);
}

std::uint32_t SampleLabels::intern(const Values& values) {
    if (sets_.empty()) sets_.push_back(&ids_.try_emplace({}, 0).first->first);
    std::vector<SampleLabel> set;
    for (const auto& [key, label] : values) set.push_back(label);
    const auto [entry, is_new] = ids_.try_emplace(std::move(set), static_cast<std::uint32_t>(sets_.size()));
    if (is_new) sets_.push_back(&entry->first);
    return entry->second;
}

std::vector<std::uint32_t> SampleLabels::limit(const std::vector<std::uint64_t>& weights) {
    std::vector<std::uint32_t> use(weights.size());
    std::iota(use.begin(), use.end(), 0);
    // With `exact` the user asked for every single thread.
    if (threads_ == ThreadLabels::exact || weights.size() <= most_sets) return use;
    std::vector<std::uint32_t> by_weight(use);
    std::ranges::stable_sort(by_weight, [&](auto a, auto b) { return weights[a] > weights[b]; });
    for (std::size_t i = most_sets; i < by_weight.size(); ++i) {
        if (set(by_weight[i]).empty()) continue;
        Values values;
        for (const SampleLabel& label : set(by_weight[i])) values[label.key] = {label.key, "[other]", 0};
        use[by_weight[i]] = intern(values);
        ++gathered_;
    }
    return use;
}

}  // namespace flameprobe
