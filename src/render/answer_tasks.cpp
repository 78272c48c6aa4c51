// What async tasks wait for, in one sentence.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "render/answer.hpp"
#include "render/plain_name.hpp"
#include "render/story.hpp"
#include "render/text.hpp"

namespace flameprobe {

// A frame in words is the leaf: "timer", or in brackets what the task does instead of waiting.
std::string answer_of_tasks(const NamedProfile& profile) {
    constexpr double least_share = .02;
    const StoryTeller stories(profile);
    std::map<std::pair<std::string, std::string>, std::uint64_t> sums;
    std::uint64_t all = 0;
    for (const NamedCount& count : profile.counts) {
        if (count.weight == 0 || count.node == 0) continue;
        const NodeId own = stories.teller_of(count.node);
        std::string what(profile.name(profile.nodes[count.node].frame));
        what = what.starts_with('[') ? what.substr(1, what.size() - 2) : "wait for " + what;
        std::string where = own == 0 ? "" : " in " + in_sentence(plain_name(profile, profile.function_of(own)));
        sums[{in_sentence(what), std::move(where)}] += count.weight;
        all += count.weight;
    }
    std::vector<std::pair<std::uint64_t, std::string>> found;
    for (const auto& [what, weight] : sums) found.emplace_back(weight, what.first + what.second);
    std::ranges::stable_sort(found, std::greater(), &std::pair<std::uint64_t, std::string>::first);
    const std::uint64_t lasted = std::max<std::uint64_t>(profile.summary.duration_ns, 1);
    std::string text = "of " + count_text((all + lasted / 2) / lasted) + " tasks' time";
    bool first = true;
    for (const auto& [weight, what] : found) {
        const std::string more = (first ? " " : ", ") + whole_percent(weight, all) + " " + what;
        if (static_cast<double>(weight) < least_share * static_cast<double>(all)) break;
        if (columns(text + more) > longest_answer) continue;
        text += more;
        first = false;
    }
    return text;
}

}  // namespace flameprobe
