#include "collect/requests.hpp"

#include <time.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/hash.hpp"
#include "base/host_process.hpp"
#include "collect/pipeline.hpp"

namespace flameprobe {
namespace {

constinit passings::State* host_passings = nullptr;
constinit bool counter_failed = false;

constexpr std::uint64_t counts_every_ns = ns_per_second;

bool faults() { return host_passings->faults.load(std::memory_order_relaxed); }
bool has_counter() { return !faults() && !counter_failed && cpu::counter_is_steady(); }

passings::Clock wanted_clock() {
    if (has_counter()) return passings::Clock::counter;
    return faults() || host_passings->quiet.load(std::memory_order_relaxed) ? passings::Clock::none
                                                                            : passings::Clock::kernel;
}

}  // namespace

void read_passings_of(passings::State* those) { host_passings = those; }

void time_passings(bool on) {
    if (host_passings == nullptr) return;
    const passings::Clock clock = on ? wanted_clock() : passings::Clock::none;
    if (clock == passings::Clock::counter) {
        const CounterClock::Pair now = CounterClock::read();
        host_passings->first_ticks.store(now.ticks, std::memory_order_relaxed);
        host_passings->first_ns.store(now.ns, std::memory_order_relaxed);
    }
    host_passings->clock.store(clock, std::memory_order_release);
}

bool any_passings() noexcept {
    return host_passings != nullptr && host_passings->pool.load(std::memory_order_relaxed) != nullptr;
}

std::uint64_t untimed_passings() {
    return host_passings == nullptr ? 0 : host_passings->untimed.load(std::memory_order_relaxed);
}

void Requests::sampled(std::uint32_t tid, std::uint64_t monotonic_ns) {
    if (any_passings()) marks_[tid].push_back(monotonic_ns);
}

void Requests::read_clock() {
    if (!has_counter()) return;
    const CounterClock::Pair first{host_passings->first_ticks.load(), host_passings->first_ns.load()};
    if (!clock_.ready() && first.ticks != 0) clock_.add(first);
    if (!clock_.add(CounterClock::read())) {
        counter_failed = true;
        pipeline_.summary().counters[std::string(counter::note) +
                                     "the CPU's counter changed its rate: from there on requests are timed by the "
                                     "kernel's clock, and those before are right only to a thousandth"] = 1;
        time_passings(host_passings->clock.load(std::memory_order_relaxed) != passings::Clock::none);
    }
    const double tick_ns = clock_.tick_ns();
    host_passings->tick_ns.store(static_cast<std::uint64_t>(tick_ns * 0x1p32), std::memory_order_relaxed);
}

void Requests::drain(std::uint64_t drained_ns) {
    if (!any_passings()) return;
    any_ = true;
    read_clock();
    for (auto& [tid, times] : marks_) std::ranges::sort(times);
    passings::Pool& pool = *host_passings->pool.load(std::memory_order_acquire);
    read_chunks(pool, drained_ns);
    if (pool.any_beyond.exchange(false, std::memory_order_acquire)) read_beyond(pool);
    forget_marks(drained_ns);
    if (drained_ns < next_counts_ns_) return;
    write_counts(drained_ns);
    next_counts_ns_ = drained_ns + counts_every_ns;
}

void Requests::write() {
    if (!any_passings()) return;
    drain(monotonic_ns());
    // A program of less than a millisecond.
    for (int tries = 0; tries < 3 && !clock_.ready() && has_counter(); ++tries) {
        const timespec pause{0, 1'000'000};
        ::nanosleep(&pause, nullptr);
        drain(monotonic_ns());
    }
    write_counts(monotonic_ns());
}

void Requests::read_chunks(passings::Pool& pool, std::uint64_t upto_ns) {
    const bool owners = upto_ns >= next_owners_ns_;
    if (owners) next_owners_ns_ = upto_ns + ns_per_second;
    for (std::uint32_t at = 0; at < passings::Pool::size; ++at) {
        passings::Chunk& chunk = pool.chunks[at];
        const std::uint32_t owner = chunk.owner.load(std::memory_order_acquire);
        if (owner == 0) continue;
        const std::uint32_t claimed = chunk.claimed.load(std::memory_order_relaxed);
        const bool dropped = chunk.dropped.load(std::memory_order_acquire) != 0;
        const bool gone = owners && std::exchange(idle_[at], claimed) == claimed && host_thread_cpu_ns(owner) == 0;
        for (; chunk.read < passings::Chunk::size; ++chunk.read) {
            passings::Entry& entry = chunk.entries[chunk.read];
            const std::uint32_t what = entry.what.load(std::memory_order_acquire);
            if (what == 0 ? !gone : !read(entry, upto_ns)) break;
            entry.what.store(0, std::memory_order_relaxed);
        }
        if (chunk.read < passings::Chunk::size || !(dropped || gone)) continue;
        chunk.read = idle_[at] = 0;
        chunk.dropped.store(0, std::memory_order_relaxed);
        chunk.claimed.store(0, std::memory_order_relaxed);
        chunk.owner.store(0, std::memory_order_release);
    }
}

/// False: it ended after `upto_ns`, or it is not known yet when, or of which label it is.
bool Requests::read(const passings::Entry& entry, std::uint64_t upto_ns) {
    const bool ticks = (entry.begin & 1) != 0;
    if (ticks && !clock_.ready()) return false;
    const std::uint64_t end_ns = ticks ? clock_.ns(entry.end) : entry.end;
    if (end_ns > upto_ns) return false;
    const std::uint64_t tick_ns = host_passings->tick_ns.load(std::memory_order_relaxed),
                        took = entry.end - entry.begin;
    const std::uint64_t ns = ticks ? passings::ns_of_ticks(took, tick_ns) : took;
    const std::uint32_t what = entry.what.load(std::memory_order_relaxed);
    const unsigned slot = (what & ~passings::failed_bit) - 1;
    if (slot >= passings::most_labels) return true;  // the program has overwritten it
    Label* const label = label_of(slot);
    if (label == nullptr) return false;  // its name is just being written
    take(*label, entry.tid, end_ns - std::min(ns, end_ns), ns, (what & passings::failed_bit) != 0);
    return true;
}

Requests::Label* Requests::label_of(unsigned slot) {
    auto& label = labels_[slot];
    const char* const name = label ? nullptr : host_passings->names.name_of(slot);
    if (label || name == nullptr) return label.get();
    label = std::make_unique<Label>();
    label->now.label = name;
    label->text = pipeline_.string_of(name);
    return label.get();
}

void Requests::take(Label& label, std::uint32_t tid, std::uint64_t begin_ns, std::uint64_t ns, bool failed) {
    constexpr unsigned most_slow = 20;
    constexpr std::uint64_t by_lot = 1000;
    ++label.count, ++label.all;
    ++label.cells[duration_cell(ns)];
    label.now.failed += failed ? 1 : 0;
    label.now.sum_ns += ns;
    label.now.longest_ns = std::max(label.now.longest_ns, ns);
    std::uint32_t flags = was_sampled(tid, begin_ns, begin_ns + ns) ? Passing::sampled : 0;
    if (ns >= label.slow_ns && label.kept_slow++ < most_slow) flags |= Passing::slow;
    if (label.all <= by_lot || next_random(random_) % label.all < by_lot) flags |= Passing::by_lot;
    if (flags == 0) return;
    const ThreadId thread = pipeline_.threads().shown(pipeline_.thread_of(tid, true));
    flags |= failed ? Passing::failed : 0;
    pipeline_.host(Passing{thread, label.text, pipeline_.since_start(begin_ns), ns, flags});
}

bool Requests::was_sampled(std::uint32_t tid, std::uint64_t begin_ns, std::uint64_t end_ns) const {
    const auto marks = marks_.find(tid);
    if (marks == marks_.end()) return false;
    const auto after = std::ranges::upper_bound(marks->second, end_ns);
    return after != marks->second.begin() && *std::prev(after) >= begin_ns;
}

// Of what comes later all that ends after `before_ns`: of the marks before that only the last one can tell.
void Requests::forget_marks(std::uint64_t before_ns) {
    constexpr std::size_t most_threads = 4096;
    for (auto& [tid, times] : marks_) {
        const auto after = std::ranges::upper_bound(times, before_ns);
        if (after - times.begin() > 1) times.erase(times.begin(), std::prev(after));
    }
    if (marks_.size() > most_threads)
        std::erase_if(marks_, [&](const auto& of) { return of.second.back() + ns_per_minute < before_ns; });
}

void Requests::read_beyond(passings::Pool& pool) {
    for (unsigned slot = 0; slot < passings::most_labels; ++slot) {
        passings::Beyond& beyond = pool.beyond[slot];
        const std::uint64_t sum = beyond.sum_ns.load(std::memory_order_relaxed);
        Label* const label = sum == 0 ? nullptr : label_of(slot);
        if (label == nullptr) continue;
        for (std::size_t cell = 0; cell < duration_cells; ++cell) {
            const std::uint32_t now = beyond.cells[cell].exchange(0, std::memory_order_relaxed);
            label->cells[cell] += now;
            label->now.unseen += now;
            label->count += now, label->all += now;
        }
        label->now.sum_ns += beyond.sum_ns.exchange(0, std::memory_order_relaxed);
        label->now.failed += beyond.failed.exchange(0, std::memory_order_relaxed);
        label->now.longest_ns =
            std::max(label->now.longest_ns, beyond.longest_ns.exchange(0, std::memory_order_relaxed));
    }
}

void Requests::write_counts(std::uint64_t now_ns) {
    for (const auto& label : labels_) {
        if (!label || label->count == 0) continue;
        RequestTimes& now = label->now;
        now.time_ns = pipeline_.since_start(now_ns);
        std::size_t last = 0;
        for (std::size_t cell = 0; cell < duration_cells; ++cell) {
            if (label->cells[cell] == 0) continue;
            now.cells.push_back(cell - std::exchange(last, cell));
            now.cells.push_back(label->cells[cell]);
        }
        pipeline_.host(now);
        label->end_second();
    }
}

// The minute is one that fades: each second takes a sixtieth of what is remembered.
void Requests::Label::end_second() {
    std::uint64_t sum = 0;
    for (std::size_t cell = 0; cell < duration_cells; ++cell) {
        recent[cell] -= recent[cell] / 60;
        recent[cell] += 60 * std::min<std::uint32_t>(std::exchange(cells[cell], 0), 1u << 20);
        sum += recent[cell];
    }
    std::size_t cell = duration_cells;
    for (std::uint64_t above = 0; cell > 0 && above + recent[cell - 1] <= sum / 100; --cell) above += recent[cell - 1];
    slow_ns = begin_of_duration_cell(cell);
    count = 0;
    kept_slow = 0;
    std::string name = std::move(now.label);
    now = {};
    now.label = std::move(name);
}

std::size_t Requests::memory() const {
    std::size_t bytes = any_ ? sizeof(passings::Pool) : 0;
    for (const auto& label : labels_) bytes += label ? sizeof(Label) : 0;
    return bytes + marks_.size() * 3 * sizeof(std::vector<std::uint64_t>);
}

}  // namespace flameprobe
