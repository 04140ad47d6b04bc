/**
 * A process with an audit trail on its stderr, and the cost of a record. First the same loop without a trail, then with
 * one, at the rate of a busy gateway; then at full speed.
 *
 * Prints one JSON object. Times are microseconds per record; `main` is the busy time of the main thread.
 */

import { sign } from "node:crypto";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { createInstruments, generatePrivateKey, nullLog } from "../../../src/base/index.ts";
import { type AuditEvent, openAudit, type TrailInput, verifyTrail } from "../../../src/server/audit/index.ts";

export interface AuditCostJob {
  readonly dir: string;
  readonly records: number;
  /** Records per second. */
  readonly rate: number;
}

export interface AuditCosts {
  readonly append: number;
  readonly main: number;
  readonly cpu: number;
  /** Duration of one Ed25519 signature alone, on this machine, now. */
  readonly signature: number;
  /** Records per second, from the first append to the last emission. */
  readonly fastest: number;
}

export interface VerifyJob {
  readonly file: string;
  readonly threads: number;
}

/** Records per second of elapsed time and of CPU; the latter is more reliable on a busy machine. */
export interface VerifyRates {
  readonly perSecond: number;
  readonly perCpuSecond: number;
}

const TURN_MS = 5;

/** Like a decision of the data plane, with names in its order. */
function eventOf(n: number): AuditEvent {
  return {
    event: "access.decision",
    controls: ["AC-3", "SOC2-CC6.1"],
    data: {
      agent: null,
      budget: "engineering",
      caller: "key",
      decision: n % 7 === 0 ? "deny" : "allow",
      error: null,
      hop: "llm",
      issuer: null,
      key: "bench",
      key_id: "k3x9a2pq",
      layer: "profile",
      matched: ["profile engineers: allow by production"],
      model: "gpt-large-2026-10",
      profile: "engineers",
      request: `req_${n.toString(36).padStart(12, "0")}`,
      route: "chat",
      rule: "production",
      skipped: [],
      to: "provider-10",
      user: null,
      user_name: null,
    },
  };
}

interface Spent {
  readonly append: number;
  readonly main: number;
  readonly cpu: number;
}

/** Calls `append` for `records` events in small batches, at `rate`; then awaits `settled`. */
async function spend(
  { records, rate }: AuditCostJob,
  append: (event: AuditEvent) => void,
  settled: () => Promise<void>,
): Promise<Spent> {
  const perTurn = Math.max(1, Math.round((rate * TURN_MS) / 1_000));
  const cpu = process.cpuUsage();
  const loop = performance.eventLoopUtilization();
  let within = 0;
  const startedAt = performance.now();
  for (let n = 0; n < records; ) {
    const from = performance.now();
    for (let each = 0; each < perTurn; each += 1, n += 1) append(eventOf(n));
    within += performance.now() - from;
    await pause(Math.max(0, startedAt + (n / rate) * 1_000 - performance.now()));
  }
  await settled();
  const { user, system } = process.cpuUsage(cpu);
  const { active } = performance.eventLoopUtilization(loop);
  return { append: (within * 1_000) / records, main: (active * 1_000) / records, cpu: (user + system) / records };
}

function signatureCost(): number {
  const privateKey = generatePrivateKey("ed25519");
  const hash = Buffer.alloc(32, 7);
  const count = 10_000;
  const cpu = process.cpuUsage();
  for (let n = 0; n < count; n += 1) sign(null, hash, privateKey);
  const { user, system } = process.cpuUsage(cpu);
  return (user + system) / count;
}

async function costs(job: AuditCostJob): Promise<AuditCosts> {
  const trail = await openAudit({
    nodeId: "bench",
    dir: job.dir,
    fd: 2,
    process: { version: "0.0.0", pid: process.pid },
    witnessed: () => undefined,
    witness: async () => undefined,
    log: nullLog,
    instruments: createInstruments(),
  });
  const emitted = (): number => (trail.head?.seq ?? -1) + 1;
  const all = async (count: number): Promise<void> => {
    while (emitted() < count) await pause(1);
  };
  await all(1);
  const quick = { ...job, records: Math.ceil(job.records / 10) };
  const nothing = async (): Promise<void> => undefined;
  let sink = 0;
  const touch = (event: AuditEvent): void => {
    sink += event.event.length;
  };
  // Compiled before it is measured.
  await spend(quick, touch, nothing);
  const warm = emitted() + quick.records;
  await spend(quick, trail.append, () => all(warm));
  const base = await spend(job, touch, nothing);
  const until = emitted() + job.records;
  const spent = await spend(job, trail.append, () => all(until));
  const fastUntil = emitted() + job.records;
  const startedAt = performance.now();
  await spend({ ...job, rate: 200_000 }, trail.append, () => all(fastUntil));
  const fastest = job.records / ((performance.now() - startedAt) / 1_000);
  await trail.close();
  if (sink === 0) throw new Error("nothing was measured");
  return {
    append: spent.append - base.append,
    main: spent.main - base.main,
    cpu: spent.cpu - base.cpu,
    signature: signatureCost(),
    fastest,
  };
}

async function verifyRates({ file, threads }: VerifyJob): Promise<VerifyRates> {
  const { createReadStream } = await import("node:fs");
  const input: TrailInput = { name: file, chunks: createReadStream(file, { highWaterMark: 256 * 1024 }) };
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  const { records, findings } = await verifyTrail([input], { threads });
  if (findings.length > 0) throw new Error(JSON.stringify(findings[0]));
  const seconds = (performance.now() - startedAt) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: records / seconds, perCpuSecond: (records * 1e6) / (user + system) };
}

const job = JSON.parse(process.argv[2] ?? "") as AuditCostJob | VerifyJob;
const result = "file" in job ? await verifyRates(job) : await costs(job);
process.stdout.write(`${JSON.stringify(result)}\n`);
