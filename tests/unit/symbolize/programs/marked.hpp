// What the tests look up: each MARK leaves a global label, whose address the symbol table tells, at a line that the
// test finds by the mark's name.
#pragma once

#define MARK(name) asm volatile(".globl mark_" #name "\nmark_" #name ":\n nop")
