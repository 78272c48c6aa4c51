#include "task_looks.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/clock.hpp"
#include "base/hash.hpp"
#include "profile/task_event.hpp"
#include "symbolize/debug_file.hpp"

namespace flameprobe::async {
TaskLooks::TaskLooks(std::uint64_t frequency) : pause_ns_(ns_per_second / frequency) { static_cast<void>(find()); }

TaskLooks::~TaskLooks() = default;

EventInfo TaskLooks::info() const {
    return {std::string(event_name::tasks), "time of tasks by looks", ns_per_second / pause_ns_, 1};
}

/// The tables and types once there are some: of a program that begins, nothing is in its place yet. Then the runtimes.
bool TaskLooks::find() {
    searched_ns_ = monotonic_ns();
    search_pause_ns_ = std::min(2 * search_pause_ns_, ns_per_second);
    memory_ = std::make_unique<Memory>();
    // As the maps have it: what the program was called by may be relative.
    std::error_code error;
    const std::string executable = std::filesystem::read_symlink(host_proc_directory() + "/exe", error).string();
    if (!has_tasks()) {
        tables_ = std::make_unique<TaskTables>(*memory_, executable);
        if (tables_->count() == 0) return false;
        const int root = ::open((host_proc_directory() + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
        const Descriptor held(root);
        auto file = ElfFile::open(host_proc_directory() + "/exe");
        std::unique_ptr<ElfFile> separate;
        if (file && (*file)->find(".debug_info") == nullptr) {
            const DebugFileSearch search{{"/usr/lib/debug"}, root};
            separate = find_by_build_id((*file)->build_id(), search);
            if (!separate) separate = find_by_debuglink(**file, search);
        }
        if (file) types_ = std::make_unique<FutureTypes>(separate ? *separate : **file);
        if (types_) chains_ = std::make_unique<ChainReader>(*types_, *tables_);
    }
    if (!chains_ || tables_->count() == 0) return false;
    find_runtimes();
    return has_runtimes();
}

// Again and again: a program makes some later too. It reads the stacks of all threads.
void TaskLooks::find_runtimes() {
    constexpr std::uint64_t least_pause_ns = ns_per_second, most_pause_ns = 10 * ns_per_second, part_of_a_cpu = 100;
    const std::uint64_t began = own_cpu_ns();
    memory_ = std::make_unique<Memory>();
    const Runtimes runtimes(*memory_, *tables_);
    for (const TaskLists& lists : runtimes.lists())
        if (std::ranges::find(lists_, lists.at, &TaskLists::at) == lists_.end()) lists_.push_back(lists);
    for (const TaskSlab& slab : runtimes.slabs())
        if (std::ranges::none_of(slabs_, [&](const Slab& known) { return known.place.entries_at == slab.entries_at; }))
            slabs_.push_back({slab});
    next_search_ns_ =
        monotonic_ns() + std::clamp(part_of_a_cpu * (own_cpu_ns() - began), least_pause_ns, most_pause_ns);
}

void TaskLooks::begin(Pipeline& pipeline, EventId event, std::uint64_t now_ns) {
    pipeline_ = &pipeline;
    event_ = event;
    thread_ = pipeline.threads().unsampled("tasks");
    tasks_.clear();
    turns_.assign(1, {});
    turn_ = 0;
    heads_.clear();
    whole_at_ns_.clear();
    fronts_.clear();
    shapes_.clear();
    sums_.clear();
    emitted_ = false;
    begun_ns_ = last_ns_ = emitted_ns_ = fronts_begun_ns_ = now_ns;
    set_next(now_ns);
}

void TaskLooks::set_next(std::uint64_t now_ns) {
    const double part = std::uniform_real_distribution<double>(0.5, 1.5)(random_);
    next_ns_ = now_ns + static_cast<std::uint64_t>(static_cast<double>(pause_ns_) * part);
}

std::uint64_t TaskLooks::until_look_ns() const {
    const std::uint64_t now = monotonic_ns();
    return next_ns_ > now ? next_ns_ - now : 0;
}

void TaskLooks::look(std::uint64_t now_ns) {
    if (now_ns < next_ns_ || pipeline_ == nullptr) return;
    if (!has_runtimes() && (now_ns < searched_ns_ + search_pause_ns_ || !find())) {
        last_ns_ = now_ns;
        return set_next(now_ns);
    }
    if (now_ns >= next_search_ns_) find_runtimes();
    ++looks_;
    begin_fronts(now_ns);
    follow_fronts(now_ns);
    look_at_slabs();
    read_some(now_ns);
    last_ns_ = now_ns;
    constexpr std::uint64_t emit_every_ns = 100 * ns_per_ms;
    if (now_ns >= emitted_ns_ + emit_every_ns) emit(now_ns);
    set_next(now_ns);
}

StackId TaskLooks::above(StackId parent, FrameNumber number) {
    const ChainFrame& frame = chains_->frame(number);
    if (frame.in_words) return pipeline_->stacks().note_above(parent, frame.name);
    return pipeline_->named_above(parent, {frame.name, frame.file, frame.line, 0, false});
}

void TaskLooks::only(Known& task, FrameNumber remark) {
    task.shares = {{above(above(0, chains_->task_frame(*task.table)), remark), 1}};
}

void TaskLooks::take_chain(Known& task, const ChainNode& chain, bool woken) {
    task.shares.clear();
    put(chain, 0, 1, woken ? chains_->words("[woken, waits for a worker]") : ~FrameNumber{0}, task.shares);
}

void TaskLooks::put(const ChainNode& node, StackId parent, double part, FrameNumber ending,
                    std::vector<Share>& shares) {
    const bool is_leaf = node.children.empty(), woken = ending != ~FrameNumber{0};
    if (is_leaf && woken && chains_->frame(node.frame).in_words) {  // a woken task waits for nothing else
        shares.push_back({above(parent, ending), part});
        return;
    }
    StackId own = above(parent, node.frame);
    if (is_leaf) {
        shares.push_back({woken ? above(own, ending) : own, part});
        return;
    }
    if (node.children.size() > 1) own = above(own, chains_->words(text_of_branches(node.children.size(), node.joins)));
    for (const ChainNode& child : node.children)
        put(child, own, part / static_cast<double>(node.children.size()), ending, shares);
}

void TaskLooks::count(const Known& task, std::uint64_t ns) {
    double so_far = 0;
    std::uint64_t counted = 0;
    for (const Share& share : task.shares) {
        so_far += share.part;
        const auto upto = std::min(ns, static_cast<std::uint64_t>(std::llround(static_cast<double>(ns) * so_far)));
        const std::uint64_t weight = (&share == &task.shares.back() ? ns : std::max(upto, counted)) - counted;
        counted += weight;
        sums_[share.stack].add({weight, 1});
    }
}

void TaskLooks::emit(std::uint64_t now_ns) {
    emitted_ns_ = now_ns;
    std::vector<std::pair<StackId, Amount>> sums(sums_.begin(), sums_.end());
    std::ranges::sort(sums, {}, &std::pair<StackId, Amount>::first);
    sums_.clear();
    for (const auto& [stack, sum] : sums)
        if (sum.weight != 0) {
            pipeline_->event_sample(event_, {now_ns, thread_, stack, sum.weight, sum.hits});
            emitted_ = true;
        }
}

void TaskLooks::settle_all() {
    if (pipeline_ == nullptr) return;
    // Where there are many tasks, some were not read lately, or never, and may have ended.
    if (can_read())
        for (Turn& turn : turns_) read(turn, last_ns_);
    for (auto& [address, task] : tasks_) {
        if (task->shares.empty()) only(*task, chains_->words("[not looked at]"));
        count_until(*task, last_ns_);
    }
    emit(std::max(last_ns_, emitted_ns_));
}

void TaskLooks::add_to(Counters& counters) const {
    counters["tasks: most at once"] = most_tasks_;
    counters["tasks: looks"] = looks_;
    counters["tasks: read"] = reads_;
    counters["tasks: chains read"] = decoded_;
    counters["tasks: readings that differed"] = torn_;
    counters["tasks: not known"] = unknown_;
}

}  // namespace flameprobe::async
