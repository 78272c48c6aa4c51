#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include "unwind/code_bytes.hpp"

using namespace flameprobe;
using namespace std::string_view_literals;

namespace {

/// The rule at `offset` of code that has nothing around it but `int3`.
std::pair<bool, UnwindRule> rule_at(std::string_view code, std::size_t offset) {
    std::array<char, 512> memory{};
    memory.fill('\xcc');
    std::memcpy(memory.data() + 128, code.data(), code.size());
    UnwindRule rule;
    const bool known = go_runtime_rule(reinterpret_cast<std::uintptr_t>(memory.data()) + 128 + offset, rule);
    return {known, rule};
}

constexpr auto goexit = "\x90\xe8\x5a\x25\x00\x00\x90"sv;  // nop; call goexit1; nop
// runtime.systemstack: mov %rbx, %rsp; mov %rdi, %rdx; mov (%rdi), %rdi; call *%rdi
constexpr auto systemstack = "\x48\x89\xdc\x48\x89\xfa\x48\x8b\x3f\xff\xd7"sv;
// runtime.mcall: mov 0x38(%r14), %rsp; push %rax; mov (%rdx), %r12; call *%r12
constexpr auto mcall = "\x49\x8b\x66\x38\x50\x4c\x8b\x22\x41\xff\xd4"sv;
// A Go function: mov %rsp, %r12; cmp 0x10(%r14), %rsp; call; mov 0x1068(%rsp), %rbp; add $0x1070, %rsp; ret
constexpr auto compiled =
    "\x49\x89\xe4\x49\x3b\x66\x10\xe8\x00\x00\x00\x00\x48\x8b\xac\x24\x68\x10\x00\x00\x48\x81\xc4\x70\x10\x00\x00\xc3"sv;

}  // namespace

TEST_CASE("the return address of a goroutine's first function is the root") {
    const auto [known, rule] = rule_at(goexit, 0);
    CHECK(known);
    CHECK(rule.kind == RuleKind::root);
    CHECK(rule.starts_stack == StackStart::by_bytes);
    CHECK_FALSE(rule_at(goexit, 1).first);
    CHECK_FALSE(rule_at("\x90\xe8\x5a\x25\x00\x00\xc3"sv, 0).first);
}

TEST_CASE("no frame is looked for behind a change of stacks") {
    for (const auto code : {systemstack, mcall}) {
        const auto [known, rule] = rule_at(code, code.size() - 1);
        CHECK(known);
        CHECK(rule.kind == RuleKind::no_cfi);
        CHECK_FALSE(rule.keeps_records);
        CHECK_FALSE(rule.in_file);
    }
}

TEST_CASE("the scheduler's stack begins with what never returns to mcall") {
    for (const auto behind : {"\x58\xe9\x00\x00\x00\x00"sv, "\x90\x58\xe9\x00\x00\x00\x00"sv}) {
        const std::string code = std::string(mcall) + std::string(behind);
        const auto [known, rule] = rule_at(code, mcall.size() - 1);
        CHECK(known);
        CHECK(rule.kind == RuleKind::root);
        CHECK(rule_at(code, mcall.size()).second.kind != RuleKind::root);
    }
}

TEST_CASE("code of Go's compiler is left to the unwind tables") {
    for (std::size_t offset = 0; offset < compiled.size(); ++offset) CHECK_FALSE(rule_at(compiled, offset).first);
}
