// The figures of `flameprobe stat`, for people and for scripts.
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
    std::optional<double> value;  // in JSON; null where it is not here
    std::string text;             // in the table
    std::string remark;           // what it comes to, or why it is not here
};

struct Facts {
    std::string command;
    double seconds = 0;
    std::string ended;  // "exit status 0"
    int status = 0;     // as a shell tells it
    rusage usage{};
    std::map<pid_t, ProcessSum> processes;
    std::optional<Waiting> waiting;  // if it was asked for
};

std::vector<Row> rows_of(const Facts& facts, const Counters& counters);
std::string table_text(const Facts& facts, const std::vector<Row>& rows);
std::string table_json(const Facts& facts, const std::vector<Row>& rows);

}  // namespace flameprobe::counting
