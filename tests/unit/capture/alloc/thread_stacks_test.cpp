#include <doctest/doctest.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "base/clock.hpp"
#include "capture/alloc/host_allocations.hpp"
#include "cpu/instructions.hpp"

namespace flameprobe::alloc {
namespace {

/// As a sample of the calling thread leaves it.
class SampledThread {
public:
    explicit SampledThread(std::uint32_t tid) : records_(new Record[2]), state_(new State), tid_(tid) {
        state_->records = records_.get();
        state_->record_count = 2;
        state_->samples.pid = ::getpid();
        record().claims = 5;
        if (cpu::has_thread_pointer()) record().control_block = cpu::thread_pointer();
    }
    void sample(std::uint32_t claim = 5) {
        handler::CellHead cell{};
        cell.slot = 1;
        cell.generation = claim;
        cell.tid = tid_;
        cell.registers.value[RegisterNumbers::stack_pointer] = here();
        stacks_.sampled(cell);
    }
    static std::uint64_t here() { return reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)); }
    bool covers(std::uint64_t address) { return record().stack_low <= address && address < record().stack_high; }
    Record& record() { return records_[1]; }
    ThreadStacks& stacks() { return stacks_; }

private:
    std::unique_ptr<Record[]> records_;
    std::unique_ptr<State> state_;
    ThreadStacks stacks_{*state_};
    std::uint32_t tid_;
};

}  // namespace

TEST_CASE("a thread that allocates is told where its stack is") {
    if (!cpu::has_thread_pointer()) return;
    std::thread([] {
        SampledThread thread(static_cast<std::uint32_t>(::gettid()));
        thread.stacks().find(monotonic_ns());
        CHECK(thread.record().stack_of == 0);
        thread.sample();
        thread.stacks().find(monotonic_ns());
        CHECK(thread.record().stack_of == 5);
        CHECK(thread.covers(SampledThread::here()));
        CHECK(thread.record().stack_high == cpu::thread_pointer());
    }).join();
}

TEST_CASE("what is found of a thread that has ended is not said of the next one") {
    SampledThread thread(static_cast<std::uint32_t>(::getpid()));
    thread.sample(4);
    thread.stacks().find(monotonic_ns());
    CHECK(thread.record().stack_of == 4);
    CHECK(thread.record().claims == 5);
}

TEST_CASE("the main thread's stack is looked up again when it has grown") {
    SampledThread thread(static_cast<std::uint32_t>(::getpid()));
    thread.sample();
    thread.stacks().find(monotonic_ns());
    CHECK(thread.covers(SampledThread::here()));
    CHECK_FALSE(thread.covers(reinterpret_cast<std::uint64_t>(environ[0])));
    thread.record().stack_low = thread.record().stack_high.load();
    thread.sample();
    thread.stacks().find(monotonic_ns());
    CHECK_FALSE(thread.covers(SampledThread::here()));  // the last reading is too young
    thread.stacks().find(monotonic_ns() + 3'600'000'000'000);
    CHECK(thread.covers(SampledThread::here()));
}

TEST_CASE("where no stack can be proven, none is said, and it is not looked for again") {
    SampledThread thread(static_cast<std::uint32_t>(::getpid()) + 1);
    static std::uint64_t no_control_block;
    thread.record().control_block = reinterpret_cast<std::uint64_t>(&no_control_block);
    thread.sample();
    thread.stacks().find(monotonic_ns());
    CHECK(thread.record().stack_of == 5);
    CHECK_FALSE(thread.covers(SampledThread::here()));
}

}  // namespace flameprobe::alloc
