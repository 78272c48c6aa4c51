// Two functions of 70 and 30 per cent, compiled while it runs: node work.js ROUNDS. Prints their CPU time,
// and what all threads used elsewhere: for the start, and to compile.
'use strict';
function burn(units) {
  let value = units;
  for (let i = 0; i < units * 4000; i++) value = (Math.imul(value, 1664525) + 1013904223) | 0;
  return value;
}
function hot_70(scale) { let value = 0; for (let i = 0; i < 70 * scale; i++) value += burn(1); return value; }
function hot_30(scale) { let value = 0; for (let i = 0; i < 30 * scale; i++) value += burn(1); return value; }
const fs = require('fs');
// Nanoseconds of CPU time: of all threads, and of this one.
function allThreads() { const { user, system } = process.cpuUsage(); return (user + system) * 1000; }
function thisThread() { return Number(fs.readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]); }
const rounds = Number(process.argv[2]);
const start = thisThread();
let sum = 0;
for (let round = 0; round < rounds; round++) {
  const scale = 1 + (round * 7 % 16);
  sum += hot_70(scale) + hot_30(scale);
}
const work = thisThread() - start;
if (sum === 0.5) console.log('never');
console.log(`hot_70 ${Math.round(work * 0.7)}\nhot_30 ${Math.round(work * 0.3)}\nelsewhere ${allThreads() - work}`);
