#include "unwind/code_bytes.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

using namespace flameprobe;
using namespace std::string_literals;
using namespace std::string_view_literals;

namespace {

/// The number found for a pc behind `code`, which ends in syscall and has other bytes around it.
std::optional<unsigned> number_after(std::string_view code) {
    const std::string bytes = std::string(64, '\x90') + std::string(code) + std::string(16, '\xcc');
    return system_call_number(reinterpret_cast<std::uintptr_t>(bytes.data()) + 64 + code.size());
}

/// Of the first system call of one of libc's functions: its own, not what a sanitizer has put before it. Since
/// glibc 2.41 many give the number to a function that makes it.
std::optional<unsigned> number_in(const char* function) {
    void* const libc = ::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    REQUIRE(libc != nullptr);
    const auto* code = static_cast<const char*>(::dlsym(libc, function));
    ::dlclose(libc);
    REQUIRE(code != nullptr);
    const std::string_view bytes(code, 200);
    for (std::size_t at = 0; at + 5 < bytes.size(); ++at) {
        const auto address = reinterpret_cast<std::uintptr_t>(code) + at;
        if (bytes.substr(at).starts_with("\x0f\x05"sv)) return system_call_number(address + 2);
        if (bytes[at] != '\xe8') continue;
        if (const auto given = given_call_number(address + 5)) return given;
    }
    return std::nullopt;
}

}  // namespace

TEST_CASE("a call on a new stack is known by what loads the stack pointer before it and behind it") {
    const auto known = [](std::string_view before, std::string_view behind) {
        const std::string bytes = std::string(16, '\x90') + std::string(before) + std::string(behind) + "\x5d\xc3"s;
        return calls_on_new_stack(reinterpret_cast<std::uintptr_t>(bytes.data()) + 16 + before.size());
    };
    const auto psm = "\x48\x89\xcc\xff\xd2"sv;                             // mov %rcx, %rsp; call *%rdx
    CHECK(known(psm, "\x48\x89\xec"sv));                                   // mov %rbp, %rsp
    CHECK(known(psm, "\x48\x8b\xe5"sv));                                   // the same
    CHECK(known("\x4c\x89\xc4\xe8\x00\x00\x00\x00"sv, "\xc9\x90\x90"sv));  // mov %r8, %rsp; call; leave
    CHECK(known(psm, "\x48\x8d\x65\xf0"sv));                               // lea -16(%rbp), %rsp
    CHECK(!known(psm, "\x48\x89\xc7"sv));                                  // mov %rax, %rdi
    CHECK(!known("\x48\x89\xe5\xff\xd2"sv, "\xc9\x90\x90"sv));             // mov %rsp, %rbp
}

TEST_CASE("the system calls of libc's wrappers are known from their code") {
    CHECK(number_in("getppid") == SYS_getppid);
    CHECK(number_in("read") == SYS_read);
    CHECK(number_in("recv") == SYS_recvfrom);
    CHECK(number_in("epoll_wait") == SYS_epoll_wait);
    CHECK(number_in("mmap") == SYS_mmap);
}

TEST_CASE("a system call's number may be given by a caller of the function that makes it") {
    const auto around = [](std::string_view code) {
        return std::string(64, '\x90') + std::string(code) + std::string(16, '\xcc');
    };
    const auto given = [&](std::string_view code) {
        const std::string bytes = around(code);
        return given_call_number(reinterpret_cast<std::uintptr_t>(bytes.data()) + 64 + code.size());
    };
    CHECK(given("\x6a\x2d\x31\xc9\xe8\x01\x02\x03\x04"sv) == 45);  // push $45; xor %ecx,%ecx; call
    CHECK(given("\x68\xe8\x00\x00\x00\xe8\x01\x02\x03\x04"sv) == 232);
    CHECK(!given("\x68\xe8\x00\x00\x01\xe8\x01\x02\x03\x04"sv));  // no call has that number
    CHECK(!given("\x6a\x2d\x31\xc9\xff\xd0\x90\x90\x90"sv));      // another call
    CHECK(!given("\x6a\x2d\xff\xd0\xe8\x01\x02\x03\x04"sv));      // a call between
    CHECK(!given("\xff\x74\x24\x18\xe8\x01\x02\x03\x04"sv));      // push 24(%rsp)
    const auto takes = [&](std::string_view code) {
        const std::string bytes = around(code);
        return takes_call_number(reinterpret_cast<std::uintptr_t>(bytes.data()) + 64 + code.size());
    };
    CHECK(takes("\x48\x8b\x44\x24\x10\x0f\x05"sv));                          // mov 16(%rsp),%rax
    CHECK(takes("\x48\x8b\x45\x10\x0f\x05"sv));                              // mov 16(%rbp),%rax
    CHECK(takes("\x48\x89\xf0\x48\x89\xd7\x4c\x89\x5c\x24\x08\x0f\x05"sv));  // mov %rsi,%rax; mov %rdx,%rdi; ...
    CHECK(!takes("\x48\x89\xf8\x48\x89\xf7\x0f\x05"sv));                     // syscall()'s mov %rdi,%rax
    CHECK(!takes("\xb8\x2d\x00\x00\x00\x0f\x05"sv));
}

TEST_CASE("a system call's number is known if nothing can change it before the instruction") {
    CHECK(number_after("\xb8\x2d\x00\x00\x00\x0f\x05"sv) == 45);
    CHECK(number_after("\x31\xc0\x0f\x05"sv) == 0);
    CHECK(number_after("\x48\xc7\xc0\xca\x00\x00\x00\x0f\x05"sv) == 202);
    CHECK(number_after("\xb8\xca\x00\x00\x00\x49\x89\xca\x31\xd2\x0f\x05"sv) == 202);  // mov %rcx,%r10; xor %edx,%edx
    CHECK(number_after("\xb8\x2d\x00\x00\x00\x8b\x7c\x24\x08\x0f\x05"sv) == 45);       // mov 8(%rsp),%edi
    CHECK(!number_after("\x41\xb8\x2d\x00\x00\x00\x0f\x05"sv));                        // %r8d
    CHECK(!number_after("\xb8\x2d\x00\x00\x00\x89\xf8\x0f\x05"sv));                    // then mov %edi,%eax
    CHECK(!number_after("\xb8\x2d\x00\x00\x00\xff\xd0\x0f\x05"sv));                    // a call between
    CHECK(!number_after("\x89\xf8\x0f\x05"sv));
    CHECK(!number_after("\xb8\x2d\x00\x00\x00\x90\x90"sv));  // no syscall
}

TEST_CASE("a system call that is restarted is the one at the pc") {
    static constexpr char code[] = "\x90\x90\xb8\x17\x00\x00\x00\x0f\x05\x90\x90";
    CHECK(system_call_number(reinterpret_cast<std::uintptr_t>(code) + 7) == 23);
}

TEST_CASE("memory that is not mapped has no number") { CHECK(!system_call_number(0x1000)); }

TEST_CASE("bytes of a distance, and what follows them, are no jump through memory") {
    static std::uint8_t room[1 << 17];  // each distance below leads into it, so it can be one
    const auto jumps = [](std::string_view bytes, std::uint64_t target) {
        std::uint8_t* const code = std::copy(bytes.begin(), bytes.end(), room + sizeof room / 2) - bytes.size();
        return may_jump_to(std::as_bytes(std::span(code, bytes.size())), reinterpret_cast<std::uintptr_t>(code),
                           target);
    };
    const auto elsewhere = reinterpret_cast<std::uintptr_t>(room);
    const std::string_view jump_back = "\xe9\x79\xff\xff\xff\x66\x0f\x1f\x84\x00"sv;
    CHECK(jumps(jump_back, elsewhere + sizeof room / 2 + 5 - 0x87));
    CHECK_FALSE(jumps(jump_back, elsewhere));
    CHECK_FALSE(jumps("\xe8\x79\xff\xff\xff\x66\x0f\x1f\x84\x00"sv, elsewhere));  // a call back
    CHECK_FALSE(jumps("\x0f\x85\x79\xff\xff\xff\x66\x90"sv, elsewhere));          // jne back; nop
    CHECK(jumps("\x0f\x1f\x79\xff\xff\xff\x66\x10"sv, elsewhere));
    CHECK_FALSE(jumps("\x48\x8d\x3d\xff\xa3\x00\x00\xc3"sv, elsewhere));  // lea 0xa3ff(%rip),%rdi
    CHECK(jumps("\x48\x8d\x3d\xff\xa3\x00\x40\xc3"sv, elsewhere));        // too far to be one
    CHECK(jumps("\xff\x66\x10"sv, elsewhere));
    CHECK(jumps("\x41\x5f\xff\xe0"sv, elsewhere));              // pop %r15; jmp *%rax
    CHECK(jumps("\x5d\x41\xff\xe3"sv, elsewhere));              // pop %rbp; jmp *%r11
    CHECK_FALSE(jumps("\x48\x01\xd0\xff\xe0"sv, elsewhere));    // add %rdx,%rax; jmp *%rax: a switch
    CHECK(jumps("\x48\x89\xe8\xff\x60\x10\xcc"sv, elsewhere));  // mov %rbp,%rax; jmp *0x10(%rax)
}

TEST_CASE("where HotSpot's methods begin and end, the frame record is the caller's") {
    const auto state = [](std::string_view code) {
        const std::string bytes = std::string(code) + std::string(16, '\xcc');
        return record_state(reinterpret_cast<std::uintptr_t>(bytes.data()));
    };
    CHECK(state("\x89\x84\x24\x00\xc0\xfe\xff\x55"sv) == RecordState::before);  // mov %eax, -0x14000(%rsp); push %rbp
    CHECK(state("\x89\x84\x24\x00\x01\x00\x00\x55"sv) == RecordState::made);    // mov %eax, 0x100(%rsp)
    constexpr auto poll = "\x49\x3b\xa7\x38\x03\x00\x00\x0f\x87\x10\x00\x00\x00\xc3"sv;
    CHECK(state(poll) == RecordState::before);
    CHECK(state(poll.substr(7)) == RecordState::before);
    CHECK(state(poll.substr(0, 13)) == RecordState::made);
}

TEST_CASE("before a function of V8's pushes, the frame record is the caller's") {
    const auto state = [](std::string_view code) {
        const std::string bytes = std::string(code) + std::string(32, '\xcc');
        return record_state(reinterpret_cast<std::uintptr_t>(bytes.data()));
    };
    // mov -0x20(%rcx), %rbx; testb $1, 0x1b(%rbx); jne; push %rbp; mov %rsp, %rbp
    constexpr auto entry = "\x48\x8b\x59\xe0\xf6\x43\x1b\x01\x75\x20\x55\x48\x89\xe5"sv;
    for (const std::size_t at : {0, 4, 8, 10}) CHECK(state(entry.substr(at)) == RecordState::before);
    CHECK(state(entry.substr(11)) == RecordState::made);
    CHECK(state("\x90\xe9\x00\x00\x00\x00\xc3\x55\x48\x89\xe5"sv) == RecordState::made);
}

TEST_CASE("behind the pop of V8's optimized functions, the frame record is the caller's") {
    // mov %rbp, %rsp; pop %rbp; cmp $2, %rcx; jg; ret $16; pop %r10; lea (%rsp,%rcx,8), %rsp; push %r10; ret
    constexpr auto end = "\x48\x8b\xe5\x5d\x48\x83\xf9\x02\x7f\x03\xc2\x10\x00\x41\x5a\x48\x8d\x24\xcc\x41\x52\xc3"sv;
    const std::string bytes = std::string(end) + std::string(32, '\xcc');
    const auto state = [&](std::size_t at) {
        return record_state(reinterpret_cast<std::uintptr_t>(bytes.data()) + at);
    };
    for (const std::size_t at : {0, 3}) CHECK(state(at) == RecordState::made);
    for (const std::size_t at : {4, 8, 10, 13, 21}) CHECK(state(at) == RecordState::before);
}

TEST_CASE("the prologue of HotSpot's methods that call nothing has a rule at each instruction") {
    // sub $24, %rsp; mov %rbp, 16(%rsp); mov %rsp, %rbp; add $16, %rbp
    const std::string_view prologue = "\x48\x81\xec\x18\x00\x00\x00\x48\x89\x6c\x24\x10\x48\x8b\xec\x48\x83\xc5\x10"sv;
    const std::string code = std::string(16, '\xcc') + std::string(prologue) + std::string(64, '\xcc');
    const auto rule_at = [&](std::size_t offset) {
        UnwindRule rule;
        const bool known = epilogue_rule(reinterpret_cast<std::uintptr_t>(code.data()) + 16 + offset, rule);
        return std::tuple(known, rule.cfa_offset, rule.fp_slot);
    };
    constexpr auto same = UnwindRule::same;
    CHECK(rule_at(0) == std::tuple(true, 8, same));
    CHECK(rule_at(7) == std::tuple(true, 32, same));
    CHECK(rule_at(12) == std::tuple(true, 32, -16));
    CHECK(rule_at(15) == std::tuple(true, 32, -16));
    CHECK_FALSE(std::get<0>(rule_at(19)));
}

TEST_CASE("a switch of coroutines ends in a jump") {
    // mov (%rsp), %r8; mov 8(%rsp), %rbp; ldmxcsr 16(%rsp); lea 24(%rsp), %rsp; mov %rdi, %rax; jmp *%r8
    const std::string code = std::string(
                                 "\x4c\x8b\x04\x24\x48\x8b\x6c\x24\x08\x0f\xae\x54\x24\x10"
                                 "\x48\x8d\x64\x24\x18\x48\x89\xf8\x41\xff\xe0") +
                             std::string(128, '\xcc');
    const auto rule_at = [&](std::size_t offset) {
        UnwindRule rule;
        const bool known = epilogue_rule(reinterpret_cast<std::uintptr_t>(code.data()) + offset, rule);
        return std::tuple(known, rule.cfa_offset, rule.ra_slot, rule.fp_slot, unsigned{rule.ra_register});
    };
    constexpr unsigned none = UnwindRule::none;
    CHECK(rule_at(0) == std::tuple(true, 24, -24, -16, none));
    CHECK(rule_at(4) == std::tuple(true, 24, -8, -16, 8u));
    CHECK(rule_at(19) == std::tuple(true, 0, -8, UnwindRule::same, 8u));
    // mov 8(%rdi), %rbp; jmp *%rax: what %rbp was is not known
    const std::string other = std::string("\x48\x8b\x6f\x08\xff\xe0") + std::string(128, '\xcc');
    UnwindRule rule;
    CHECK(epilogue_rule(reinterpret_cast<std::uintptr_t>(other.data()), rule));
    CHECK(rule.fp_slot == UnwindRule::lost);
    CHECK(unsigned{rule.ra_register} == 0);
}

TEST_CASE("code that leads straight to a trap never returns") {
    const auto never = [](std::string_view code) {
        const std::string bytes = std::string(code) + std::string(64, '\x90');
        return never_returns(reinterpret_cast<std::uintptr_t>(bytes.data()));
    };
    CHECK(never("\x48\x89\xc7\xe8\0\0\0\0\xf4"sv));            // mov %rax, %rdi; call; hlt
    CHECK(never("\xb8\x3c\0\0\0\x31\xff\x0f\x05\x0f\x0b"sv));  // mov $60, %eax; xor %edi, %edi; syscall; ud2
    CHECK_FALSE(never("\xe8\0\0\0\0\xc3\xcc"sv));              // call; ret
    CHECK_FALSE(never("\x48\x89\xec\x5d\xf4"sv));              // mov %rbp, %rsp; pop %rbp
    CHECK_FALSE(never("\x48\x89\xc7\xe8\0\0\0\0\x90\x90"sv));  // call; nop
}

TEST_CASE("a frame of one size is found by the instructions that make it") {
    const auto rule_behind = [](std::string_view made, std::string_view after) {
        const std::string code = std::string(40, '\0') + std::string(made) + std::string(after);
        const auto from = reinterpret_cast<std::uint64_t>(code.data());
        UnwindRule rule;
        const bool found = fixed_frame_rule(from, from + code.size(), rule);
        return found ? std::tuple(rule.cfa_offset, rule.ra_slot, rule.fp_slot, rule.third_slot)
                     : std::tuple(std::int32_t{0}, std::int32_t{0}, std::int32_t{0}, std::int32_t{0});
    };
    const auto none = std::tuple(0, 0, 0, 0);
    constexpr auto body = "\x48\x8b\x43\x10\x48\x83\xe8\x01\x48\x8d\x74\x24\x38"sv;
    // PCRE2's: push rbx, r15, r14, r13, r12, rbp; mov %rdi, %rbx; sub $208, %rsp
    CHECK(rule_behind("\x53\x41\x57\x41\x56\x41\x55\x41\x54\x55\x48\x89\xfb\x48\x81\xec\xd0\0\0\0"sv, body) ==
          std::tuple(208 + 7 * 8, -8, -56, -16));
    CHECK(rule_behind("\x41\x56\x53\x48\x83\xec\x18"sv, body) == std::tuple(24 + 3 * 8, -8, UnwindRule::same, -24));
    CHECK(rule_behind("\x53\x48\x83\xec\x18"sv, body) == none);              // one push may be part of anything
    CHECK(rule_behind("\x41\x56\x53\x48\x83\xc4\x18"sv, body) == none);      // add
    CHECK(rule_behind("\x41\x56\x53\x90\x48\x83\xec\x18"sv, body) == none);  // something else between
    CHECK(rule_behind("\x41\x56\x53\x48\x81\xec\0\0\x10\0"sv, body) == none);
}

TEST_CASE("the frame of translated code is the one that the code's entry makes") {
    // QEMU's: push rbp, rbx, r12 to r15; mov %rdi, %rbp; add $-1160, %rsp; jmp *%rsi
    const std::string entry(
        "\x55\x53\x41\x54\x41\x55\x41\x56\x41\x57\x48\x8b\xef\x48\x81\xc4\x78\xfb\xff\xff\xff\xe6\x33\xc0"sv);
    const auto start = [](const std::string& code) { return reinterpret_cast<std::uint64_t>(code.data()); };
    UnwindRule rule;
    REQUIRE(entry_frame_rule(start(entry), rule));
    CHECK(std::tuple(rule.cfa_offset, rule.ra_slot, rule.fp_slot, rule.third_slot) ==
          std::tuple(1160 + 7 * 8, -8, -16, -24));
    std::string calls = entry;
    calls[21] = '\xd6';  // call *%rsi: a frame of its own
    CHECK(!entry_frame_rule(start(calls), rule));
    std::string gives_back = entry;
    gives_back.replace(16, 4, "\x88\x04\0\0", 4);
    CHECK(!entry_frame_rule(start(gives_back), rule));
}
