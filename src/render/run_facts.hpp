// What was measured and how: the lines in the footer of every picture, and what else is told of a run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/model.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

struct Fact {
    std::string label;
    std::string value;
};

/// Empty for a profile without a run (read from a folded file).
std::vector<Fact> run_facts(const NamedProfile& profile);
/// Whether names of functions decide what the facts say.
bool facts_need_names(const NamedProfile& profile);

/// "CPU flame graph: redis-server (pid 123)", or "Flame graph" where there is no run.
std::string default_title(const NamedProfile& profile);
/// "11.9 s of CPU time", "2.1 MiB allocated"; of what is counted in samples only, empty.
std::string measured_text(const NamedProfile& profile, std::uint64_t weight);
/// "11.9 s of CPU time in 12.3 s, 12,345 samples"
std::string default_subtitle(const NamedProfile& profile);

// The locks that threads waited for, as far as it is known who held them.

struct HolderStack {
    std::string holder;  // the thread's name
    /// Root first, as folded text has them; empty if they are not known. A holder that waited itself is followed by
    /// whom it waited for.
    std::vector<std::string> frames;
    std::uint64_t ns = 0;  // of others' waiting
};

struct LockRow {
    std::string lock;  // the variable, or the address
    std::uint64_t waited_ns = 0;
    std::optional<std::uint64_t> waits;  // an estimate
    std::optional<std::uint64_t> longest_ns;
    std::vector<HolderStack> holders;  // the longest first
};

/// The profile itself, or the one of its other events, that has waiting time; null if there is none.
const NamedProfile* waiting_event(const NamedProfile& profile);
/// The one that was waited for longest first. Of the waiting time among the profile's events; empty if there is none.
std::vector<LockRow> lock_table(const NamedProfile& profile);
/// Of the threads of deadlocks, by tid: the frames below which each waits for ever, leaf first.
std::map<std::uint32_t, std::vector<std::string>> deadlocked_stacks(const NamedProfile& profile);
/// One line: "4.2 s in about 120 waits, the longest 31 ms; held by restock (3.9 s: ...)".
std::string lock_text(const LockRow& row);

// What would give names to code that a virtual machine makes or interprets.

/// What gives names to the code that a virtual machine makes or interprets, by the name of its program, as "node";
/// empty for others.
struct NamesFlag {
    std::string_view language, advice;
};
NamesFlag names_flag(std::string_view program);

/// Whether the program is one of those, or has one as a library.
bool may_lack_names(const NamedProfile& profile);

/// A sentence that names the language's flag, if more than a tenth of the time is in code of a virtual machine that has
/// no names; else empty.
std::string name_advice(const NamedProfile& profile);

}  // namespace flameprobe
