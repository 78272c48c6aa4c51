// What is traced: each case opens and closes labelled scopes in its own way. Compiled several times over, with
// different compilers and options; EXACT_WORK names the copy.
#pragma once

#include <span>

namespace exact {

struct Case {
    const char* name;
    void (*run)();
};

constexpr int labels = 200;

}  // namespace exact
