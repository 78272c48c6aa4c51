// What profilers are slow on: an optimised C++ program without frame pointers, 20 to 30 frames deep. A small query
// engine: a stack of operators that pull rows from one another through virtual calls, with expressions that evaluate
// themselves. engine ROUNDS: runs the query that many times and prints a sum that depends on all of it.
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

namespace engine {

struct Row {
    std::int64_t key = 0, value = 0, weight = 0;
};

struct Expression {
    virtual ~Expression() = default;
    virtual std::int64_t evaluate(const Row& row) const = 0;
};
using ExpressionPtr = std::unique_ptr<Expression>;

struct Column final : Expression {
    explicit Column(std::int64_t Row::*field) : field_(field) {}
    std::int64_t evaluate(const Row& row) const override { return row.*field_; }
    std::int64_t Row::*field_;
};

template <class Operation>
struct Binary final : Expression {
    Binary(ExpressionPtr left, ExpressionPtr right) : left_(std::move(left)), right_(std::move(right)) {}
    std::int64_t evaluate(const Row& row) const override {
        const std::int64_t left = left_->evaluate(row);
        return Operation{}(left, right_->evaluate(row));
    }
    ExpressionPtr left_, right_;
};
struct Mix {
    std::int64_t operator()(std::int64_t left, std::int64_t right) const {
        return static_cast<std::int64_t>(
            (static_cast<std::uint64_t>(left) ^ static_cast<std::uint64_t>(right)) * 0x9e3779b97f4a7c15ULL >> 7);
    }
};

/// A tree that is `depth` calls deep on its left side.
ExpressionPtr expression_of_depth(unsigned depth) {
    if (depth == 0) return std::make_unique<Column>(&Row::value);
    return std::make_unique<Binary<Mix>>(expression_of_depth(depth - 1),
                                         std::make_unique<Column>(depth % 2 == 0 ? &Row::key : &Row::weight));
}

struct Operator {
    virtual ~Operator() = default;
    virtual void open() = 0;
    virtual bool next(Row& row) = 0;
};
using OperatorPtr = std::unique_ptr<Operator>;

class Scan final : public Operator {
public:
    explicit Scan(const std::vector<Row>& table) : table_(table) {}
    void open() override { at_ = 0; }
    bool next(Row& row) override {
        if (at_ == table_.size()) return false;
        row = table_[at_++];
        return true;
    }

private:
    const std::vector<Row>& table_;
    std::size_t at_ = 0;
};

class Filter final : public Operator {
public:
    Filter(OperatorPtr input, ExpressionPtr condition) : input_(std::move(input)), condition_(std::move(condition)) {}
    void open() override { input_->open(); }
    bool next(Row& row) override {
        while (input_->next(row))
            if (condition_->evaluate(row) % 16 != 0) return true;
        return false;
    }

private:
    OperatorPtr input_;
    ExpressionPtr condition_;
};

class Project final : public Operator {
public:
    Project(OperatorPtr input, ExpressionPtr result) : input_(std::move(input)), result_(std::move(result)) {}
    void open() override { input_->open(); }
    bool next(Row& row) override {
        if (!input_->next(row)) return false;
        row.value = result_->evaluate(row);
        return true;
    }

private:
    OperatorPtr input_;
    ExpressionPtr result_;
};

class Aggregate final : public Operator {
public:
    explicit Aggregate(OperatorPtr input) : input_(std::move(input)) {}
    void open() override {
        input_->open();
        groups_.clear();
        for (Row row; input_->next(row);) groups_[row.key % 512] += row.value;
        at_ = groups_.begin();
    }
    bool next(Row& row) override {
        if (at_ == groups_.end()) return false;
        row = {at_->first, at_->second, 1};
        ++at_;
        return true;
    }

private:
    OperatorPtr input_;
    std::map<std::int64_t, std::int64_t> groups_;
    std::map<std::int64_t, std::int64_t>::iterator at_;
};

std::vector<Row> make_table(std::size_t rows) {
    std::vector<Row> table(rows);
    std::uint64_t state = 7;
    for (Row& row : table) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        row = {static_cast<std::int64_t>(state >> 40), static_cast<std::int64_t>(state >> 20 & 0xffff), 3};
    }
    return table;
}

OperatorPtr make_plan(const std::vector<Row>& table) {
    OperatorPtr plan = std::make_unique<Scan>(table);
    for (unsigned level = 0; level < 6; ++level) {
        plan = std::make_unique<Filter>(std::move(plan), expression_of_depth(6 + level));
        plan = std::make_unique<Project>(std::move(plan), expression_of_depth(8));
    }
    return std::make_unique<Aggregate>(std::move(plan));
}

long long now(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

}  // namespace engine

int main(int argc, char** argv) {
    const long rounds = argc > 1 ? std::atol(argv[1]) : 10;
    const auto table = engine::make_table(2000);
    const auto plan = engine::make_plan(table);
    std::uint64_t sum = 0;
    const long long wall = engine::now(CLOCK_MONOTONIC), cpu = engine::now(CLOCK_THREAD_CPUTIME_ID);
    for (long round = 0; round < rounds; ++round) {
        plan->open();
        for (engine::Row row; plan->next(row);) sum += static_cast<std::uint64_t>(row.value);
    }
    std::printf("%016llx %lld %lld\n", static_cast<unsigned long long>(sum), engine::now(CLOCK_MONOTONIC) - wall,
                engine::now(CLOCK_THREAD_CPUTIME_ID) - cpu);
    return 0;
}
