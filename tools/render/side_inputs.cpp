#include "side_inputs.hpp"

#include <algorithm>
#include <filesystem>

namespace flameprobe {

namespace {

namespace fs = std::filesystem;

Result<void> add_input(const std::string& path, std::vector<std::string>& inputs) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) {
        inputs.push_back(path);
        return {};
    }
    const std::size_t before = inputs.size();
    std::error_code error;
    for (auto entry = fs::directory_iterator(path, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
        if (entry->path().extension() == ".fprobe") inputs.push_back(entry->path().string());
    }
    if (error) return Error{path + ": not read: " + error.message()};
    if (inputs.size() == before) return Error{path + ": no .fprobe in this directory"};
    std::sort(inputs.begin() + static_cast<std::ptrdiff_t>(before), inputs.end());
    return {};
}

}  // namespace

Result<std::vector<std::string>> side_inputs(const std::string& text) {
    std::vector<std::string> inputs;
    std::error_code ignored;
    if (fs::exists(text, ignored)) {  // a name may have a comma in it
        if (auto added = add_input(text, inputs); !added) return added.error();
        return inputs;
    }
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t comma = std::min(text.find(',', from), text.size());
        if (comma == from) return Error{"'" + text + "': a name is missing beside a comma"};
        if (auto added = add_input(text.substr(from, comma - from), inputs); !added) return added.error();
        from = comma + 1;
    }
    return inputs;
}

std::string side_name(const std::vector<std::string>& inputs) {
    if (inputs.size() == 1) return inputs.front();
    return inputs.front() + " and " + std::to_string(inputs.size() - 1) + " more";
}

}  // namespace flameprobe
