import assert from "node:assert/strict";
import test from "node:test";
import {fitName, fitNumbered} from "../../../src/render/assets/shared/labels.js";

// Every letter is 7 wide.
const pen = {measureText: (text) => ({width: Array.from(text).length * 7})};
const fit = (name, letters) => fitName(pen, name, letters * 7);

test("what fits in one font is measured again in another", () => {
  const sized = (size) => ({font: `${size}px mono`, measureText(text) { return {width: Array.from(text).length * size}; }});
  assert.equal(fitName(sized(5), "worker-0", 40), "worker-0");
  assert.equal(fitName(sized(10), "worker-0", 50), "work…");
  assert.equal(fitName(sized(5), "worker-0", 40), "worker-0");
});
test("a name that fits is whole", () => assert.equal(fit("shop::Server::answer", 20), "shop::Server::answer"));
test("the last components stay", () => {
  assert.equal(fit("shop::Server::answer", 19), "…Server::answer");
  assert.equal(fit("shop::Server::answer", 10), "…answer");
});
test("what a process is for stays, and the kernel's call", () => {
  assert.equal(fit("postgres: walwriter 4711", 15), "…walwriter 4711");
  assert.equal(fit("[kernel: epoll_wait]", 12), "…epoll_wait]");
  assert.equal(fit("[kernel: epoll_wait]", 8), "epoll_w…");
});
test("of a last component too long its beginning stays", () => assert.equal(fit("shop::Server::answer", 5), "answ…"));
test("of a closure the function that it is in stays", () => {
  assert.equal(fit("forward::run::{{closure}}", 17), "…run::{{closure}}");
  assert.equal(fit("forward::run::{{closure}}", 9), "run::{{c…");
  assert.equal(fit("Server::handle::{lambda()#1}::operator()", 12), "handle::{la…");
  assert.equal(fit("forward::run::{{closure}}::inner", 9), "…inner");
});
test("of code without a name its address stays", () => {
  assert.equal(fit("[libcrypto.so.3+0x1a2b40]", 24), "[libcrypto.so…+0x1a2b40]");
  assert.equal(fit("[libcrypto.so.3+0x1a2b40]", 11), "…+0x1a2b40]");
  assert.equal(fit("[libcrypto.so.3+0x1a2b40]", 10), "[libcrypt…");
});
test("fewer than four letters say nothing", () => {
  assert.equal(fit("answers", 4), "");
  assert.equal(fit("answers", 5), "answ…");
  assert.equal(fit("run", 3), "run");
});
test("a letter of two code units is not cut in half", () => assert.equal(fit("𝒳𝒳𝒳𝒳𝒳𝒳", 5), "𝒳𝒳𝒳𝒳…"));
test("of threads and processes the number stays", () => {
  assert.equal(fitNumbered(pen, "postgres: app shop 4711", 16 * 7), "postgres: … 4711");
  assert.equal(fitNumbered(pen, "tokio-runtime-w (4711)", 16 * 7), "tokio-ru… (4711)");
  assert.equal(fitNumbered(pen, "server (4711)", 16 * 7), "server (4711)");
  assert.equal(fitNumbered(pen, "22 other threads", 10 * 7), "22 other …");
});
