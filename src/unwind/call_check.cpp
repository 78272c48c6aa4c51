#include "unwind/call_check.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "base/self_memory.hpp"
#include "unwind/code_bytes.hpp"

namespace flameprobe {

void CallCheck::forget_if_stale() {
    constexpr std::size_t most_sites = std::size_t{1} << 14;
    if (map_.generation() == generation_ && sites_.size() + tail_calls_.size() + functions_.size() < most_sites) return;
    generation_ = map_.generation();
    pairs_.assign(remembered_pairs, {});
    sites_.clear();
    tail_calls_.clear();
    functions_.clear();
}

std::uint64_t CallCheck::function_of(std::uint64_t address) {
    forget_if_stale();
    const auto [place, is_new] = functions_.try_emplace(address, address);
    const CodeRegion* const region = is_new ? map_.find(address) : nullptr;
    if (region == nullptr) return place->second;
    const auto tables = modules_.find(*region);
    const auto function = tables.cfi != nullptr ? tables.cfi->function(address, tables.bias) : CfiTables::Function{};
    if (function.described) place->second = function.start + tables.bias;
    return place->second;
}

CallSite CallCheck::site(std::uint64_t return_address) {
    forget_if_stale();
    const auto [place, is_new] = sites_.try_emplace(return_address);
    if (is_new && map_.find(return_address - 1) != nullptr) {
        CallSite found = read_call_site(return_address, map_);
        if (found.target != 0) found.target = follow_stubs(found.target);
        place->second = found;
    }
    return place->second;
}

CallCheck::Verdict CallCheck::judge(std::uint64_t return_address, std::uint64_t callee) {
    forget_if_stale();
    Remembered& pair = pairs_[mix(return_address, callee) % remembered_pairs];
    if (pair.return_address != return_address || pair.callee != callee)
        pair = {return_address, callee, judge_afresh(return_address, callee)};
    return pair.verdict;
}

CallCheck::Verdict CallCheck::judge_afresh(std::uint64_t return_address, std::uint64_t callee) {
    const CallSite call = site(return_address);
    if (call.kind == CallSite::Kind::none) return Verdict::no;
    if (call.target == 0) return Verdict::possible;
    const Verdict verdict = judge_target(call.target, callee);
    // A stub that was read before its function was resolved leads to the dynamic linker: read it again next time.
    if (verdict == Verdict::no) sites_.erase(return_address);
    return verdict;
}

CallCheck::Verdict CallCheck::judge_target(std::uint64_t target, std::uint64_t callee) {
    const CodeRegion* const callee_region = map_.find(callee);
    const CodeRegion* const target_region = map_.find(target);
    if (callee_region == nullptr || target_region == nullptr) return Verdict::no;
    const bool same_region = callee_region == target_region;
    const auto tables = modules_.find(*callee_region), target_tables = modules_.find(*target_region);
    // Code without unwind tables, such as a just-in-time compiler's, is entered by jumps: from stubs that lie anywhere,
    // from a function's older version, from the program's own code that no table describes. Only a function with tables
    // would have a frame of its own in between.
    if (tables.cfi == nullptr) {
        const bool described =
            target_tables.cfi != nullptr && target_tables.cfi->function(target, target_tables.bias).described;
        return described ? Verdict::no : Verdict::possible;
    }
    const auto body = tables.cfi->function(callee, tables.bias);
    // A part that was split off (".cold") is entered by jumps from anywhere in its function.
    if (body.split_off) return Verdict::possible;
    if (target_tables.cfi == nullptr) return Verdict::no;
    const auto called = target_tables.cfi->function(target, target_tables.bias);
    if (same_region && called == body && (body.described || target <= callee)) return Verdict::certain;
    if (!called.described && !body.described) return Verdict::possible;  // V8's builtins jump on to each other
    const bool jumped =
        called.described && body.described && called.end > called.start &&
        tail_calls(target, called.end + target_tables.bias, body.start + tables.bias, tail_calls_in_a_row);
    return jumped ? Verdict::tail_call : Verdict::no;
}

bool CallCheck::tail_calls(std::uint64_t from, std::uint64_t end, std::uint64_t to, int in_a_row) {
    constexpr std::uint64_t longest = std::uint64_t{64} << 10;
    const auto [place, is_new] = tail_calls_.try_emplace({from, to}, false);
    if (!is_new) return place->second;
    std::vector<std::byte> code(std::min(end - from, longest));
    code.resize(read_self(from, code));
    bool found = may_jump_to(code, from, to);
    if (!found && in_a_row > 1) {
        for (const std::uint64_t next : jumps_out(code, from)) {
            const CodeRegion* const region = map_.find(next);
            const auto tables = region != nullptr ? modules_.find(*region) : ModuleTable::Tables{};
            if (tables.cfi == nullptr) continue;
            const auto function = tables.cfi->function(next, tables.bias);
            if (!function.described || function.start + tables.bias != next || function.end <= function.start) continue;
            found = tail_calls(next, function.end + tables.bias, to, in_a_row - 1);
            if (found) break;
        }
    }
    return tail_calls_[{from, to}] = found;
}

}  // namespace flameprobe
