#include "flameprobe_program.hpp"

int main(int argc, char* argv[]) { return flameprobe::flameprobe_program(argc, argv); }
