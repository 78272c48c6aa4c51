// Work without end for attach.py: work.js FILE, where 8 bytes tell how many units are done.
const fs = require('fs');

function parse(number) {
  const data = {};
  for (let i = 0; i < 60; i++) data['key' + i] = Array.from({length: (i + number) % 40}, (_, at) => at);
  return JSON.parse(JSON.stringify(data));
}

function sum(data) {
  let total = 0;
  for (const key of Object.keys(data).sort()) total = data[key].reduce((all, one) => all + one * one, total);
  return total;
}

const file = fs.openSync(process.argv[2], 'r+'), count = Buffer.alloc(8);
for (let done = 1, kept = 0;; done++) {
  kept += sum(parse(done)) % 7;
  count.writeBigInt64LE(BigInt(done));
  fs.writeSync(file, count, 0, 8, 0);
}
