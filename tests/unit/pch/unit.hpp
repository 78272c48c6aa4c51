// What most unit tests include; see src/pch/std.hpp.
#include <doctest/doctest.h>

#include <fstream>
#include <thread>

#include "../../../src/pch/std.hpp"
