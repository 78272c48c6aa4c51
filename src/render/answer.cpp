#include "render/answer.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "profile/names.hpp"
#include "profile/task_event.hpp"
#include "render/describe.hpp"
#include "render/function_totals.hpp"
#include "render/plain_name.hpp"
#include "render/run_facts.hpp"
#include "render/story.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

constexpr std::uint64_t few_hits = 30, least_hits = 5, enough_hits = 100;
constexpr std::size_t longest_in_sentence = 32, most_stories = 3;
constexpr std::string_view too_few_text = " too few for an answer";

double share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Says how long to run, rather than what few samples would.
std::string too_few(const NamedProfile& profile, std::uint64_t hits) {
    std::string text = samples_text(hits) + (hits == 1 ? " is" : " are") + std::string(too_few_text);
    const std::uint64_t frequency = profile.run.frequency_asked;
    if (!profile.has_run || frequency == 0 || counts_passed_time(profile.run) || profile.run.period_ns == 0)
        return text;
    return text + ": " + count_text(enough_hits) + " take " + duration_text(enough_hits * 1'000'000'000 / frequency) +
           " of CPU time at -F " + std::to_string(frequency);
}

class Sentence {
public:
    explicit Sentence(std::string begin) : text_(std::move(begin)) {}
    /// Whether there was room.
    bool add(const std::string& more) {
        if (columns(text_ + more) > longest_answer) return false;
        text_ += more;
        return true;
    }
    std::string take() { return std::move(text_); }

private:
    std::string text_;
};

class Teller {
public:
    explicit Teller(const NamedProfile& profile) : profile_(profile), stories_(profile) {}

    std::string tell() {
        std::vector<Story> told;
        while (told.size() < most_stories) {
            auto story = stories_.next(least_hits);
            if (!story) break;
            if (!told.empty() &&
                (share(story->weight, stories_.weight()) < .1 || story->weight * 8 < told.front().weight))
                break;
            told.push_back(std::move(*story));
        }
        std::string roles = shares_of_roles();
        if (told.empty()) return roles.empty() ? rest() : roles;
        Sentence sentence(roles + (roles.empty() ? "" : "; ") + head(told.front()));
        const bool one = share(told.front().weight, stories_.weight()) >= .6;
        if (one) {
            sentence.add(callers(told.front()));
            sentence.add(spent(told.front()));
        }
        for (std::size_t at = 1; at < told.size(); ++at) {
            if (!one && at == 1) sentence.add(most_of(told.front()));
            if (sentence.add(", " + head(told[at])) && !one) sentence.add(most_of(told[at]));
        }
        if (!one && told.size() == 1) sentence.add(spent(told.front()));
        return sentence.take();
    }

private:
    std::string percent(std::uint64_t weight) const { return whole_percent(weight, stories_.weight()); }

    std::string head(const Story& story) {
        std::string text = percent(story.weight) + " in ";
        switch (story.kind) {
            case StoryPart::Kind::call:
                if (story.name.find(' ') == story.name.npos && !std::exchange(said_call_, true))
                    text += "the system call ";
                return text + story.name;
            case StoryPart::Kind::nameless:
                return text + (story.name == jit_code ? story.name : "code of " + in_sentence(story.name)) +
                       " without names";
            case StoryPart::Kind::function:
                break;
            case StoryPart::Kind::itself:
                return text + "code without names";
            default:
                return text + story.name;
        }
        text += in_sentence(story.name);
        if (stories_.has_own_code() || story.path.empty()) return text;
        std::string file = nameless_file(profile_, story.path.back());
        if (file.find(".so") == file.npos || file == said_file_) return text;
        said_file_ = file;
        return text + " (" + in_sentence(file) + ")";
    }
    std::string callers(const Story& story) const {
        if (story.path.size() < 2) return {};
        const std::string name = plain_name(profile_, story.path[story.path.size() - 2]);
        return name == "main" || name.ends_with("::main") ? std::string() : ", called by " + in_sentence(name);
    }
    std::string part(const StoryPart& part) const { return in_sentence(part.name) + " (" + percent(part.weight) + ")"; }

    /// Its heaviest callees, the function itself left out.
    std::vector<const StoryPart*> callees(const Story& story, double least) const {
        std::vector<const StoryPart*> all;
        for (const StoryPart& one : story.parts)
            if (one.kind != StoryPart::Kind::itself && one.kind != StoryPart::Kind::nameless &&
                one.kind != StoryPart::Kind::note && one.hits >= least_hits &&
                share(one.weight, story.weight) >= least && share(one.weight, stories_.weight()) >= .1)
                all.push_back(&one);
        return all;
    }
    std::string spent(const Story& story) const {
        if (story.path.empty()) return {};
        const auto parts = callees(story, .1);
        if (parts.empty()) return {};
        const bool second = parts.size() > 1 && share(parts[1]->weight, story.weight) >= .25;
        if (!second && share(parts.front()->weight, story.weight) >= .5) return ": mostly " + part(*parts.front());
        return ": " + part(*parts[0]) + (parts.size() > 1 ? ", " + part(*parts[1]) : "");
    }
    std::string most_of(const Story& story) const {
        if (story.path.empty()) return {};
        const auto parts = callees(story, .5);
        return parts.empty() ? std::string() : " (mostly " + in_sentence(parts.front()->name) + ")";
    }
    /// "82 % cc1plus × 4, 10 % as × 4"; empty for one process.
    std::string shares_of_roles() const {
        std::map<std::string, std::pair<std::uint64_t, std::size_t>> roles;
        for (const ProcessShare& one : profile_.shares) {
            auto& [weight, number] = roles[one.name];
            weight += one.weight;
            ++number;
        }
        if (profile_.shares.size() < 2) return {};
        std::vector<std::pair<std::string, std::pair<std::uint64_t, std::size_t>>> order(roles.begin(), roles.end());
        std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
        std::string text;
        for (std::size_t at = 0; at < std::min<std::size_t>(order.size(), 3); ++at) {
            const auto& [weight, number] = order[at].second;
            if (at > 0 && share(weight, stories_.weight()) < .05) break;
            text += (at == 0 ? "" : ", ") + percent(weight) + " " + in_sentence(order[at].first) +
                    (number > 1 ? " × " + count_text(number) : "");
        }
        return text;
    }
    /// Where there is no code to tell of.
    std::string rest() const {
        std::map<std::string, std::uint64_t> notes;
        for (const NamedCount& count : profile_.counts)
            notes[std::string(profile_.name(profile_.nodes[count.node].frame))] += count.weight;
        const auto most = std::ranges::max_element(notes, {}, [](const auto& one) { return one.second; });
        return most == notes.end() ? std::string() : percent(most->second) + " is " + in_sentence(most->first);
    }

    const NamedProfile& profile_;
    StoryTeller stories_;
    bool said_call_ = false;
    std::string said_file_;
};

/// Who allocates: the nearest function of the program's own.
std::string answer_of_allocations(const NamedProfile& profile) {
    const StoryTeller stories(profile);
    std::map<std::string, std::pair<std::uint64_t, std::map<std::string, std::uint64_t>>> sums;  // and by their callers
    for (const NamedCount& count : profile.counts) {
        const NodeId node = stories.teller_of(count.node);
        if (node == 0) continue;
        const std::string name = plain_name(profile, profile.function_of(node));
        NodeId caller = node;
        while (caller != 0 && plain_name(profile, profile.function_of(caller)) == name)
            caller = stories.teller_of(profile.nodes[caller].parent);
        auto& [weight, callers] = sums[name];
        weight += count.weight;
        if (caller != 0) callers[plain_name(profile, profile.function_of(caller))] += count.weight;
    }
    std::vector<std::pair<std::string, std::uint64_t>> order;
    for (const auto& [name, sum] : sums) order.emplace_back(name, sum.first);
    std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.second > b.second; });
    if (order.empty()) return {};
    const auto& [first, weight] = order.front();
    const bool heap = profile.run.event.starts_with(event_name::heap);
    Sentence sentence(whole_percent(weight, stories.weight()) + " of " + unit_text(profile, stories.weight()) +
                      (heap ? " alive" : "") + " allocated by " + in_sentence(first));
    for (const auto& [name, part] : sums[first].second)
        if (name != "main" && !name.ends_with("::main") && share(part, weight) >= .8)
            sentence.add(", called by " + in_sentence(name));
    for (std::size_t at = 1; at < std::min(order.size(), most_stories); ++at)
        if (share(order[at].second, stories.weight()) >= .05)
            sentence.add(", " + whole_percent(order[at].second, stories.weight()) + " by " +
                         in_sentence(order[at].first));
    return sentence.take();
}

}  // namespace

std::string whole_percent(std::uint64_t part, std::uint64_t whole) {
    const double percent = 100 * share(part, whole);
    if (part != 0 && percent < .5) return "<1 %";
    if (part < whole && percent >= 99.5) return ">99 %";
    return fixed_text(percent, 0) + " %";
}

std::string in_sentence(std::string_view name) { return fit_name(clean_text(name), longest_in_sentence); }

bool has_few_samples(const NamedProfile& profile) { return total_hits(profile) < few_hits; }

std::string answer(const NamedProfile& profile) {
    if (total_weight(profile) == 0) return {};
    const std::string& event = profile.run.event;
    const bool waits = profile.has_run && counts_passed_time(profile.run);
    if (const std::uint64_t hits = total_hits(profile); hits < few_hits && !waits) return too_few(profile, hits);
    if (waits && event == event_name::tasks) return answer_of_tasks(profile);
    if (waits) return answer_of_waits(profile);
    if (profile.has_run && is_of_allocations(event)) return answer_of_allocations(profile);
    return Teller(profile).tell();
}

std::vector<Answer> answers(const NamedProfile& profile) {
    std::vector<Answer> all;
    const auto add = [&](const NamedProfile& event) {
        if (is_number_of_allocations(event.run.event)) return;
        std::string sentence = answer(event);
        if (!sentence.empty()) all.push_back({short_event_name(event.run.event), std::move(sentence)});
    };
    add(profile);
    std::ranges::for_each(profile.others, add);
    // What says how long to run comes behind what answers.
    std::ranges::stable_partition(
        all, [](const Answer& one) { return one.sentence.find(too_few_text) == std::string::npos; });
    return all;
}

}  // namespace flameprobe
