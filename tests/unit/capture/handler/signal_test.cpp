// The handler as the kernel calls it, for signals that the test sends: which it samples, passes on or drops.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "capture/cell_reader.hpp"
#include "capture/handler/handler.hpp"
#include "capture/handler/raw_system_call.hpp"
#include "capture/handler_memory.hpp"
#include "collected.hpp"
#include "cpu_facts.hpp"

using namespace flameprobe;
using flameprobe::test::my_tid;

namespace {

// A timer's signal without a timer: the kernel lets a process forge any si_code for itself.
void send(int signal, int code, std::uint64_t value, int overrun = 0) {
    siginfo_t info{};
    info.si_signo = signal;
    info.si_code = code;
    info.si_overrun = overrun;
    info.si_value.sival_ptr = reinterpret_cast<void*>(value);
    ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), my_tid(), signal, &info);
}

struct Handler {
    HandlerMemory memory;
    std::uint32_t slot;
    explicit Handler(std::uint32_t cells = 16, std::uint32_t stack_bytes = 4096)
        : memory(std::move(*HandlerMemory::make({stack_bytes, cells, 4}))),
          slot(handler::claim_slot(begin(memory.state()), my_tid())) {
        memory.state().signal = SIGPROF;
        memory.state().sampling = true;
        REQUIRE(handler::install(SIGPROF) == 0);
        handler::set_host_action(SIGPROF, reinterpret_cast<std::uintptr_t>(SIG_IGN), 0);
    }
    ~Handler() { ::signal(SIGPROF, SIG_DFL); }
    static handler::State& begin(handler::State& state) {
        state.tick_ns = 7'000'000;
        state.period_ns = 1'000'000;
        return state;
    }
    std::uint64_t token() const {
        return handler::Token{handler::secret(0), static_cast<std::uint16_t>(memory.state().slots[slot].generation),
                              static_cast<std::uint16_t>(slot)}
            .pack();
    }
};

volatile int host_calls = 0;
void* host_value = nullptr;

void host_handler(int, siginfo_t* info, void*) {
    host_calls = host_calls + 1;
    host_value = info->si_value.sival_ptr;
}

}  // namespace

TEST_CASE("a signal of ours becomes a sample with registers, stack, weight and time") {
    Handler handler;
    volatile std::uint64_t mark = 0x5eed5eed5eed5eed;
    const std::uint64_t before = read_clock(CLOCK_MONOTONIC_COARSE);
    send(SIGPROF, SI_TIMER, handler.token(), 6999);  // expiries, one a microsecond
    CellReader reader(handler.memory.state());
    REQUIRE(reader.gather() == 1);
    const auto sample = reader.sample(0);
    CHECK(sample.tid == my_tid());
    CHECK(sample.weight == 7'000'000);
    CHECK(sample.has_registers);
    CHECK(sample.time_ns >= before);
    CHECK(sample.time_ns <= read_clock(CLOCK_MONOTONIC_COARSE));
    // The copy is of this stack: it holds `mark` at its place.
    const std::uint64_t offset = reinterpret_cast<std::uint64_t>(&mark) - sample.registers.sp();
    REQUIRE(offset + 8 <= sample.stack.size());
    std::uint64_t copied = 0;
    std::memcpy(&copied, sample.stack.data() + offset, sizeof copied);
    CHECK(copied == 0x5eed5eed5eed5eed);
    // Sent by a system call from libc's syscall(): the pc is behind the instruction.
    const auto behind = reinterpret_cast<const std::byte*>(sample.registers.pc());
    CHECK(std::memcmp(behind - test::system_call_instruction.size(), test::system_call_instruction.data(),
                      test::system_call_instruction.size()) == 0);
}

TEST_CASE("signals with another code or value go to the host, late ones of ours are dropped") {
    Handler handler;
    handler::set_host_action(SIGPROF, reinterpret_cast<std::uintptr_t>(&host_handler), SA_SIGINFO);
    CellReader reader(handler.memory.state());

    host_calls = 0;
    send(SIGPROF, SI_TIMER, 0x77);  // a timer of the host
    CHECK(host_calls == 1);
    CHECK(host_value == reinterpret_cast<void*>(0x77));
    send(SIGPROF, SI_QUEUE, handler.token());  // the right value, but sent by a process
    CHECK(host_calls == 2);
    ::raise(SIGPROF);
    CHECK(host_calls == 3);
    CHECK(reader.gather() == 0);
    CHECK(handler.memory.state().stray == 3);

    ++handler.memory.state().slots[handler.slot].generation;
    const std::uint64_t stale = handler.token() - (std::uint64_t{1} << 16);
    send(SIGPROF, SI_TIMER, stale);  // of the thread that had the slot before
    handler.memory.state().sampling = false;
    send(SIGPROF, SI_TIMER, handler.token());
    CHECK(reader.gather() == 0);
    CHECK(host_calls == 3);
}

TEST_CASE("a signal that the host left at its default kills as it would have without us") {
    const pid_t child = ::fork();
    if (child == 0) {
        handler::install(SIGPROF);
        handler::set_host_action(SIGPROF, reinterpret_cast<std::uintptr_t>(SIG_DFL), 0);
        ::raise(SIGPROF);
        ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGPROF);
}

TEST_CASE("a full pool counts the periods it drops") {
    Handler handler(2);
    for (int i = 0; i < 5; ++i) send(SIGPROF, SI_TIMER, handler.token(), 6999);
    CellReader reader(handler.memory.state());
    CHECK(reader.gather() == 2);
    CHECK(handler.memory.state().slots[handler.slot].dropped == 21'000'000);
}

TEST_CASE("after the memory is gone, late signals are dropped") {
    std::uint64_t token = 0;
    {
        Handler handler;
        token = handler.token();
    }
    handler::install(SIGPROF);
    handler::set_host_action(SIGPROF, reinterpret_cast<std::uintptr_t>(&host_handler), SA_SIGINFO);
    host_calls = 0;
    send(SIGPROF, SI_TIMER, token);
    CHECK(host_calls == 0);
    ::signal(SIGPROF, SIG_DFL);
}

TEST_CASE("a forked child finds no slot, no sample and no sampling") {
    Handler handler;
    const std::uint64_t token = handler.token();
    send(SIGPROF, SI_TIMER, token);
    const pid_t child = ::fork();
    if (child == 0) {
        const auto& state = handler.memory.state();
        send(SIGPROF, SI_TIMER, token);  // dropped; passed on to the host it would be ignored, too
        const bool empty = state.pid == 0 && !state.sampling && state.slot_count == 0 && state.pool.count() == 0;
        ::_exit(empty ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a stack of unknown extent is copied up to what is mapped, and a described one up to its end") {
    Handler handler(16, 60 * 1024);
    CellReader reader(handler.memory.state());
    send(SIGPROF, SI_TIMER, handler.token());
    REQUIRE(reader.gather() == 1);
    const auto whole = reader.sample(0);
    const std::uint64_t sp = whole.registers.sp();
    CHECK(whole.stack.size() > 0);
    reader.give_back(0);

    auto& slot = handler.memory.state().slots[handler.slot];
    slot.stack_high = sp + 128;
    slot.stack_low = sp - 65536;
    send(SIGPROF, SI_TIMER, handler.token());
    REQUIRE(reader.gather() == 1);
    CHECK(reader.sample(0).registers.sp() == sp);
    CHECK(reader.sample(0).stack.size() == 128);
    reader.give_back(0);

    slot.stack_low = ~std::uint64_t{0};
    handler.memory.state().may_call = false;
    send(SIGPROF, SI_TIMER, handler.token());
    REQUIRE(reader.gather() == 1);
    CHECK(reader.sample(0).stack.size() == std::min<std::uint64_t>(60 * 1024, 4096 - sp % 4096));
}

TEST_CASE("bare system calls give minus the error number and leave errno alone") {
    errno = 4242;
    CHECK(handler::system_call(SYS_close, -1L) == -EBADF);
    CHECK(errno == 4242);
}
