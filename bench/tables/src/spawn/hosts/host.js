// A measured parent in Node: host.js CHILD BYTES, then a row, a count and a time on each line of standard input.
"use strict";

const { execSync, spawn, spawnSync } = require("node:child_process");
const { readFileSync, writeSync } = require("node:fs");
const { createInterface } = require("node:readline");

const [child, touched] = [process.argv[2], Number(process.argv[3])];
const memory = [];
for (let left = touched; left > 0; left -= 2 ** 30) {
  memory.push(Buffer.alloc(Math.min(left, 2 ** 30), 1));
}

const now = () => Number(process.hrtime.bigint());
const elapsed = (call) => {
  const began = now();
  const result = call();
  return [now() - began, result];
};
const stdio = ["ignore", "ignore", "ignore"];
const ended = (status) => {
  if (status !== 0) throw new Error(`the child ended with ${status}`);
};

const ROWS = {
  "node-spawn-sync": async () => {
    const [blocked, result] = elapsed(() => spawnSync(child, { stdio }));
    ended(result.error ?? result.status);
    return blocked;
  },
  "node-exec-sync": async () => elapsed(() => execSync(child, { stdio }))[0],
  "node-spawn": () =>
    new Promise((resolve, reject) => {
      const [blocked, started] = elapsed(() => spawn(child, { stdio }));
      started.on("error", reject);
      started.on("exit", (status) => (status === 0 ? resolve(blocked) : reject(new Error(`ended with ${status}`))));
    }),
};

// Node tells its own CPU time only; that of its children comes from the kernel, in hundredths of a second.
const TICK_NS = 1e7;
const cpu = () => {
  const own = process.cpuUsage();
  const fields = readFileSync("/proc/self/stat", "latin1").split(") ")[1].split(" ");
  return { own: (own.user + own.system) * 1000, children: (Number(fields[13]) + Number(fields[14])) * TICK_NS };
};

const measure = async (row, count, budgetMs) => {
  const spawnOnce = ROWS[row];
  await spawnOnce();
  const blocked = [];
  const before = cpu();
  const end = now() + budgetMs * 1e6;
  while (blocked.length < count && (blocked.length === 0 || now() < end)) {
    blocked.push(await spawnOnce());
  }
  const after = cpu();
  const own = after.own - before.own;
  return { spawns: blocked.length, cpu_ns: own + after.children - before.children, own_ns: own, blocked_ns: blocked };
};

(async () => {
  for await (const line of createInterface({ input: process.stdin })) {
    const [row, count, budgetMs] = line.split(" ");
    let answer;
    try {
      answer = { found: await measure(row, Number(count), Number(budgetMs)) };
    } catch (error) {
      answer = { failed: error.message };
    }
    writeSync(1, JSON.stringify(answer) + "\n");
  }
})();
