#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "render/answer.hpp"
#include "render/describe.hpp"
#include "render/function_totals.hpp"
#include "render/idle_waits.hpp"
#include "render/kernel_work.hpp"
#include "render/plain_name.hpp"
#include "render/run_facts.hpp"
#include "render/story.hpp"
#include "render/text.hpp"
#include "render/wait_cause.hpp"

namespace flameprobe {

namespace {

constexpr std::uint64_t least_looks = 5;
constexpr double least_share = .02, least_listed = .005, long_wait = .05;
constexpr std::size_t most_listed = 20;

/// Waits for one reason at one place.
struct Waits {
    WaitKind kind = WaitKind::none;
    std::string what;   // the lock or the call
    std::string where;  // the own function that waits; of a lock with a holder, who holds it
    std::uint64_t weight = 0, looks = 0;
};

class WaitTeller {
public:
    explicit WaitTeller(const NamedProfile& profile)
        : profile_(profile), stories_(profile), idle_(profile, stories_), calls_(calls_of_one_kind(profile)) {
        for (FunctionId id = 0; id < profile.functions.size(); ++id)
            if (stories_.has_own_code() && stories_.may_tell(id)) own_.insert(profile.functions[id].name);
        for (const NamedCount& count : profile.counts)
            if (count.node != 0 && wait_cause(profile, count.node).kind == WaitKind::idle) idle_.add(count);
        for (const NamedCount& count : profile.counts) add(count);
        if (profile.run.event != event_name::wall)
            for (const ThreadAccount& account : profile.summary.threads)
                if (threads_.contains(account.thread)) ran_ += account.cpu_ns;
        all_ = ran_;
        for (const auto& [key, waits] : waits_) all_ += waits.weight;
    }

    std::string tell() const {
        std::string text = "of " + count_text(threads_.size()) + (threads_.size() == 1 ? " thread's " : " threads' ") +
                           short_time(all_) + " " + whole_percent(ran_, all_) + " ran";
        const std::vector<Waits> list = in_order();
        std::vector<bool> is_told(list.size());
        std::string_view comma = "; ";
        for (std::size_t at = 0; at < list.size(); ++at) {
            const Waits& one = list[at];
            if (is_told[at] || one.kind == WaitKind::not_known || !is_known(one) || !is_part(one.weight, least_share))
                continue;
            // Where there is no room, for all places together.
            for (const Detail detail : {Detail::place, Detail::holder, Detail::reason}) {
                const std::string told = told_of(one, detail);
                std::uint64_t sum = one.weight;
                std::vector<std::size_t> of_it{at};
                for (std::size_t next = at + 1; next < list.size(); ++next)
                    if (!is_told[next] && told_of(list[next], detail) == told)
                        sum += list[next].weight, of_it.push_back(next);
                const std::string more = std::string(comma) + whole_percent(sum, all_) + " " + told;
                if (columns(text + more) > longest_answer) continue;
                for (const std::size_t index : of_it) is_told[index] = true;
                text += more;
                comma = ", ";
                break;
            }
        }
        return text;
    }

    std::vector<WaitReason> reasons() const {
        std::vector<WaitReason> list;
        for (const Waits& one : in_order()) {
            // How long threads had no CPU is the kernel's account, whatever was seen of it.
            if (!is_known(one) && one.kind != WaitKind::preempted) continue;
            std::string sentence = told_of(one, Detail::place);
            const auto same = std::ranges::find(list, sentence, &WaitReason::sentence);
            if (same != list.end())
                same->ns += one.weight;
            else
                list.push_back({{}, one.weight, std::move(sentence)});
        }
        for (WaitReason& one : list) one.share = whole_percent(one.ns, all_);
        std::erase_if(list, [&](const WaitReason& one) { return !is_part(one.ns, least_listed); });
        list.resize(std::min(list.size(), most_listed));
        return list;
    }

private:
    /// How much is told of a wait; of a lock that another thread holds the holder without its function, too.
    enum class Detail : std::uint8_t { place, holder, reason };

    std::vector<Waits> in_order() const {
        std::vector<Waits> list;
        for (const auto& [key, waits] : waits_) list.push_back(waits);
        // A program sleeps where it was told to, and a little of anything explains little.
        const auto place = [this](const Waits& one) {
            if (one.kind == WaitKind::sleep || one.kind == WaitKind::process) return WaitKind::others;
            return one.kind <= WaitKind::others && is_part(one.weight, long_wait)
                       ? WaitKind::lock
                       : std::max(one.kind, WaitKind::others);
        };
        std::ranges::stable_sort(list, [&](const Waits& a, const Waits& b) {
            return place(a) != place(b) ? place(a) < place(b) : a.weight > b.weight;
        });
        return list;
    }
    /// A twentieth in a few looks is no estimate from many short waits, but the length of a long one.
    bool is_known(const Waits& one) const { return one.looks >= least_looks || is_part(one.weight, long_wait); }
    bool is_part(std::uint64_t ns, double least) const {
        return static_cast<double>(ns) >= least * static_cast<double>(all_);
    }
    void add(const NamedCount& count) {
        if (count.weight == 0 || count.node == 0) return;
        threads_.insert(count.thread);
        WaitCause cause = wait_cause(profile_, count.node);
        NodeId place = count.node;
        if (cause.kind == WaitKind::idle && idle_.is_in_work(count.node)) {
            cause.kind = WaitKind::others;
            place = idle_.place(count.node);
        }
        if (const auto known = calls_.find(cause.call); known != calls_.end() && cause.kind == WaitKind::file) {
            cause.kind = WaitKind::network;
            cause.call = known->second;
        }
        if (cause.kind == WaitKind::none) {
            ran_ += count.weight;
            return;
        }
        std::string where = cause.held != 0 ? holder_of(cause, count.node) : own_caller(count.node, place);
        Waits& waits = waits_[{cause.kind, cause.held != 0 ? cause.lock : cause.call, where}];
        waits.kind = cause.kind;
        waits.what = cause.held != 0 ? cause.lock : cause.call;
        waits.where = std::move(where);
        waits.weight += count.weight;
        waits.looks += count.hits;
    }
    std::string own_caller(NodeId leaf, NodeId from) const {
        const NodeId node = stories_.teller_of(from);
        if (node == 0 ||
            is_wrapper_of(profile_.name(profile_.nodes[node].frame), profile_.name(profile_.nodes[leaf].frame)))
            return {};  // a function of libc, where the program has no names
        return in_sentence(plain_name(profile_, profile_.function_of(node)));
    }
    /// "worker-2 in rebuild"
    std::string holder_of(const WaitCause& cause, NodeId leaf) const {
        for (NodeId node = leaf; node != cause.held; node = profile_.nodes[node].parent) {
            const FunctionId id = profile_.function_of(node);
            if (own_.contains(profile_.functions[id].name))
                return in_sentence(cause.holder) + " in " + in_sentence(plain_name(profile_, id));
        }
        return in_sentence(cause.holder);
    }
    static std::string told_of(const Waits& waits, Detail detail) {
        const std::string in = detail == Detail::place && !waits.where.empty() ? " in " + waits.where : "";
        switch (waits.kind) {
            case WaitKind::lock: {
                if (waits.what.empty() || waits.what == "futex") return "waited for a lock" + in;
                const std::string lock = "waited for lock " + in_sentence(waits.what);
                const std::string& who = waits.where;
                if (detail == Detail::reason) return lock;
                return lock + ", held by " + (detail == Detail::place ? who : who.substr(0, who.find(" in ")));
            }
            case WaitKind::sleep:
                return "slept" + in;
            case WaitKind::process:
                return "waited for other processes" + in;
            case WaitKind::idle:
                return waits.what == "futex" ? "idle" + in : "idle in " + waits.what;
            case WaitKind::preempted:
                return "had no CPU";
            case WaitKind::not_known:
                return waits.what;
            default:
                return "in " + waits.what + (in.empty() ? "" : ", called by " + waits.where);
        }
    }
    /// Without the digits that tell nothing here.
    static std::string short_time(std::uint64_t ns) {
        constexpr double second = 1e9;
        const double seconds = static_cast<double>(ns) / second;
        return seconds >= 10 && seconds < 60 ? fixed_text(seconds, 0) + " s" : duration_text(ns);
    }

    const NamedProfile& profile_;
    const StoryTeller stories_;
    IdleWaits idle_;
    const std::map<std::string, std::string> calls_;  // "read of a socket", of "read"
    std::set<StringId> own_;  // names of the program's own functions, which holders have without their files
    std::set<ThreadId> threads_;
    std::map<std::tuple<WaitKind, std::string, std::string>, Waits> waits_;
    std::uint64_t ran_ = 0, all_ = 0;  // of all threads
};

}  // namespace

std::string answer_of_waits(const NamedProfile& profile) { return WaitTeller(profile).tell(); }

std::vector<WaitReason> wait_reasons(const NamedProfile& profile) {
    const NamedProfile* const waiting = waiting_event(profile);
    return waiting == nullptr ? std::vector<WaitReason>() : WaitTeller(*waiting).reasons();
}

}  // namespace flameprobe
