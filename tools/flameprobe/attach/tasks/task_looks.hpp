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

inline std::uint64_t word_at(const std::byte* bytes, std::size_t offset) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes + offset, sizeof value);
    return value;
}

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
    };
    struct Seen {  // of one read
        bool lives = false, runs = false, woken = false;
    };

    bool find();
    void find_new(std::uint64_t since_ns);
    void add(const ListedTask& task, std::uint64_t id, std::uint64_t since_ns);
    void read_some(std::uint64_t now_ns);
    std::size_t how_many() const;
    Seen judge(const Known& task, const std::byte* bytes) const;
    bool read_chain(Known& task, std::vector<std::byte>& bytes);
    bool is_same(Known& task, std::uint64_t hash);
    void take_chain(Known& task, const ChainNode& chain, bool woken);
    void put(const ChainNode& node, StackId parent, double part, FrameNumber ending, std::vector<Share>& shares);
    StackId above(StackId parent, FrameNumber frame);
    void only(Known& task, FrameNumber remark);
    void count(const Known& task, std::uint64_t ns);
    void emit(std::uint64_t now_ns);
    void forget(std::size_t at);
    void set_next(std::uint64_t now_ns);

    const std::uint64_t pause_ns_;
    std::unique_ptr<Memory> memory_;
    std::unique_ptr<TaskTables> tables_;
    std::unique_ptr<FutureTypes> types_;
    std::unique_ptr<ChainReader> chains_;
    std::vector<TaskLists> lists_;
    std::vector<std::uint64_t> heads_;  // of each list, as last seen

    Pipeline* pipeline_ = nullptr;
    EventId event_ = 0;
    ThreadId thread_ = 0;
    std::vector<Known> tasks_;
    std::unordered_map<std::uint64_t, std::size_t> places_;  // in tasks_, by address
    std::size_t cursor_ = 0;
    std::unordered_map<StackId, Amount> sums_;
    std::minstd_rand random_;
    std::uint64_t next_ns_ = 0, last_ns_ = 0, emitted_ns_ = 0, searched_ns_ = 0, search_pause_ns_ = 20 * ns_per_ms;
    bool emitted_ = false;
    double cost_ns_ = 1'000;  // of one task
    std::uint64_t looks_ = 0, reads_ = 0, decoded_ = 0, torn_ = 0, unknown_ = 0, most_tasks_ = 0;
};

}  // namespace flameprobe::async
