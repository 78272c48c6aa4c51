// The figures of `flameprobe stat`, as a table and as JSON.
#pragma once

#include <sys/resource.h>

#include <optional>
#include <string>
#include <vector>

#include "counters.hpp"
#include "tasks.hpp"
#include "waiting.hpp"

namespace flameprobe::counting {

struct Row {
    std::string key;              // in JSON
    std::string label;            // in the table
    std::optional<double> value;  // in JSON; null if it cannot be measured here
    std::string text;             // in the table
    std::string remark;           // in the table: a rate or share, or why there is no value
};

struct Facts {
    std::string command;
    double seconds = 0;
    std::string ended;          // "exit status 0"
    std::optional<int> status;  // as a shell gives it; nothing of a process that goes on
    rusage usage{};
    std::map<pid_t, ProcessSum> processes;
    std::optional<Waiting> waiting;  // if it was asked for
};

std::vector<Row> rows_of(const Facts& facts, const EventCounters& counters);
std::string table_text(const Facts& facts, const std::vector<Row>& rows);
std::string table_json(const Facts& facts, const std::vector<Row>& rows);

}  // namespace flameprobe::counting
