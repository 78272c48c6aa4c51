// Loaded with dlopen by shares.cpp.
#include "burn.hpp"

extern "C" [[gnu::visibility("default"), gnu::noinline]] void plugin_40(unsigned units) {
    shares::burn(units);
    asm volatile("");  // no tail call here
}
