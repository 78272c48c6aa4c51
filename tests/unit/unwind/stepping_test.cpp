// At every instruction of real code the walk must name exactly the callers that the processor saw, and reach the root.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>

#include "assembly_subjects.hpp"
#include "full_size.hpp"
#include "single_step.hpp"
#include "subjects.hpp"
#include "unwind/unwinder.hpp"

using namespace flameprobe;
using namespace flameprobe::testing;

namespace {

class ChildStack final : public StackBeyond {
public:
    explicit ChildStack(pid_t child) : child_(child) {}
    std::size_t read(std::uint64_t address, std::span<std::byte> out) override {
        const auto bytes = read_process(child_, address, out.size());
        std::copy(bytes.begin(), bytes.end(), out.begin());
        return bytes.size();
    }

private:
    pid_t child_;
};

struct Tally {
    std::size_t instants = 0;
    std::vector<std::size_t> wrong, unrooted;  // the instants' numbers
    std::size_t excused_until = 0;
    bool refused = false;
    std::string first;  // what the first disagreement looked like

    /// During a jump out of several frames the callers are not defined.
    void excuse_jump() {
        excused_until = instants + jump_completion;
        const auto recent = [&](std::size_t instant) { return instant + jump_preparation >= instants; };
        std::erase_if(wrong, recent);
        std::erase_if(unrooted, recent);
        if (wrong.empty() && unrooted.empty()) first.clear();
    }
};

void describe_disagreement(const Instant& instant, const Walk& walk, const CodeMap& map, std::string& out) {
    char line[160];
    const auto add = [&](const char* what, std::uint64_t address) {
        const CodeRegion* const region = map.find(address);
        std::snprintf(line, sizeof line, "  %s %#lx %s+%#lx\n", what, address,
                      region != nullptr ? region->path.c_str() : "?",
                      region != nullptr ? address - region->start + region->file_offset : 0);
        out += line;
    };
    add("pc", instant.snapshot.registers.pc());
    for (const std::uint64_t caller : instant.callers) add("true", caller);
    for (const CodeFrame& frame : walk.frames) add("walk", frame.address);
    out += std::string("  end: ") + std::string(describe(walk.end)) + "\n";
}

bool names_the_callers(const Instant& instant, const Walk& walk) {
    if (walk.frames.size() < instant.callers.size() + 1) return false;
    for (std::size_t i = 0; i < instant.callers.size(); ++i)
        if (walk.frames[i + 1].address != instant.callers[i]) return false;
    return true;
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STEPPING_WITH_ASAN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(STEPPING_WITH_ASAN)
constexpr bool with_asan = true;
#else
constexpr bool with_asan = false;
#endif

/// A throw is 120,000 instructions of libraries with ASan, the same ones however the subject was compiled: tools/test
/// all steps through them all once.
enum class Libraries { whole, begun };

// With ASan the unwinder is slow, and what it reads is what is tested: a part of the instants is enough. On an emulated
// CPU a step takes some ten thousand times as long as the instruction.
Stepping stepping_here(Libraries libraries) {
    if (with_asan && (libraries == Libraries::begun || !full_size())) return {.stride = 16, .most = 4000};
    if (with_asan) return {.stride = 16};
    if (std::getenv("FLAMEPROBE_EMULATED") != nullptr) return {.stride = 2, .most = 800};
    return {};
}

/// callers: the code outside the subject may not be walkable the unwinder's way.
enum class Expect { root, callers };

Tally step_through(const Subject& subject, Unwinder& unwinder, const CodeMap& map, Expect expect, Libraries libraries) {
    Tally tally;
    Walk walk;
    const Stepping stepping = stepping_here(libraries);
    std::vector<std::uint64_t> base;  // the frames outside the subject, from the first instant
    const auto watch = [&](const Instant& instant) {
        if (instant.number % stepping.stride != 0) {
            ++tally.instants;
            return;
        }
        ChildStack beyond(instant.process);
        const StackCopy copy{instant.snapshot.registers.sp(), instant.snapshot.stack};
        unwinder.walk(instant.snapshot.registers, copy, &beyond, walk);
        const bool right = names_the_callers(instant, walk);
        std::vector<std::uint64_t> outside;
        for (std::size_t i = instant.callers.size() + 1; right && i < walk.frames.size(); ++i)
            outside.push_back(walk.frames[i].address);
        if (tally.instants == 0) base = outside;
        const bool rooted = right && walk.end == WalkEnd::root && outside == base;
        const bool excused = tally.instants < tally.excused_until;
        if (!right && !excused) tally.wrong.push_back(tally.instants);
        if (!rooted && !excused) tally.unrooted.push_back(tally.instants);
        const bool good = expect == Expect::root ? rooted : right;
        if (!good && !excused && tally.first.empty()) describe_disagreement(instant, walk, map, tally.first);
        ++tally.instants;
    };
    tally.refused = single_step(subject.function, stepping, watch, [&] { tally.excuse_jump(); }) == Stepped::refused;
    return tally;
}

void check(std::span<const Subject> subjects, Unwinder& unwinder, const CodeMap& map, Expect expect,
           Libraries libraries = Libraries::whole) {
    for (const Subject& subject : subjects) {
        const Tally tally = step_through(subject, unwinder, map, expect, libraries);
        if (tally.refused) {
            MESSAGE("ptrace is not permitted here: nothing was stepped through");
            return;
        }
        INFO(std::string(subject.name), ": first disagreement\n", tally.first);
        CHECK(tally.instants >= 5);
        CHECK(tally.wrong.size() == 0);
        if (expect == Expect::root) CHECK(tally.unrooted.size() == 0);
    }
}

void check_by_cfi(std::span<const Subject> subjects, Libraries libraries = Libraries::whole) {
    CodeMap map;
    add_own_mappings(map);
    check(subjects, *make_dwarf_unwinder(map), map, Expect::root, libraries);
}

}  // namespace

TEST_CASE("walks are right at every instruction of optimised code without frame pointers") {
    check_by_cfi(subjects_plain());
}
TEST_CASE("walks are right at every instruction of code with frame pointers") {
    check_by_cfi(subjects_frames(), Libraries::begun);
}
TEST_CASE("walks are right at every instruction of code with CET, stack clash and stack protection") {
    check_by_cfi(subjects_guarded(), Libraries::begun);
}
TEST_CASE("walks are right at every instruction of unoptimised code") {
    check_by_cfi(subjects_unoptimised(), Libraries::begun);
}

TEST_CASE("walks by frame pointer are right at every instruction where no library without them is on the stack") {
    CodeMap map;
    add_own_mappings(map);
    check(subjects_frames().first(frame_pointer_subjects), *make_fp_unwinder(map), map, Expect::callers);
}

TEST_CASE("walks are right at every instruction of assembly with CFI") {
    check_by_cfi(subjects_with_assembly_tables());
}
TEST_CASE("walks are right at every instruction of assembly without CFI") { check_by_cfi(subjects_without_tables()); }
TEST_CASE("walks are right at every instruction of just-in-time code with frame pointers") {
    const auto subjects = subjects_made_at_run_time();
    REQUIRE(!subjects.empty());
    check_by_cfi(subjects);
}
