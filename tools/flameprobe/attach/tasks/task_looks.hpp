// The event `tasks`: looks at a program's async tasks many times a second, from outside. Nothing is stopped.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "await_chain.hpp"
#include "base/clock.hpp"
#include "collect/outside_event.hpp"
#include "runtimes.hpp"

namespace flameprobe::async {

inline std::uint64_t own_cpu_ns() { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

class TaskLooks final : public OutsideEvent {
public:
    /// `frequency`: looks a second.
    explicit TaskLooks(std::uint64_t frequency);
    ~TaskLooks() override;

    /// Whether the program has tasks of a kind that is known.
    bool has_tasks() const { return tables_ && tables_->count() != 0; }
    /// Whether it is known what they wait for.
    bool has_layouts() const { return types_ && types_->has_any(); }

    EventInfo info() const override;
    void begin(Pipeline& pipeline, EventId event, std::uint64_t now_ns) override;
    void look(std::uint64_t now_ns) override;
    std::uint64_t until_look_ns() const override;
    void settle_all() override;
    bool has_samples() const override { return emitted_ || !sums_.empty(); }
    void add_to(Counters& counters) const override;

private:
    /// Parts of a task's time, by stack.
    struct Share {
        StackId stack = 0;
        double part = 0;
    };
    struct Known {
        const TaskTable* table = nullptr;
        std::uint64_t address = 0, id = 0;
        std::uint32_t links = 0;
        std::uint64_t seen_ns = 0;
        std::uint64_t hash = 0, outside_hash = 0;  // of what it was read from
        std::vector<Place> outside{};
        std::vector<Share> shares{};
        bool gone = false;
    };
    /// Those that are read at one look, in the order of their addresses.
    struct Turn {
        std::vector<Known*> tasks{};
        bool sorted = true;
    };
    /// A chain that was met, and what decided it: of a thousand tasks of one type most wait in a few places.
    struct Shape {
        bool woken = false;
        std::vector<ReadValue> values{};
        std::vector<Share> shares{};
    };
    struct Seen {  // of one read
        bool lives = false, runs = false, woken = false;
    };

    /// Where a list is followed: from its head to a task that is known.
    struct Front {
        std::uint64_t at = 0;
        std::uint64_t before = 0;  // 0: it is at the head
        std::uint32_t links = 0;
        std::size_t list = 0;        // in heads_
        bool whole = false;          // on to the list's end, past tasks that are known
        std::uint64_t since_ns = 0;  // all that it meets was there then
        std::size_t size = 0;        // to read: of the largest task so far
    };

    struct Slab {
        TaskSlab place{};
        std::size_t next = 0;  // the entry to be read next
    };

    bool find();
    void find_runtimes();
    bool has_runtimes() const { return !lists_.empty() || !slabs_.empty(); }
    void look_at_slabs();
    void begin_fronts(std::uint64_t now_ns);
    void follow_fronts(std::uint64_t now_ns);
    void step_fronts(std::uint64_t now_ns);
    bool step(Front& front, const TaskTable& table, const std::byte* bytes);
    bool is_linked(const Front& front, const TaskTable& table, const std::byte* bytes) const;
    std::uint64_t next_of(std::uint64_t task, std::uint32_t links) const;
    void add(const ListedTask& task, std::uint64_t id, std::uint64_t since_ns);
    void set_turns();
    Turn& turn_of(std::uint64_t address);
    void read_some(std::uint64_t now_ns);
    void read(Turn& turn, std::uint64_t now_ns);
    bool can_read() const;
    std::size_t how_many() const;
    Seen judge(const Known& task, const std::byte* bytes) const;
    template <typename Take>
    void read_tasks(std::span<Known* const> which, Take&& take);
    bool take_changed(Known& task, std::span<const std::byte> copy);
    void take_running(Known& task);
    bool read_chain(Known& task);
    bool is_same(Known& task, std::uint64_t hash);
    void take_chain(Known& task, const ChainNode& chain, bool woken);
    void put(const ChainNode& node, StackId parent, double part, FrameNumber ending, std::vector<Share>& shares);
    StackId above(StackId parent, FrameNumber frame);
    void only(Known& task, FrameNumber remark);
    void count(const Known& task, std::uint64_t ns);
    void count_until(Known& task, std::uint64_t now_ns);
    void emit(std::uint64_t now_ns);
    void set_next(std::uint64_t now_ns);

    const std::uint64_t pause_ns_;
    std::unique_ptr<Memory> memory_;
    std::unique_ptr<TaskTables> tables_;
    std::unique_ptr<FutureTypes> types_;
    std::unique_ptr<ChainReader> chains_;
    std::vector<TaskLists> lists_;
    std::vector<Slab> slabs_;
    std::vector<std::uint64_t> heads_;        // of each list, as last seen
    std::vector<std::uint64_t> whole_at_ns_;  // when each is to be followed to its end
    std::vector<Front> fronts_;
    std::uint64_t fronts_begun_ns_ = 0;

    Pipeline* pipeline_ = nullptr;
    EventId event_ = 0;
    ThreadId thread_ = 0;
    std::unordered_map<std::uint64_t, std::unique_ptr<Known>> tasks_;  // by address
    std::vector<Turn> turns_;                                          // a power of two
    std::size_t turn_ = 0;
    std::uint64_t begun_ns_ = 0;
    std::unordered_map<const TaskTable*, std::vector<Shape>> shapes_;
    std::unordered_map<StackId, Amount> sums_;
    std::minstd_rand random_;
    std::uint64_t next_search_ns_ = 0;
    std::uint64_t next_ns_ = 0, last_ns_ = 0, emitted_ns_ = 0, searched_ns_ = 0, search_pause_ns_ = 20 * ns_per_ms;
    bool emitted_ = false;
    double cost_ns_ = 1'000;  // of one task
    std::uint64_t looks_ = 0, reads_ = 0, decoded_ = 0, torn_ = 0, unknown_ = 0, most_tasks_ = 0;
};

}  // namespace flameprobe::async
