#include "draw_program.hpp"

int main(int argc, char* argv[]) { return flameprobe::draw_program(argc, argv); }
