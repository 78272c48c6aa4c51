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
#include "render/kernel_work.hpp"
#include "render/plain_name.hpp"
#include "render/story.hpp"
#include "render/text.hpp"
#include "render/wait_cause.hpp"

namespace flameprobe {

namespace {

constexpr std::uint64_t least_looks = 5;
constexpr double least_share = .02;

/// Waits for one reason at one place.
struct Waits {
    WaitKind kind = WaitKind::none;
    std::string what;   // the lock or the call
    std::string where;  // the own function that waits; of a lock with a holder, who holds it
    std::uint64_t weight = 0, looks = 0;
};

class WaitTeller {
public:
    explicit WaitTeller(const NamedProfile& profile) : profile_(profile), stories_(profile) {
        for (FunctionId id = 0; id < profile.functions.size(); ++id)
            if (stories_.has_own_code() && stories_.may_tell(id)) own_.insert(profile.functions[id].name);
        for (const NamedCount& count : profile.counts) add(count);
        if (profile.run.event == event_name::wall) return;
        for (const ThreadAccount& account : profile.summary.threads)
            if (threads_.contains(account.thread)) ran_ += account.cpu_ns;
    }

    std::string tell() {
        std::uint64_t all = ran_;
        std::vector<Waits> found;
        for (const auto& [key, waits] : waits_) {
            all += waits.weight;
            if (waits.kind != WaitKind::not_known) found.push_back(waits);
        }
        const auto last = [](const Waits& one) { return one.kind >= WaitKind::idle; };
        std::ranges::stable_sort(
            found, [&](const Waits& a, const Waits& b) { return last(a) != last(b) ? !last(a) : a.weight > b.weight; });
        std::string text = "of " + count_text(threads_.size()) + (threads_.size() == 1 ? " thread's " : " threads' ") +
                           short_time(all) + " " + whole_percent(ran_, all) + " ran";
        bool first = true;
        for (const Waits& one : found) {
            if (one.looks < least_looks || static_cast<double>(one.weight) < least_share * static_cast<double>(all))
                continue;
            for (const std::string& told : {told_of(one, true), told_of(one, false)}) {
                const std::string more = (first ? "; " : ", ") + whole_percent(one.weight, all) + " " + told;
                if (columns(text + more) > longest_answer) continue;
                text += more;
                first = false;
                break;
            }
        }
        return text;
    }

private:
    void add(const NamedCount& count) {
        if (count.weight == 0 || count.node == 0) return;
        threads_.insert(count.thread);
        const WaitCause cause = wait_cause(profile_, count.node);
        if (cause.kind == WaitKind::none) {
            ran_ += count.weight;
            return;
        }
        std::string where = cause.held != 0 ? holder_of(cause, count.node) : own_caller(count.node);
        Waits& waits = waits_[{cause.kind, cause.held != 0 ? cause.lock : cause.call, where}];
        waits.kind = cause.kind;
        waits.what = cause.held != 0 ? cause.lock : cause.call;
        waits.where = std::move(where);
        waits.weight += count.weight;
        waits.looks += count.hits;
    }
    std::string own_caller(NodeId leaf) const {
        const NodeId node = stories_.teller_of(leaf);
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
    static std::string told_of(const Waits& waits, bool whole) {
        const std::string in = whole && !waits.where.empty() ? " in " + waits.where : "";
        switch (waits.kind) {
            case WaitKind::lock: {
                if (waits.what.empty() || waits.what == "futex") return "waited for a lock" + in;
                const std::string lock = "waited for `" + in_sentence(waits.what) + "`";
                return whole ? lock + ", held by " + waits.where : lock;
            }
            case WaitKind::sleep:
                return "slept" + in;
            case WaitKind::process:
                return "waited for other processes" + in;
            case WaitKind::idle:
                return waits.what == "futex" ? "idle" + in : "idle in " + waits.what;
            case WaitKind::preempted:
                return "had no CPU";
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
    std::set<StringId> own_;  // names of the program's own functions, which holders have without their files
    std::set<ThreadId> threads_;
    std::map<std::tuple<WaitKind, std::string, std::string>, Waits> waits_;
    std::uint64_t ran_ = 0;
};

}  // namespace

std::string answer_of_waits(const NamedProfile& profile) { return WaitTeller(profile).tell(); }

}  // namespace flameprobe
