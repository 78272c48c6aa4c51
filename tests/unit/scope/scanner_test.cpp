#include "scope/scanner.hpp"

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cstring>
#include <map>

using namespace flameprobe;

namespace {

/// Functions are 0x1000 bytes of code each.
bool on_one_page(std::uint64_t a, std::uint64_t b) { return a >> 12 == b >> 12; }

/// A stack made by hand, with records as flameprobe/scope.h seals them.
struct Stack {
    static constexpr std::uint64_t base = 0x7ffe00010000;

    std::vector<std::byte> bytes = std::vector<std::byte>(4096);
    Walk walk;
    std::map<std::uint64_t, std::string> texts;
    CodeMap map;
    ScopeScanner scanner{map, on_one_page, [this](std::uint64_t address, std::span<std::byte> out) {
                             const auto text = texts.find(address);
                             if (text == texts.end()) return std::size_t{0};
                             std::memcpy(out.data(), text->second.c_str(), text->second.size() + 1);
                             return text->second.size() + 1;
                         }};
    std::uint64_t chain = 0;

    void frame(std::uint64_t address, std::uint64_t cfa_offset) {
        walk.frames.push_back({.address = address, .cfa = base + cfa_offset});
        walk.frames_in_copy = walk.frames.size();
    }
    void open(std::uint64_t offset, const std::string& text, std::uint64_t pc) {
        const std::uint64_t label = 0x555500000000 + texts.size() * 64;
        texts[label] = text;
        flameprobe_scope record{};
        record.label = reinterpret_cast<const char*>(label);
        record.outer = chain;
        // Sealed for the place where it is put.
        record.tag = flameprobe_scope_seal_(&record, pc) ^
                     std::rotl(reinterpret_cast<std::uintptr_t>(&record) ^ (base + offset), 32);
        std::memcpy(bytes.data() + offset, &record, sizeof record);
        chain = FLAMEPROBE_CHAIN_OF(record.tag);
    }
    std::string find(StackBeyond* beyond = nullptr, std::size_t copied = 4096) {
        std::vector<PlacedScope> placed;
        scanner.find({base, std::span(bytes).first(copied)}, walk, beyond, placed);
        std::string out;
        for (const auto& scope : placed) {
            out += std::to_string(scope.frame) + ":" + scope.label->text + (scope.beyond ? "+ " : " ");
        }
        return out;
    }
};

class Rest final : public StackBeyond {
public:
    explicit Rest(const Stack& stack) : stack_(stack) {}
    std::size_t read(std::uint64_t address, std::span<std::byte> out) override {
        const std::size_t from = address - Stack::base, size = std::min(out.size(), stack_.bytes.size() - from);
        std::memcpy(out.data(), stack_.bytes.data() + from, size);
        return size;
    }

private:
    const Stack& stack_;
};

}  // namespace

TEST_CASE("a scope stands on the leaf's side of the frame that opened it, root first") {
    Stack stack;
    stack.frame(0x401010, 64);
    stack.frame(0x402010, 256);
    stack.frame(0x403010, 512);
    stack.open(400, "request", 0x403100);
    stack.open(104, "parse", 0x402f00);
    stack.open(8, "leaf", 0x401000);
    CHECK(stack.find() == "2:request 1:parse 0:leaf ");
    CHECK(stack.scanner.statistics().accepted == 3);
}

TEST_CASE("within a frame the order of opening counts, not the order of addresses") {
    Stack stack;
    stack.frame(0x401010, 512);
    stack.open(40, "first", 0x401000);
    stack.open(200, "second", 0x401000);
    stack.open(104, "third", 0x401000);
    CHECK(stack.find() == "0:first 0:second 0:third ");
}

TEST_CASE("a record in another function's frame is stale") {
    Stack stack;
    stack.frame(0x401010, 64);
    stack.frame(0x402010, 256);
    stack.open(104, "left by longjmp", 0x409000);
    CHECK(stack.find().empty());
    CHECK(stack.scanner.statistics().other_function == 1);
}

TEST_CASE("a record above the last frame belongs to another stack, and one across two frames to none") {
    Stack stack;
    stack.frame(0x401010, 64);
    stack.frame(0x402010, 256);
    stack.open(304, "elsewhere", 0x402000);
    stack.open(48, "across", 0x401000);
    CHECK(stack.find().empty());
    CHECK(stack.scanner.statistics().no_frame == 1);
}

TEST_CASE("frames of a signal handler on a stack of its own are told apart") {
    Stack stack;
    stack.frame(0x401010, 64);
    stack.frame(0x402010, 128);
    stack.frame(0x403010, 0);  // __restore_rt: its CFA is the interrupted stack pointer, on the other stack, below
    stack.walk.frames[2].cfa = Stack::base - 0x10000;
    stack.frame(0x404010, 0);
    stack.walk.frames[3].cfa = Stack::base - 0x10000 + 128;
    stack.open(72, "handler", 0x402000);
    stack.open(1000, "not this stack", 0x404000);
    CHECK(stack.find() == "1:handler ");
}

TEST_CASE("a context is shown as the scopes it carries") {
    Stack stack;
    stack.frame(0x401010, 64);
    stack.open(8,
               "request\x1etenant\x1f"
               "acme",
               0x401000);
    CHECK(stack.find() == "0:request 0:tenant=acme ");
}

TEST_CASE("a label that cannot be read is counted and not shown") {
    Stack stack;
    stack.frame(0x401010, 64);
    stack.open(8, "gone", 0x401000);
    stack.texts.clear();
    CHECK(stack.find().empty());
    CHECK(stack.scanner.statistics().no_text == 1);
}

TEST_CASE("scopes past the copy are found where the walk went on, also across its end") {
    Stack stack;
    stack.frame(0x401010, 64);
    stack.frame(0x402010, 2048);
    stack.frame(0x403010, 4096);
    stack.open(3000, "far", 0x403000);
    stack.open(1016, "across the end", 0x402000);
    stack.open(8, "near", 0x401000);
    Rest rest(stack);
    CHECK(stack.find(nullptr, 1024) == "0:near ");
    CHECK(stack.find(&rest, 1024) == "0:near ");
    stack.walk.beyond_end = Stack::base + 4096;
    CHECK(stack.find(&rest, 1024) == "2:far+ 1:across the end+ 0:near ");
}

TEST_CASE("scopes read from live memory count only if a scope in the copy names them") {
    Stack stack;
    stack.frame(0x401010, 64);
    stack.frame(0x402010, 2048);
    stack.frame(0x403010, 4096);
    stack.walk.beyond_end = Stack::base + 4096;
    stack.open(3000, "request", 0x403000);
    stack.open(2496, "phase", 0x403008);
    stack.open(8, "near", 0x401000);
    Rest rest(stack);
    CHECK(stack.find(&rest, 1024) == "2:request+ 2:phase+ 0:near ");
    // When memory was read another request was in its place; the right one is remembered from the sample before.
    stack.chain = 0;
    stack.open(3000, "other request", 0x403000);
    CHECK(stack.find(&rest, 1024) == "2:request+ 2:phase+ 0:near ");
    CHECK(stack.scanner.statistics().remembered == 1);
    CHECK(stack.scanner.statistics().unproven == 1);
    // Scopes in the copy need no proof.
    CHECK(stack.find(nullptr, 4096) == "2:other request 2:phase 0:near ");
}

TEST_CASE("a scope past the copy that no scope in the copy names does not count") {
    Stack stack;
    stack.frame(0x401010, 64);
    stack.frame(0x403010, 4096);
    stack.walk.beyond_end = Stack::base + 4096;
    stack.open(3000, "request", 0x403000);
    Rest rest(stack);
    CHECK(stack.find(&rest, 1024).empty());
    CHECK(stack.scanner.statistics().unproven == 1);
    // Opened inside a scope that was never seen.
    stack.chain = 0x1234567;
    stack.open(8, "near", 0x401000);
    CHECK(stack.find(&rest, 1024) == "0:near ");
}

TEST_CASE("scopes past the copy are found in frames that became known later, once their records were seen") {
    Stack stack;
    stack.frame(0x401010, 64);
    stack.frame(0x402010, 2048);
    stack.frame(0x403010, 4096);
    stack.open(3000, "request", 0x403000);
    stack.open(1504, "phase", 0x402000);
    stack.open(8, "near", 0x401000);
    Rest rest(stack);
    const auto find_beyond = [&](const std::vector<CodeFrame>& frames) {
        std::vector<PlacedScope> placed;
        stack.scanner.find_beyond(stack.scanner.named_beyond(), frames, placed);
        std::string out;
        for (const auto& scope : placed) out += std::to_string(scope.frame) + ":" + scope.label->text + " ";
        return out;
    };
    const Walk whole = stack.walk;
    stack.walk.frames = {whole.frames[0]};
    stack.find(nullptr, 1024);
    CHECK(find_beyond(whole.frames).empty());
    stack.walk = whole;
    stack.walk.beyond_end = Stack::base + 4096;
    stack.find(&rest, 1024);
    stack.walk = {};
    stack.walk.frames = {whole.frames[0]};
    CHECK(stack.find(nullptr, 1024) == "0:near ");
    CHECK(find_beyond(whole.frames) == "2:request 1:phase ");
    CHECK(find_beyond({whole.frames[0], {0, Stack::base + 2048, 0}, whole.frames[2]}) == "2:request 1:phase ");
    CHECK(find_beyond({whole.frames[0], {0x409010, Stack::base + 2048, 0}, whole.frames[2]}) == "3:phase 2:request ");
    // A scope on another stack, inside which this one was begun.
    CHECK(find_beyond({whole.frames[0], {0x402010, Stack::base + 2048, 0}}) == "1:phase ");
}

TEST_CASE("without frames there are no scopes; a stack copy may have any size") {
    Stack stack;
    stack.open(8, "here", 0x401000);
    CHECK(stack.find().empty());
    stack.frame(0x401010, 64);
    CHECK(stack.find(nullptr, 0).empty());
    CHECK(stack.find(nullptr, 31).empty());
    CHECK(stack.find(nullptr, 32) == "0:here ");
}
