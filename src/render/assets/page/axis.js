// Steps of a time axis, in nanoseconds from the run's start, and what stands at them.
import {ticks} from "d3-array";
import {duration} from "./tools.js";

const SECOND = 1e9, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE;

// At most about `many`, from `from` to `to`: [time, text].
export function axisOf(from, to, many) {
  const span = to - from, unit = span < 2 * MINUTE ? SECOND : span < 2 * HOUR ? MINUTE : HOUR;
  const at = ticks(from / unit, to / unit, many), step = at.length > 1 ? at[1] - at[0] : 1, digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  const seconds = (time) => to < 2 * MINUTE ? `${time.toFixed(digits)} s` : `${Math.floor(time / 60)} min ${(time % 60).toFixed(digits).padStart(digits ? digits + 3 : 2, "0")} s`;
  return at.map((time) => [time * unit, unit === SECOND ? seconds(time) : duration(time * unit)]);
}
