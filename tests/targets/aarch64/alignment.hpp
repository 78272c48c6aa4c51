// The check of alignment, which a program of this CPU may not change.
#pragma once

inline void check_alignment(bool) {}
