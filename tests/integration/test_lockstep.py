"""A program that repeats its work as often as it is sampled, or nearly so, is not always sampled at the same place."""

import unittest

from harness import Case, sized
from rhythm import scores

EVERY = [(engine, frequency) for engine in ("ring",) for frequency in (99, 499, 997, 4000)]


class Lockstep(Case):
    """CPU timers are left out: it is the kernel's tick that they are in step with, and their note says so."""

    def check(self, engine, frequency):
        self.need_engine(engine)
        for percent in (0, 0.6):  # 0.6: the rhythm that a period of "a little more than was asked for" had
            with self.subTest(engine=engine, frequency=frequency, percent=percent):
                rhythm = round(1e9 / frequency * (1 + percent / 100))
                z, samples = scores(engine, frequency, rhythm, 1000 * 240 // frequency,
                                    self.fresh_directory(f"{engine}-{frequency}-{percent}"))
                self.assertGreater(samples, 50)
                # A period is drawn anew every 16 samples, which may be in step that long: of 30,000 runs by that rule one was over 8.
                # All in one function would be 41.
                self.assertLess(max(map(abs, z)), 8, f"{samples} samples, z of each function: {z}")


def add(engine, frequency):
    setattr(Lockstep, f"test_{engine}_at_{frequency}", lambda self: self.check(engine, frequency))


for e, f in sized([("ring", 997), ("ring", 4000)], EVERY):
    add(e, f)

if __name__ == "__main__":
    unittest.main()
