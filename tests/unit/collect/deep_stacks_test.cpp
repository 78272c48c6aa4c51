#include "collect/deep_stacks.hpp"

#include <doctest/doctest.h>

#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "deep_stacks.hpp"

using namespace flameprobe;

namespace {

using Callers = DeepStacks::Callers;

// The copies hold the last 30 calls; one and the other caller are beyond.
const std::string different = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const std::string recursion = "ABC" + std::string(60, 'r') + "yz", longer = "ABC" + std::string(70, 'r') + "yz";
const std::string by_other = "AXC" + std::string(60, 'r') + "yz";
const std::string irregular = "ABCrssrrsrsrrrssrrssrsrsrrssrsrsrrrrssrsrsrrsrsrryz";
const std::string irregular_later = "ABCrrrrsssrrsrsrrssrrssrrsrsrrsrssrssrsrsrrsrsrryz";
constexpr std::size_t copied = 30;
constexpr int enough = DeepStacks::enough_looks;

/// What a sample became, root first: a letter for a frame, * for the note [recursion].
struct Told {
    std::string calls;
    Callers callers;
    bool operator==(const Told&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Told& told) {
    return out << told.calls << static_cast<int>(told.callers);
}

/// A digit is a second call in the function of the letter before the digits.
struct Fixture : DeepStackFacts {
    std::vector<Told> told;
    std::map<std::uint64_t, std::uint64_t> memory;
    std::map<std::uint64_t, std::uint64_t> called_by;  // what the call before an address calls
    std::uint64_t indirect = 0;                        // the return address of an indirect call
    std::uint64_t used_ns = 0, now_ns = 1'000'000'000;
    DeepStacks deep{*this, [this](const DeepSample& sample, Callers callers) {
                        std::string calls;
                        for (const CodeFrame& frame : sample.frames)
                            calls.insert(calls.begin(), frame.region == recursion_note.region
                                                            ? '*'
                                                            : static_cast<char>(frame.address));
                        told.push_back({calls, callers});
                    }};

    std::uint64_t function_of(std::uint64_t address) override { return address == '1' ? 'B' : address; }
    CallCheck::Verdict judge(std::uint64_t return_address, std::uint64_t callee) override {
        if (return_address == indirect) return CallCheck::Verdict::possible;
        const bool calls = called_by.contains(return_address) && called_by[return_address] == callee;
        return calls ? CallCheck::Verdict::certain : CallCheck::Verdict::no;
    }
    std::uint64_t word(std::uint64_t address) override { return memory[address]; }
    std::uint64_t cpu_ns(std::uint32_t) override { return used_ns; }

    static Walk walk(const std::string& calls, std::size_t in_copy = copied) {
        Walk walk;
        walk.frames = stack(calls);
        walk.frames_in_copy = in_copy;
        return walk;
    }
    void sample(const std::string& calls, std::size_t in_copy = copied) {
        DeepSample sample;
        sample.sample.thread = deep_thread;
        sample.taken_ns = now_ns;
        sample.frames = innermost(stack(calls), in_copy);
        deep.add(std::move(sample));
    }
    /// Live memory shows `calls` once in each of `drains`.
    void show(const std::string& calls, int drains = 1, std::size_t in_copy = copied) {
        for (int drain = 0; drain < drains; ++drain) {
            now_ns += 1'000'000, used_ns += 1'000'000;
            deep.looked(deep_thread, 1, walk(calls, in_copy), now_ns);
            deep.settle(now_ns, false);
        }
    }
    void wait(std::uint64_t ns) { deep.settle(now_ns += ns, false); }
    /// The words where the return addresses of this stack lie.
    void hold(const std::string& calls) {
        const auto frames = stack(calls);
        for (std::size_t at = 0; at + 1 < frames.size(); ++at) memory[frames[at].cfa - 8] = frames[at + 1].address + 1;
    }
};

}  // namespace

TEST_CASE("deep: a sample waits until its callers were seen in many drains, and once after it") {
    Fixture f;
    f.sample(different);
    f.show(different, enough - 1);
    CHECK(f.told.empty());
    CHECK(f.deep.in_haste());
    f.show(different);
    CHECK(f.told == std::vector<Told>{{different, Callers::known}});
    f.wait(1);
    CHECK_FALSE(f.deep.in_haste());
    f.sample(different);
    f.wait(1);
    CHECK(f.told.size() == 1);
    f.show(different);
    CHECK(f.told.size() == 2);
}

TEST_CASE("deep: looks of one drain are one") {
    Fixture f;
    for (int look = 0; look < 2 * enough; ++look) f.deep.looked(deep_thread, 1, Fixture::walk(different), f.now_ns);
    f.sample(different);
    f.show(different);
    CHECK(f.told.empty());
}

TEST_CASE("deep: live memory is read for what is not known, once in a drain, and now and then for the rest") {
    Fixture f;
    const Walk walk = Fixture::walk(different);
    CHECK(f.deep.wants_look(deep_thread, walk, f.now_ns));
    f.deep.looked(deep_thread, 1, walk, f.now_ns);
    CHECK_FALSE(f.deep.wants_look(deep_thread, walk, f.now_ns));
    f.deep.settle(f.now_ns, false);
    CHECK(f.deep.wants_look(deep_thread, walk, f.now_ns + 100'000));
    f.show(different, enough);
    CHECK_FALSE(f.deep.wants_look(deep_thread, walk, f.now_ns + 5'000'000));
    CHECK(f.deep.wants_look(deep_thread, walk, f.now_ns + 6'000'000));
    CHECK(f.deep.wants_look(deep_thread + 1, walk, f.now_ns));
}

TEST_CASE("deep: a recursion has the levels that all looks have, or that its rounds say") {
    Fixture f;
    f.show(recursion, enough);
    f.sample(recursion);
    f.show(recursion);
    CHECK(f.told.back() == Told{recursion, Callers::known});
    f.sample(longer);
    f.show(recursion);
    CHECK(f.told.back() == Told{longer, Callers::known});
}

TEST_CASE("deep: a recursion whose levels differ is folded to a round behind a note") {
    Fixture f;
    f.show(irregular, enough / 2);
    f.show(irregular_later, enough);
    f.sample(irregular);
    f.show(irregular_later);
    CHECK(f.told.back() == Told{"ABC*rsrryz", Callers::known});
}

TEST_CASE("deep: callers that differ are never shown again") {
    Fixture f;
    f.show(recursion, 20);
    f.sample(recursion);
    f.show(by_other);
    CHECK(f.told == std::vector<Told>{{recursion.substr(recursion.size() - copied), Callers::not_known}});
    f.show(recursion, 2 * enough);
    f.sample(recursion);
    f.show(recursion);
    CHECK(f.told.back().callers == Callers::not_known);
    CHECK_FALSE(f.deep.wants_look(deep_thread, Fixture::walk(recursion), f.now_ns));
}

TEST_CASE("deep: two calls of one function are one caller, without its line") {
    Fixture f;
    const std::string by_second = "A1C" + std::string(60, 'r') + "yz";
    f.show(by_second, enough / 2);
    f.show(recursion, enough / 2);
    f.sample(by_second);
    f.show(recursion);
    CHECK(f.told == std::vector<Told>{{"ABC*ryz", Callers::known}});
}

TEST_CASE("deep: of two callers, 70 and 30 % of the time, none is shown") {
    for (const auto& [one, other] :
         {std::pair(recursion, by_other), std::pair(irregular, "AX" + irregular.substr(2))}) {
        Fixture f;
        for (unsigned state = 1, count = 0; count < 1000; ++count, state = state * 1103515245 + 12345) {
            f.sample(one);
            f.show((state >> 16) % 10 < 7 ? one : other);
        }
        CHECK(f.told.size() == 1000);
        for (const Told& told : f.told) CHECK(told.callers == Callers::not_known);
    }
}

TEST_CASE("deep: the words of return addresses are looks, and show another caller though the thread is elsewhere") {
    Fixture f;
    f.hold(recursion);
    f.show(recursion);
    f.sample(recursion);
    SUBCASE("the same") {
        for (int drain = 0; drain < enough; ++drain) f.used_ns += 1'000'000, f.wait(1'000'000);
        CHECK(f.told.empty());  // no look since it was taken
        f.show(recursion);
        CHECK(f.told == std::vector<Told>{{"ABC*ryz", Callers::known}});
    }
    SUBCASE("but only while the thread runs") {
        for (int drain = 0; drain < enough; ++drain) f.wait(1'000'000);
        f.show(recursion);
        CHECK(f.told.empty());
    }
    SUBCASE("another caller") {
        f.hold(by_other);
        f.called_by['X' + 1] = 'C';
        f.wait(1'000'000);
        CHECK(f.told.back().callers == Callers::not_known);
    }
    SUBCASE("an indirect call may be another caller's: words prove nothing any more") {
        f.hold(by_other);
        f.indirect = 'X' + 1;
        f.wait(1'000'000);
        f.hold(recursion);
        for (int drain = 0; drain < enough; ++drain) f.used_ns += 1'000'000, f.wait(1'000'000);
        f.show(recursion);
        CHECK(f.told.empty());
        f.wait(DeepStacks::patience_ns);
        CHECK(f.told.back().callers == Callers::read_later);
    }
    SUBCASE("something else tells nothing") {
        f.hold(by_other);
        for (int drain = 0; drain < enough; ++drain) f.used_ns += 1'000'000, f.wait(1'000'000);
        f.show(recursion);
        CHECK(f.told.empty());
    }
}

TEST_CASE("deep: what was seen too seldom is shown behind a note, what was never seen is cut") {
    Fixture f;
    f.show(recursion, 3);
    f.sample(recursion);
    f.sample("01" + std::string(60, 's') + "yz");
    SUBCASE("after half a second") {
        f.wait(DeepStacks::patience_ns - 1);
        CHECK(f.told.empty());
        f.wait(1);
    }
    SUBCASE("at the end") { f.deep.settle(f.now_ns, true); }
    CHECK(f.told == std::vector<Told>{{"ABC*ryz", Callers::read_later},
                                      {std::string(copied - 2, 's') + "yz", Callers::not_known}});
}

TEST_CASE("deep: what was believed needs no look after it where the thread does not come back") {
    Fixture f;
    f.show(recursion, enough);
    f.sample(recursion);
    f.wait(DeepStacks::patience_ns);
    CHECK(f.told == std::vector<Told>{{"ABC*ryz", Callers::known}});
}

TEST_CASE("deep: another thread's looks prove nothing") {
    Fixture f;
    for (int drain = 0; drain < enough + 1; ++drain) {
        f.deep.looked(deep_thread + 1, 2, Fixture::walk(recursion), f.now_ns);
        f.deep.settle(f.now_ns, false);
    }
    f.sample(recursion);
    f.wait(DeepStacks::patience_ns);
    CHECK(f.told.back().callers == Callers::not_known);
}

TEST_CASE("deep: a copy without a return address cannot be proven, and does not wait") {
    Fixture f;
    CHECK(f.deep.wants_look(deep_thread, Fixture::walk("AB", 1), f.now_ns));  // pages are copied once they were touched
    f.sample("A", 1);
    CHECK(f.told == std::vector<Told>{{"A", Callers::not_known}});
}

TEST_CASE("deep: a sample around which its callers were not seen is behind the note, however sure its place is") {
    constexpr std::uint64_t turn_ns = 20'000'000;  // others may have called meanwhile
    for (const bool is_seen_before : {true, false}) {
        Fixture f;
        f.show(recursion, enough);
        f.now_ns += turn_ns, f.used_ns += turn_ns;
        if (is_seen_before) f.show(recursion);
        f.now_ns += 1'000'000;
        f.sample(recursion);
        f.now_ns += turn_ns, f.used_ns += turn_ns;
        f.show(recursion);
        CHECK(f.told == std::vector<Told>{{recursion, is_seen_before ? Callers::known : Callers::read_later}});
    }
}

TEST_CASE(
    "deep: frames have CFAs where all looks have the same, and scopes of frames beyond the copy are found by them") {
    for (const bool same : {true, false}) {
        DeepSample told;
        Fixture facts;
        DeepStacks deep(facts, [&](const DeepSample& sample, Callers) { told = sample; });
        const auto look = [&](const std::string& calls, std::uint64_t now_ns) {
            deep.looked(deep_thread, 1, Fixture::walk(calls), now_ns);
            deep.settle(now_ns, false);
        };
        for (std::uint64_t drain = 1; drain <= enough; ++drain)
            look(same || drain % 2 != 0 ? irregular : irregular_later, drain);
        DeepSample sample;
        sample.sample.thread = deep_thread;
        sample.taken_ns = enough;
        sample.frames = innermost(stack(irregular), copied);
        sample.labels = {{40, 1}, {2, 2}};
        deep.add(std::move(sample));
        look(irregular, enough + 1);
        REQUIRE(told.labels.size() == 1);
        CHECK(told.labels[0].text == 2);
        const auto whole = stack(irregular);
        REQUIRE(told.frames.size() == (same ? whole.size() : 10));
        for (std::size_t outside = 1; outside <= 3; ++outside)
            CHECK(told.frames[told.frames.size() - outside].cfa == whole[whole.size() - outside].cfa);
        CHECK(told.frames[told.frames.size() - 4].cfa == whole[whole.size() - 4].cfa);
    }
}

TEST_CASE("deep: a thread that is always somewhere else does not fill the memory") {
    Fixture f;
    for (std::uint64_t time = 1; time < 20'000; ++time) {
        std::string calls = different;
        for (unsigned bit = 0; bit < 15; ++bit) calls[7 + bit] = time >> bit & 1 ? '1' : '0';
        f.sample(calls);
        f.show(calls);
    }
    CHECK(f.told.size() > 19'000);
    CHECK(f.deep.memory() < 16'000'000);
}

TEST_CASE("deep: the longer callers have stood, the longer is a gap that may be hiding others") {
    Fixture f;
    f.show(recursion, 3 * enough);
    constexpr std::uint64_t gap_ns = 10'000'000;  // of 600 ms less than a fiftieth
    f.sample(recursion);
    f.now_ns += gap_ns, f.used_ns += gap_ns;
    f.show(recursion);
    CHECK(f.told == std::vector<Told>{{recursion, Callers::known}});
}

TEST_CASE("deep: a recursion has the callers that were seen at another place of its rounds, but not its levels") {
    Fixture f;
    f.show(recursion, enough);
    DeepSample sample;
    sample.sample.thread = deep_thread;
    sample.taken_ns = f.now_ns;
    sample.frames = innermost(stack(recursion), copied);
    for (CodeFrame& frame : sample.frames) frame.cfa += 8;
    f.deep.add(std::move(sample));
    f.show(recursion);
    CHECK(f.told == std::vector<Told>{{"ABC*ryz", Callers::known}});
}

TEST_CASE("deep: a look that failed is not repeated in the same drain") {
    Fixture f;
    CHECK(f.deep.wants_look(deep_thread, Fixture::walk(recursion), f.now_ns));
    CHECK_FALSE(f.deep.wants_look(deep_thread, Fixture::walk(different), f.now_ns));
    CHECK(f.deep.wants_look(deep_thread + 1, Fixture::walk(different), f.now_ns));
    f.deep.settle(f.now_ns, false);
    CHECK(f.deep.wants_look(deep_thread, Fixture::walk(different), f.now_ns));
}

TEST_CASE("deep: stacks of tens of thousands of frames, each at another height, do not fill the memory before belief") {
    Fixture f;
    const std::string huge = "ABC" + std::string(30'000, 'r') + "yz";
    Walk read = Fixture::walk(huge);
    for (int drain = 0; drain < enough; ++drain) {
        for (std::size_t at = 0; at + 3 < read.frames.size(); ++at) --read.frames[at].cfa;
        f.now_ns += 1'000'000, f.used_ns += 1'000'000;
        f.deep.looked(deep_thread, 1, read, f.now_ns);
        f.deep.settle(f.now_ns, false);
    }
    f.sample(huge);
    f.show(huge);
    REQUIRE(f.told.size() == 1);
    CHECK(f.told.back().callers == Callers::known);
}
