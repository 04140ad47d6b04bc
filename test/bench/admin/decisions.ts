/**
 * Cost of authentication and authorization: `GET /status` from 16 clients over socket and listener, without and with
 * issuer and policy, alternating in rounds.
 */

import { AUDIENCE, startIssuer } from "../../e2e/admin/support/issuer.ts";
import { cpuMicros } from "../parts/process-usage.ts";
import { median, summarize } from "../statistics.ts";
import type { AdminBenchInputs, AdminScenario, Figure } from "./admin-scenario.ts";
import { type Plane, requestText, startPlane } from "./plane.ts";

export const DECISIONS: AdminScenario = { name: "decisions", run: decisions };

const CLIENTS = 16;
const REQUESTS = 10_000;
const MIN_REQUESTS = 2_000;
const ROUNDS = 7;
const QUICK_ROUNDS = 3;
/** A typical operator's policy: a few roles, a group of actions each, and one unused role. */
const POLICY = `
  @id("local") permit(principal in Role::"local", action, resource);
  @id("viewers-read") permit(principal in Role::"viewer", action in Action::"read", resource);
  @id("operators-act") permit(
    principal in Role::"operator",
    action in [Action::"put_suspension", Action::"delete_suspension", Action::"reload_config"],
    resource
  );
  @id("admins") permit(principal in Role::"admin", action in [Action::"read", Action::"write"], resource);
  @id("kept") forbid(principal is User, action in Action::"write", resource == Key::"status-page");
`;

interface Contender {
  readonly name: string;
  readonly plane: Plane;
  readonly socketPath: string | undefined;
  readonly token: string | undefined;
}

interface Round {
  readonly perSecond: number;
  readonly cpuUs: number;
  readonly p50Us: number;
  readonly p99Us: number;
}

async function decisions(input: AdminBenchInputs): Promise<readonly Figure[]> {
  const closers: (() => unknown)[] = [];
  try {
    const issuer = await startIssuer({ after: (close) => void closers.push(close) });
    const open = await startPlane(input);
    closers.push(() => open.stop());
    const guarded = await startPlane(input, { issuer: { url: issuer.url, audience: AUDIENCE }, policy: POLICY });
    closers.push(() => guarded.stop());
    const token = await issuer.tokenOf("alice", "viewer");
    const contenders: readonly Contender[] = [
      { name: "local door", plane: open, socketPath: open.socketPath, token: undefined },
      { name: "network door, no issuer", plane: open, socketPath: undefined, token: undefined },
      { name: "local door, policy", plane: guarded, socketPath: guarded.socketPath, token: undefined },
      { name: "network door, token and policy", plane: guarded, socketPath: undefined, token },
    ];
    const rounds = contenders.map((): Round[] => []);
    // The first round is not counted: code is compiled, and the issuer's keys are fetched.
    for (let round = -1; round < (input.isQuick ? QUICK_ROUNDS : ROUNDS); round += 1) {
      const order = [...contenders.entries()];
      for (const [at, contender] of round % 2 === 0 ? order : order.reverse()) {
        const measured = await measure(input, contender);
        if (round >= 0) rounds[at]?.push(measured);
      }
    }
    return contenders.flatMap(({ name }, at) => figures(name, rounds[at] ?? [], rounds[0] ?? []));
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

async function measure(input: AdminBenchInputs, { plane, socketPath, token }: Contender): Promise<Round> {
  const requests = Math.max(MIN_REQUESTS, REQUESTS * input.scale);
  const target = socketPath === undefined ? { port: plane.adminPort } : { port: 0, socketPath };
  const parts = { host: `127.0.0.1:${plane.adminPort}`, ...(token !== undefined && { token }) };
  const shape = { kind: "texts", texts: [requestText("GET", "/status", parts)] } as const;
  const before = cpuMicros(plane.pid);
  const { perSecond, p50Us, p99Us } = await input.load({ ...target, shape, connections: CLIENTS, requests });
  return { perSecond, cpuUs: (cpuMicros(plane.pid) - before) / requests, p50Us, p99Us };
}

function figures(name: string, own: readonly Round[], base: readonly Round[]): readonly Figure[] {
  const rate = summarize(own.map(({ perSecond }) => perSecond));
  const cpu = summarize(own.map(({ cpuUs }) => cpuUs));
  const ratio = median(own.map(({ cpuUs }, round) => cpuUs / (base[round]?.cpuUs ?? Number.NaN)));
  return [
    {
      name: `${name}: GET /status`,
      value: rate.median,
      unit: "/s",
      aim: undefined,
      detail: `${rate.least.toFixed(0)}-${rate.most.toFixed(0)}; p50 ${median(own.map((it) => it.p50Us)).toFixed(0)} p99 ${median(own.map((it) => it.p99Us)).toFixed(0)} us`,
    },
    {
      name: `${name}: CPU a request`,
      value: cpu.median,
      unit: "us",
      aim: undefined,
      detail: `${cpu.least.toFixed(0)}-${cpu.most.toFixed(0)}; ${ratio.toFixed(2)} times the local door without a policy`,
    },
  ];
}
